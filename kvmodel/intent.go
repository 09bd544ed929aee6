package kvmodel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/kvmodel/codec"
	"github.com/ringtree/ringtree/kvmodel/internal/journal"
	"github.com/ringtree/ringtree/kvmodel/internal/work"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Intent is a change of several records that always completes: once begun, it is carried out by
// this process or, if that dies, by another.
//
// Until Do returns nil or a Refused error, the args are in the journal and the function is called
// until it returns nil: at least once, and perhaps again after that. So each step of the function
// must first check whether it is already done. A refused intent is not carried out later.
type Intent[A any] struct {
	db   *DB
	name string
	run  func(context.Context, A) error

	again plug.Latch // retries the failed intents of this process

	mu   sync.Mutex // never held during a call
	open map[string]*underway
}

// underway is an intent that has failed so far.
type underway struct {
	began time.Time
	line  *written // nil: it is in the journal of another process
	err   error
}

const (
	// maxArgs is the maximum size of the args of an intent, in bytes.
	maxArgs = 16 << 10

	// maxOpen is the number of failed intents of one name at which no more begin.
	maxOpen = 100

	// runTries is how often Do calls the function before leaving it to the background.
	runTries = 3
)

// NewIntent returns the intent of that name. Its function gets the args of Do. Call NewIntent once
// per name, at start-up, in every process not opened with ReadOnly: intents of a dead process wait
// for a process that knows the name.
//
// The args are a struct with exported fields, stored as msgpack. A later release may add fields,
// which are empty in intents begun by earlier ones, but must not change their meaning. If the args
// have a method Validate() error, Do calls it first. If they have a method Turn() string, a process
// does not run two intents with the same turn concurrently. Two processes may.
func NewIntent[A any](db *DB, name string, run func(context.Context, A) error) *Intent[A] {
	i := &Intent[A]{db: db, name: name, run: run, open: make(map[string]*underway)}
	i.again = db.Latch(i.tryAgain)
	db.register(intentLine+name, intents{i.resume})
	db.mu.Lock()
	defer db.mu.Unlock()
	db.intents = append(db.intents, i)
	return i
}

// intentLine precedes the name of an intent in the journal, in place of a model.
const intentLine = "intent "

// intents makes the lines of an intent visible to repair.
type intents struct {
	resume func(ctx context.Context, text string) error
}

// RepairLine does nothing: an intent is resumed.
func (intents) RepairLine(context.Context, kv.Store, journal.Line) error { return nil }

// Resume carries out the intent in the line.
func (i intents) Resume(ctx context.Context, l journal.Line) (ended bool, err error) {
	err = i.resume(ctx, l.ID)
	return err == nil, err
}

// Refused returns an error that ends an intent because it cannot be carried out. Return it from the
// function only if nothing was changed. Do returns it; in the background it is logged.
func Refused(err error) error { return &refusedError{err} }

type refusedError struct{ error }

func (e *refusedError) Unwrap() error { return e.error }

// Do carries out the intent with args and returns when the function has returned nil. It costs one
// trip besides those of the function.
//
// An ErrUnclear means either that the function has failed so far, for the reason given, or that it
// is not known whether the args are in the journal. From then on the function is called every 15
// seconds until it returns nil. In the first case that holds whatever happens to this process. In
// the second, this process writes the args again and calls the function only once they are certain
// to be stored; if it dies before that, another process may carry the intent out, or nobody does.
// Invalid args are an ErrInvalid or ErrTooLarge. ErrUnavailable means that nothing was begun.
func (i *Intent[A]) Do(ctx context.Context, args A) error {
	ctx, end := i.db.core.begin(ctx, kv.Work{Model: i.name, Verb: "Do"})
	defer end()
	text, err := i.encode(args)
	if err != nil {
		return i.failure(err)
	}
	turn, err := i.turn(ctx, args)
	if err != nil {
		return i.failure(err)
	}
	defer turn.end(ctx)
	line, err := i.begin(ctx, text, turn)
	if err != nil {
		return i.failure(err)
	}
	err = i.tries(ctx, args, turn)
	if err == nil {
		line.ended()
		return nil
	}
	if isRefused(err) {
		open := i.refuse(ctx, line)
		if open == nil {
			return err
		}
		// Not a Refused error: it may still be carried out.
		if errors.Is(open, journal.ErrNone) {
			return i.failure(fmt.Errorf("%w: it was refused (%v), but this process was taken for dead, and another one may have carried it out", ErrUnclear, err))
		}
		err = fmt.Errorf("it was refused (%v), but that cannot be written down: %w", err, open)
	}
	i.keep(text, line, err)
	return i.failure(&notEnded{err})
}

// notEnded is the ErrUnclear of a begun intent, with the reason why it has not ended. It is never
// an ErrUnavailable, even if the function failed with one: that would mean that nothing was begun.
type notEnded struct{ why error }

func (e *notEnded) Error() string {
	return fmt.Sprint(ErrUnclear, ": it has not ended, and will be tried again: ", e.why)
}

func (e *notEnded) Is(target error) bool {
	return target == ErrUnclear || target != ErrUnavailable && errors.Is(e.why, target)
}

func (e *notEnded) As(target any) bool { return errors.As(e.why, target) }

// refuse ends a refused intent, so that no process carries it out later.
func (i *Intent[A]) refuse(ctx context.Context, line *written) error {
	ctx, cancel := i.db.Patient(context.WithoutCancel(ctx))
	defer cancel()
	return line.end(ctx)
}

func isRefused(err error) bool {
	_, refused := errors.AsType[*refusedError](err)
	return refused
}

func (i *Intent[A]) failure(err error) error { return fmt.Errorf("intent %s: %w", i.name, err) }

// encode returns the text of a line: the time, a random name, and the args.
func (i *Intent[A]) encode(args A) (string, error) {
	if err := i.db.Writable(); err != nil {
		return "", err
	}
	if err := validate(&args); err != nil {
		return "", err
	}
	body, err := codec.Marshal(args)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if len(body) > maxArgs {
		return "", fmt.Errorf("%w: args of %d bytes; they may have %d", ErrTooLarge, len(body), maxArgs)
	}
	return encodeIntent(i.db.core.now(), body), nil
}

// begin writes the line, and takes the turn unless another process has it. If it is unclear whether
// the line was written, the intent may have begun and is retried.
func (i *Intent[A]) begin(ctx context.Context, text string, turn *turn) (line *written, err error) {
	if n := i.countOpen(); n >= maxOpen {
		return nil, fmt.Errorf("%w: %d have not ended yet, and none begins until some have", kv.ErrUnavailable, n)
	}
	ctx, cancel := i.db.Patient(ctx)
	defer cancel()
	errs := kv.Together(ctx, i.db.core.store, func(s kv.Store) (err error) {
		line, err = i.db.core.writeLine(ctx, s, journal.Line{Model: intentLine + i.name, ID: text})
		return err
	}, func(s kv.Store) error { return turn.try(ctx, s) })
	switch err := errs[0]; {
	case errors.Is(err, ErrUnclear):
		line.unclear = true
		i.keep(text, line, err)
		return nil, err
	case err != nil:
		line.done()
		return nil, err
	}
	return line, nil // once begun, it waits for its turn
}

// tries calls the function up to runTries times, once it has its turn.
func (i *Intent[A]) tries(ctx context.Context, args A, turn *turn) (err error) {
	if err := turn.wait(ctx); err != nil {
		return err
	}
	for try := range runTries {
		if try > 0 && !kv.Sleep(ctx, kv.Jitter(time.Duration(try)*100*time.Millisecond)) {
			return err
		}
		if err = i.call(ctx, args); err == nil || isRefused(err) || ctx.Err() != nil {
			return err
		}
	}
	return err
}

func (i *Intent[A]) call(ctx context.Context, args A) error {
	return work.Recover("the function", func() error { return i.run(ctx, args) })
}

// keep records the failure of a begun intent and schedules a retry. A nil line is in the journal of
// another process, and repair retries it.
func (i *Intent[A]) keep(text string, line *written, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	u := i.open[text]
	if u == nil {
		began, _, _ := decodeIntent(text)
		u = &underway{began: began, line: line}
		i.open[text] = u
	}
	u.err = err
	if line != nil {
		i.again.Set()
	}
}

// tryAgain retries the failed intents of this process. It returns an error if one fails again.
func (i *Intent[A]) tryAgain(ctx context.Context) error {
	var errs []error
	for text, line := range i.own() {
		err := line.secure(ctx, i.db.core)
		if err == nil {
			err = i.carryOut(ctx, text)
		}
		if err == nil {
			line.ended()
		} else if isRefused(err) {
			err = i.refuse(ctx, line)
		}
		if errors.Is(err, journal.ErrNone) {
			err = nil // another process has it now
		}
		if err != nil {
			i.keep(text, line, err)
			errs = append(errs, i.failure(err))
			continue
		}
		i.end(text)
	}
	return kv.Join(errs...)
}

// own returns the failed intents begun by this process.
func (i *Intent[A]) own() map[string]*written {
	i.mu.Lock()
	defer i.mu.Unlock()
	all := make(map[string]*written)
	for text, u := range i.open {
		if u.line != nil {
			all[text] = u.line
		}
	}
	return all
}

func (i *Intent[A]) countOpen() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.open)
}

func (i *Intent[A]) end(text string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.open, text)
}

// resume carries out an intent left by a dead process.
func (i *Intent[A]) resume(ctx context.Context, text string) error {
	err := i.carryOut(ctx, text)
	if err != nil && !isRefused(err) {
		i.keep(text, nil, err)
		return i.failure(err)
	}
	i.end(text)
	return nil
}

// carryOut calls the function in the background for the intent text. A Refused error is logged and
// ends it.
func (i *Intent[A]) carryOut(ctx context.Context, text string) error {
	ctx, cancel := context.WithTimeout(ctx, times.Run)
	defer cancel()
	began, body, err := decodeIntent(text)
	var args A
	if err == nil {
		err = codec.Unmarshal(body, &args)
	}
	if err != nil {
		return err
	}
	turn, err := i.turn(ctx, args)
	if err != nil {
		return err
	}
	defer turn.end(ctx)
	if err := turn.wait(ctx); err != nil {
		return err
	}
	ctx, end := i.db.core.beginAnew(ctx, kv.Work{Model: i.name, Verb: "Do"})
	defer end()
	err = i.call(ctx, args)
	switch {
	case err == nil:
		return nil
	case isRefused(err):
		i.db.core.failures.Note(slog.LevelWarn, "an intent that had begun was refused, and has ended", i.failure(err))
		return err
	case i.db.core.now().Sub(began) >= times.Handlers:
		i.db.core.failures.Note(slog.LevelError, "an intent has failed for a day; it is tried again until it ends", work.About(i.name, "", i.failure(err)))
	}
	return err
}

// IntentStats is the state of the intents of one name.
type IntentStats struct {
	Name   string
	Open   int           // intents that have failed so far
	Oldest time.Duration // age of the oldest of them
	Err    error         // its last error
}

func (i *Intent[A]) stats(now time.Time) IntentStats {
	i.mu.Lock()
	defer i.mu.Unlock()
	s := IntentStats{Name: i.name, Open: len(i.open)}
	for _, u := range i.open {
		if age := now.Sub(u.began); age >= s.Oldest {
			s.Oldest, s.Err = age, u.err
		}
	}
	return s
}
