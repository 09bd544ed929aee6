package kvmodel

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// An Option configures a DB.
type Option func(*options)

// OpenOption makes an Option usable in kvopen.Open.
func (Option) OpenOption() {}

type options struct {
	now      func() time.Time
	log      *slog.Logger
	tenant   string
	release  string
	readOnly bool
	hooks    []Hooks
	tries    int
	pause    time.Duration
}

// Clock makes the DB read the time from now.
func Clock(now func() time.Time) Option { return func(o *options) { o.now = now } }

// Log sets the logger for errors after a reply. The default is slog.Default.
func Log(l *slog.Logger) Option { return func(o *options) { o.log = l } }

// Tenant puts all keys of the DB under a prefix of their own.
func Tenant(name string) Option { return func(o *options) { o.tenant = name } }

// Release sets the name of the app's release, shown in [Writer]. The default is the revision or
// version the program was built from.
func Release(name string) Option { return func(o *options) { o.release = name } }

// Observe makes the DB call h. It may be given several times.
func Observe(h Hooks) Option { return func(o *options) { o.hooks = append(o.hooks, h) } }

// Retries repeats ops that the store did not carry out, as [kv.Retry] does.
func Retries(tries int, pause time.Duration) Option {
	return func(o *options) { o.tries, o.pause = tries, pause }
}

// ReadOnly opens a DB that writes nothing: no journal, repair, builds or upkeep. Writing verbs and
// writes to [DB.Store] return [ErrReadOnly]. A DB on a store that cannot be written is always
// read-only.
func ReadOnly() Option { return func(o *options) { o.readOnly = true } }

// errReadOnly is also an ErrUnavailable: the request was not carried out.
var errReadOnly = kv.Unavailable(fmt.Errorf("the DB is %w: write in a process that opens it without kvmodel.ReadOnly", ErrReadOnly))

func (o *options) told(b Build) {
	for _, h := range o.hooks {
		if h.Build != nil {
			h.Build(b)
		}
	}
}

func (o *options) wrapped(s kv.Store) kv.Store {
	for _, h := range o.hooks {
		if h.Trip != nil {
			s = kv.Trace(s, h.Trip)
		}
	}
	s = kv.Count(s)
	if o.tries > 1 {
		s = kv.Retry(s, o.tries, o.pause)
	}
	return s
}
