package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/ringtree/ringtree/inspect/internal/console"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
	"github.com/ringtree/ringtree/kvmodel/kvopen/all"
)

const storeVariable = "RINGTREE_STORE"

// reach is the timeout for the first answer of a store or an app.
const reach = 2 * time.Second

const closing = 10 * time.Second

type call struct {
	Config
	*console.Console
	options
	verb  verb
	path  string   // the verb, as called
	args  []string // after the verb, without flags
	given []string // flags, except --resume

	makes bool        // the store's file may be missing
	store kv.Store    // once it is open
	db    *kvmodel.DB // the one currently open

	served *kvmodel.DB // the DB of the app; nil: the verb opens its own
}

var errNotOpen = errors.New("the store cannot be opened")

// stays is a store that stays open for the next DB.
type stays struct{ kv.Store }

func (stays) Close() error        { return nil }
func (s stays) Powers() kv.Powers { return kv.PowersOf(s.Store) }

func (c *call) reader(ctx context.Context) (*Inspector, error) {
	return c.open(ctx, kvmodel.ReadOnly(), quiet())
}

// quiet disables the log, for verbs that print the same.
func quiet() kvmodel.Option { return kvmodel.Log(slog.New(slog.DiscardHandler)) }

func (c *call) open(ctx context.Context, opts ...kvmodel.Option) (*Inspector, error) {
	if err := c.closeDB(ctx); err != nil {
		return nil, err
	}
	if err := c.openStore(ctx); err != nil {
		return nil, err
	}
	if c.served != nil {
		c.db = c.served
		return New(c.db), ask(ctx, c.db.Store())
	}
	log := slog.New(slog.NewTextHandler(c.Errors(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	opts = append([]kvmodel.Option{kvmodel.Log(log)}, opts...)
	if c.tenant != "" {
		opts = append(opts, kvmodel.Tenant(c.tenant))
	}
	db, err := kvmodel.Open(stays{c.store}, opts...)
	if err != nil {
		return nil, err
	}
	c.db = db
	c.Models(db)
	return New(db), ask(ctx, db.Store())
}

func (c *call) openStore(ctx context.Context) error {
	if c.store != nil {
		return nil
	}
	if c.served != nil {
		c.store = stays{c.served.Store()}
		return nil
	}
	url := c.url()
	if url == "" {
		return fmt.Errorf("%w: no store: pass --store URL or set $%s", errCall, storeVariable)
	}
	if c.verb.quick {
		limited, cancel := context.WithTimeout(ctx, reach)
		defer cancel()
		ctx = limited
	}
	var err error
	if c.Open != nil {
		c.store, err = c.Open(ctx, url)
	} else {
		c.store, err = openURL(ctx, url, c.makes)
	}
	return err
}

func (c *call) url() string {
	if c.verb.name() == "verify" && !c.verifiesFile() && c.arg(0) != "" {
		return c.args[0]
	}
	return cmp.Or(c.storeURL, os.Getenv(storeVariable), c.URL)
}

func openURL(ctx context.Context, url string, makes bool) (kv.Store, error) {
	path, inFile := boltPath(url)
	if inFile && !makes && path != "" {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w: there is no file %s", errNotOpen, path)
		}
	}
	s, err := kvopen.Store(ctx, url, all.Engines)
	switch {
	case err == nil:
		return s, nil
	case inFile && strings.Contains(err.Error(), "open in another process"):
		return nil, fmt.Errorf("%w: %w; end that process, let it call inspect.Serve, or use a copy: db backup, db restore", errNotOpen, err)
	case inFile:
		return nil, fmt.Errorf("%w: %w", errNotOpen, err)
	case errors.Is(err, kv.ErrUnavailable):
		return nil, err
	}
	return nil, fmt.Errorf("%w: %w", errCall, err)
}

func boltPath(url string) (path string, ok bool) {
	rest, ok := strings.CutPrefix(url, "bolt:")
	path, _, _ = strings.Cut(rest, "?")
	return path, ok
}

// shownURL returns url without its password.
func shownURL(url string) string {
	url, _, _ = strings.Cut(url, "?")
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return url
	}
	return scheme + "://" + rest[strings.LastIndex(rest, "@")+1:]
}

// ask notices an unreachable store soon. An ErrLost is an answer.
func ask(ctx context.Context, s kv.Store) error {
	ctx, cancel := context.WithTimeout(ctx, reach)
	defer cancel()
	_, err := kv.One(ctx, s, kv.OpGet("procs"))
	if errors.Is(err, kv.ErrLost) || !kv.Failed(err) {
		return nil
	}
	return err
}

func (c *call) close(ctx context.Context) error {
	err := c.closeDB(ctx)
	if c.store != nil {
		err = errors.Join(err, c.store.Close())
		c.store = nil
	}
	return err
}

func (c *call) closeDB(ctx context.Context) error {
	if c.db == nil || c.db == c.served {
		return nil
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
	defer cancel()
	err := c.db.Close(limited)
	c.db = nil
	return err
}

// Tell prints a message for people: to the errors if the output is JSON.
func (c *call) Tell(format string, args ...any) {
	if c.json() {
		c.Note(format, args...)
		return
	}
	c.Say(format, args...)
}

func (c *call) show(kind string, v any, format string, args ...any) {
	if c.json() {
		c.Object(kind, v)
		return
	}
	c.Say(format, args...)
}

func rows[T any](c *call, kind string, all []T, head []string, row func(T) []string, foot ...[]string) {
	if !c.json() {
		cells := [][]string{head}
		for _, v := range all {
			cells = append(cells, row(v))
		}
		c.Table(append(cells, foot...))
		return
	}
	for _, v := range all {
		c.Object(kind, v)
	}
}

// confirm returns nil if the verb may write.
func (c *call) confirm(ctx context.Context, question string) error {
	if refusal := kv.PowersOf(c.store).ReadOnly; refusal != nil {
		return refusal
	}
	return c.agreed(ctx, question)
}

// agreed is confirm for another store than the open one.
func (c *call) agreed(ctx context.Context, question string) error {
	switch {
	case c.dry:
		c.Tell("dry run: nothing was written")
		return errIdle
	case !c.yes && !c.Asks:
		return fmt.Errorf("%w: there is no terminal to ask on; pass --yes to confirm", errRefused)
	case c.yes || c.Ask(ctx, question):
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%w: nothing was written", errStopped)
	}
	return fmt.Errorf("%w: nothing was written", errRefused)
}

func (c *call) command(args ...string) string { return commandLine(c.Name, args) }

func commandLine(name string, args []string) string {
	for _, arg := range args {
		name += " " + quoted(arg)
	}
	return name
}

func quoted(arg string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@%+"
	if arg != "" && strings.Trim(arg, plain) == "" {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}

func (c *call) again(flags ...string) string {
	return c.command(append(append(append([]string{c.verb.name()}, c.args...), c.given...), flags...)...)
}

type progress struct {
	*call
	mu     sync.Mutex
	last   Step
	starts starts
}

func (c *call) progress() *progress { return &progress{call: c, starts: make(starts)} }

func long[T any](ctx context.Context, c *call, f func(Pace) (T, error)) (T, error) {
	p := c.progress()
	result, err := f(p.pace())
	if err != nil {
		return result, p.stopped(ctx, err)
	}
	c.Done()
	return result, nil
}

// write asks, and runs f with a progress line.
func write[T any](ctx context.Context, c *call, question string, f func(*Inspector, Pace) (T, error)) (result T, err error) {
	if err := c.confirm(ctx, question); err != nil {
		return result, err
	}
	in, err := c.open(ctx)
	if err != nil {
		return result, err
	}
	return long(ctx, c, func(p Pace) (T, error) { return f(in, p) })
}

func (p *progress) pace() Pace { return Pace{Rate: p.rate, Progress: p.step, From: p.resume} }

func (p *progress) step(s Step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = s
	p.Progress(p.starts.line(s, time.Now()))
}

type starts map[string]start

type start struct {
	at   time.Time
	done int64
}

// The clock starts with the first finished item: a build may continue the work of another.
func (all starts) line(s Step, now time.Time) string {
	what := s.Verb + " " + s.What
	began, ok := all[what]
	if !ok || s.Done == began.done {
		began = start{now, s.Done}
		all[what] = began
	}
	return lineOf(s, s.Done-began.done, now.Sub(began.at))
}

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

// stopped returns err, or errStopped with the command to continue if ctx has ended.
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

func (p *progress) to() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !strings.Contains(p.verb.flags, "resume") || p.repair {
		return ""
	}
	return p.last.To
}
