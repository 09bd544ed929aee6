package inspect

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/ringtree/ringtree/inspect/internal/console"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Main is the main function of a database command. models creates the app's models in a DB, as the
// program that `kvgen -cmd` writes. Main ends the process.
func Main(models func(*kvmodel.DB) []kvmodel.Model) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // A second signal ends the process at once.
	os.Exit(Run(ctx, Config{Args: os.Args[1:], Models: models}))
}

// Config is one call of the command.
type Config struct {
	Name   string   // of the command, in its messages; "": that of the program
	Args   []string // after the name
	Models func(*kvmodel.DB) []kvmodel.Model

	// URL is the default store, without --store and $RINGTREE_STORE.
	URL string

	Stdin          io.Reader // nil: os.Stdin, and so on
	Stdout, Stderr io.Writer

	// Open opens the store at a URL; nil: like kvopen, with all engines.
	Open func(ctx context.Context, url string) (kv.Store, error)

	atTerminal bool // for tests: Stdin and Stderr are a terminal
}

// The exit codes returned by Run.
const (
	exitWell    = 0
	exitDiffers = 1 // something is wrong or missing
	exitCall    = 2 // wrong usage
	exitStore   = 3 // the store is unreachable
	exitStopped = 4 // the verb was stopped, and can be resumed
	exitRefused = 5
)

// Run runs the verb in the arguments, until ctx ends, and returns the exit code that --help
// explains. If an app that calls [Serve] has the file open, the app runs the verb.
func Run(ctx context.Context, config Config) int {
	c := newCall(config)
	if err := c.parse(ctx); err != nil || c.verb.run == nil {
		return c.end(ctx, err)
	}
	if c.verb.local != nil && c.verb.local(c) {
		return c.carryOut(ctx)
	}
	app, err := c.app(ctx)
	switch {
	case err != nil:
		return c.end(ctx, err)
	case app != nil:
		return c.through(ctx, app)
	}
	return c.carryOut(ctx)
}

func (c *call) carryOut(ctx context.Context) int {
	err := c.verb.run(ctx, c)
	c.Done()
	err = cmp.Or(err, c.close(ctx))
	if failed := c.Failed(); failed != nil && (err == nil || errors.Is(err, errDiffers)) {
		err = failed
	}
	return c.end(ctx, err)
}

var (
	errCall    = errors.New("wrong usage")
	errDiffers = errors.New("something is wrong") // already printed
	errStopped = errors.New("stopped")
	errRefused = errors.New("refused")
	errIdle    = errors.New("dry run")
)

func (c *call) end(ctx context.Context, err error) int {
	code := codeOf(ctx, err)
	var ofApp exitCode
	if err == nil || errors.As(err, &ofApp) || errors.Is(err, errDiffers) || errors.Is(err, errIdle) {
		return code
	}
	if code == exitStopped && !errors.Is(err, errStopped) {
		err = errStopped
	}
	c.Note("%s: %v", c.Name, err)
	if errors.Is(err, kv.ErrLost) {
		c.Note("`%s recover` shows the losses", c.Name)
	}
	if code == exitCall {
		c.Note("`%s --help` shows its usage", c.path)
	}
	return code
}

func codeOf(ctx context.Context, err error) int {
	is := func(targets ...error) bool { return isAny(err, targets) }
	var ofApp exitCode
	switch {
	case errors.As(err, &ofApp):
		return int(ofApp)
	case err == nil || is(errIdle):
		return exitWell
	case is(errDiffers, ErrBadExport, kv.ErrLost):
		return exitDiffers
	case is(errCall, ErrUnknown, kvmodel.ErrInvalid, kvmodel.ErrBadCursor, kv.ErrBadKey):
		return exitCall
	case is(errRefused, ErrNoKeys, kv.ErrReadOnly):
		return exitRefused
	case is(errStopped) || ctx.Err() != nil:
		return exitStopped
	case is(kv.ErrUnavailable, kv.ErrUnclear, errNotOpen):
		return exitStore
	}
	return exitDiffers
}

func isAny(err error, targets []error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}

func newCall(config Config) *call {
	config.Name = cmp.Or(config.Name, filepath.Base(os.Args[0]))
	config.Stdin = cmp.Or[io.Reader](config.Stdin, os.Stdin)
	config.Stdout = cmp.Or[io.Writer](config.Stdout, os.Stdout)
	config.Stderr = cmp.Or[io.Writer](config.Stderr, os.Stderr)
	c := &call{Config: config, Console: console.New(config.Stdin, config.Stdout, config.Stderr)}
	c.Asks, c.Live = c.Asks || config.atTerminal, c.Live || config.atTerminal
	return c
}
