package inspect

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/ringtree/ringtree/inspect/internal/console"
)

// progress shows the progress of a long verb, and remembers it.
type progress struct {
	*call
	mu     sync.Mutex
	last   Step
	starts starts
}

func (c *call) progress() *progress { return &progress{call: c, starts: make(starts)} }

// long runs f, which may take long, with progress.
func long[T any](ctx context.Context, c *call, f func(Pace) (T, error)) (T, error) {
	p := c.progress()
	result, err := f(p.pace())
	if err != nil {
		return result, p.stopped(ctx, err)
	}
	c.Done()
	return result, nil
}

// write is long for f that writes to the database. It asks first.
func write[T any](ctx context.Context, c *call, question string, f func(*Inspector, Pace) (T, error)) (result T, err error) {
	if err := c.confirm(ctx, question); err != nil {
		return result, err
	}
	in, err := c.writer(ctx)
	if err != nil {
		return result, err
	}
	return long(ctx, c, func(p Pace) (T, error) { return f(in, p) })
}

// pace returns the pace that the flags ask for.
func (p *progress) pace() Pace { return Pace{Rate: p.rate, Progress: p.step, From: p.resume} }

func (p *progress) step(s Step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = s
	p.Progress(p.starts.line(s, time.Now()))
}

// starts holds the first step of each task of a verb.
type starts map[string]start

type start struct {
	at   time.Time
	done int64
}

// line returns s as a line. The clock starts with the first finished item: a build may have to wait
// before it continues the work of another.
func (all starts) line(s Step, now time.Time) string {
	what := s.Verb + " " + s.What
	began, ok := all[what]
	if !ok || s.Done == began.done {
		began = start{now, s.Done}
		all[what] = began
	}
	return lineOf(s, s.Done-began.done, now.Sub(began.at))
}

// lineOf returns s as a line; done items took that long.
func lineOf(s Step, done int64, took time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s", s.Verb, s.What, console.Number(s.Done))
	if s.Total > 0 {
		fmt.Fprintf(&b, " of %s (%d %%)", console.Number(max(s.Total, s.Done)), 100*s.Done/max(s.Total, s.Done))
	}
	if rate := float64(done) / took.Seconds(); done > 0 && took > time.Second {
		fmt.Fprintf(&b, " %s/s", console.Number(int64(rate)))
		if left := s.Total - s.Done; left > 0 && rate > 0 {
			fmt.Fprintf(&b, ", %s left", console.Span(time.Duration(float64(left)/rate*float64(time.Second))))
		}
	}
	if s.Found > 0 {
		fmt.Fprintf(&b, ", %s found", console.Number(s.Found))
	}
	return b.String()
}

// stopped returns err, and prints the command to continue. If ctx has ended, it returns errStopped
// with the command to continue or to begin again.
func (p *progress) stopped(ctx context.Context, err error) error {
	p.Done()
	if ctx.Err() == nil {
		if to := p.to(); to != "" {
			p.Note("to continue: %s", p.again("--resume", to))
		}
		return err
	}
	if to := p.to(); to != "" {
		return fmt.Errorf("%w; to continue: %s", errStopped, p.again("--resume", to))
	}
	return fmt.Errorf("%w; to start over: %s", errStopped, p.again())
}

// to returns the position at which the verb can continue, "" if only at its beginning.
func (p *progress) to() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !strings.Contains(p.verb.flags, "resume") || p.repair {
		return ""
	}
	return p.last.To
}
