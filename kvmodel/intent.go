package kvmodel

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/kvmodel/codec"
	"github.com/ringtree/ringtree/kvmodel/internal/core"
	"github.com/ringtree/ringtree/kvmodel/internal/intent"
	"github.com/ringtree/ringtree/kvmodel/internal/journal"
)

// Intent is a change of several records that always completes. Until Do returns nil or a Refused
// error, the args are in the journal and this process or another calls the function until it
// returns nil, perhaps again after that. So each step must first check whether it is already done.
type Intent[A any] struct {
	in  *intent.Intent
	db  *DB
	run func(context.Context, A) error
}

const maxArgs = 16 << 10

// NewIntent returns the intent of that name, whose function gets the args of Do. Call it once per
// name, at start-up, in every process not opened with ReadOnly.
//
// The args are a struct with exported fields, stored as msgpack. A later release may add fields but
// must not change their meaning. Do calls their method Validate() error, if any. With a method
// Turn() string, a process does not run two intents of the same turn concurrently; two processes
// may.
func NewIntent[A any](db *DB, name string, run func(context.Context, A) error) *Intent[A] {
	i := &Intent[A]{db: db, run: run}
	i.in = intent.New(db.core, name, func(body []byte) (intent.Call, error) {
		var args A
		if err := codec.Unmarshal(body, &args); err != nil {
			return intent.Call{}, err
		}
		return i.call(args), nil
	})
	db.register(intent.LineName+name, i.in)
	db.mu.Lock()
	defer db.mu.Unlock()
	db.intents = append(db.intents, i.in)
	return i
}

func (i *Intent[A]) call(args A) intent.Call {
	c := intent.Call{Run: func(ctx context.Context) error { return i.run(ctx, args) }}
	if t, ok := any(&args).(interface{ Turn() string }); ok {
		turn := t.Turn()
		c.Turn = &turn
	}
	return c
}

// Refused returns an error that ends an intent because it cannot be carried out. Return it from the
// function only if nothing was changed. Do returns it; in the background it is logged.
func Refused(err error) error { return intent.Refused(err) }

// Do carries out the intent with args, for one trip besides those of the function. ErrInvalid or
// ErrTooLarge: the args are refused. ErrUnavailable: nothing was begun.
//
// An ErrUnclear means that the function has failed so far, or that it is unknown whether the args
// are in the journal. The function is then called every 15 seconds until it returns nil, in the
// second case only once the args are certainly stored: if this process dies before that, another
// may carry the intent out, or nobody.
func (i *Intent[A]) Do(ctx context.Context, args A) error {
	ctx, end := i.in.Begin(ctx)
	defer end()
	body, err := i.encode(args)
	if err != nil {
		return i.in.Failure(err)
	}
	return i.in.Do(ctx, body, i.call(args))
}

func (i *Intent[A]) encode(args A) ([]byte, error) {
	if err := i.db.Writable(); err != nil {
		return nil, err
	}
	if err := core.Validate(&args); err != nil {
		return nil, err
	}
	body, err := codec.Marshal(args)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if len(body) > maxArgs {
		return nil, fmt.Errorf("%w: args of %d bytes, at most %d", ErrTooLarge, len(body), maxArgs)
	}
	return body, nil
}

// IntentStats is the state of the intents of one name.
type IntentStats struct {
	Name   string
	Open   int           // intents that have failed so far
	Oldest time.Duration // age of the oldest of them
	Err    error         // its last error
}

// Underway is an intent in some journal.
type Underway struct {
	Process string    // the process whose journal it is in
	Own     bool      // that is this process
	Name    string    // of the intent
	Known   bool      // this process can carry it out
	Began   time.Time // on the clock of the process
	Args    map[string]any
	Err     error // last error known to this process; or ErrCorrupt, if the intent cannot be read
}

// Underway returns the intents in all journals, oldest first. An intent of this process has failed
// so far. One of another process may already have ended, even long ago if another that began at the
// same time has not. Underway writes nothing.
func (db *DB) Underway(ctx context.Context) (all []Underway, err error) {
	writers, err := db.Writers(ctx)
	if err != nil {
		return nil, err
	}
	for _, w := range writers {
		all = append(all, w.Intents...)
	}
	slices.SortStableFunc(all, func(a, b Underway) int { return a.Began.Compare(b.Began) })
	return all, nil
}

func (db *DB) intentsIn(j journal.Copy) (all []Underway) {
	for _, l := range j.Lines {
		if name, ok := strings.CutPrefix(l.Model, intent.LineName); ok {
			if u, open := db.underway(j.Process, name, l.ID); open {
				all = append(all, u)
			}
		}
	}
	return all
}

// underway returns the state of an intent, and whether it may be open.
func (db *DB) underway(process, name, text string) (u Underway, open bool) {
	u = Underway{Process: process, Own: db.core.Journal.IsOwn(process), Name: name}
	var body []byte
	if u.Began, body, u.Err = intent.Decode(text); u.Err == nil {
		u.Err = codec.Unmarshal(body, &u.Args)
	}
	if u.Err != nil {
		return u, true
	}
	for _, i := range db.allIntents() {
		if i.Name() != name {
			continue
		}
		u.Known = true
		if u.Err, open = i.Failing(text); !open && u.Own {
			return u, false
		}
	}
	return u, true
}

func (db *DB) allIntents() []*intent.Intent {
	db.mu.Lock()
	defer db.mu.Unlock()
	return slices.Clone(db.intents)
}

// forgetEnded forgets intents and cascades of dead processes that are in no open line: another
// process has ended them.
func (db *DB) forgetEnded(open []journal.Line) {
	named := make(map[[2]string]bool)
	for _, l := range open {
		named[[2]string{l.Model, l.ID}] = true
	}
	isNamed := func(model, id string) bool { return named[[2]string{model, id}] }
	db.core.Cascades.Keep(db.core.Now().Add(-times.Cascade), isNamed)
	for _, i := range db.allIntents() {
		i.KeepNamed(isNamed)
	}
}

func (db *DB) intentStats() (all []IntentStats) {
	for _, i := range db.allIntents() {
		if n, oldest, err := i.Stats(); n > 0 {
			all = append(all, IntentStats{Name: i.Name(), Open: n, Oldest: oldest, Err: err})
		}
	}
	return all
}
