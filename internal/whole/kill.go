package whole

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"strings"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

const writing = "writing"

// WriteUntilKilled is the main function of a child process: it reports that it writes, and makes
// random changes in the library of a tenant. It returns only after an error.
func WriteUntilKilled(ctx context.Context, s kv.Store, tenant string, seed uint64, say io.Writer) error {
	l, err := Open(s, kvmodel.Tenant(tenant))
	if err != nil {
		return err
	}
	w := NewWriter(l, int(seed%ownWorks), rand.New(rand.NewPCG(seed, 7)), new(Diary))
	for ctx.Err() == nil {
		w.Step(ctx)
		if w.calls == 1 {
			if _, err := fmt.Fprintln(say, writing); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// Kill starts child, which runs WriteUntilKilled, and kills it after it has been writing for life.
func Kill(child *exec.Cmd, life time.Duration) error {
	var said strings.Builder
	child.Stderr = &said
	out, err := child.StdoutPipe()
	if err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		return err
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	time.Sleep(life)
	killed := child.Process.Kill()
	err = child.Wait()
	if strings.TrimSpace(line) != writing || killed != nil {
		return fmt.Errorf("the child ended by itself: %w: %.500s", errors.Join(killed, err), said.String())
	}
	return nil
}

type Healed struct {
	Took  time.Duration
	Wrong []string // remaining faults when time ran out
}

const lookAgain = 3 * time.Second

// Heal opens the library of a tenant as the next process, and measures the time until all answers
// agree with the records, at most limit.
func Heal(ctx context.Context, s kv.Store, tenant string, limit time.Duration) (h Healed, err error) {
	began := time.Now()
	l, err := Open(s, kvmodel.Tenant(tenant))
	if err != nil {
		return h, err
	}
	defer func() { err = errors.Join(err, l.DB.Close(ctx)) }()
	l.Touch(ctx, new(Diary))
	for {
		if err := errors.Join(l.DB.Repair(ctx), l.DB.Flush(ctx)); err != nil && !errors.Is(err, kvmodel.ErrNotYet) {
			return h, err
		}
		if h.Wrong, err = l.Judge(ctx, new(Diary)); err != nil {
			return h, err
		}
		if h.Took = time.Since(began); len(h.Wrong) == 0 || h.Took > limit || !kv.Sleep(ctx, lookAgain) {
			return h, ctx.Err()
		}
	}
}
