// Package intent carries out intents: changes of several records that always complete. It does not
// know the type of their args.
package intent

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"sync"
	"time"

	"github.com/ringtree/ringtree/internal/lease"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/internal/work"
	"github.com/ringtree/ringtree/kvmodel/internal/core"
	"github.com/ringtree/ringtree/kvmodel/internal/journal"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

type Intent struct {
	db     *core.DB
	name   string
	decode func(args []byte) (Call, error)

	again plug.Latch

	mu   sync.Mutex // never held during a call
	open map[string]*underway
}

type Call struct {
	Run  func(context.Context) error
	Turn *string // nil: none
}

func New(db *core.DB, name string, decode func(args []byte) (Call, error)) *Intent {
	i := &Intent{db: db, name: name, decode: decode, open: make(map[string]*underway)}
	i.again = db.Latch(i.tryAgain)
	return i
}

type underway struct {
	began time.Time
	line  *core.Written // nil: it is in the journal of another process
	err   error
}

const (
	// maxOpen is the number of failed intents of one name at which no more begin.
	maxOpen = 100

	// Then the background goes on.
	runTries = 3
)

// LineName precedes the name of an intent, in place of a model.
const LineName = "intent "

// RepairLine does nothing: an intent is resumed.
func (*Intent) RepairLine(context.Context, kv.Store, journal.Line) error { return nil }

func (i *Intent) Resume(ctx context.Context, l journal.Line) (ended bool, err error) {
	err = i.carryOut(ctx, l.ID)
	if err != nil && !IsRefused(err) {
		i.keep(l.ID, nil, err)
		return false, i.Failure(err)
	}
	i.end(l.ID)
	return true, nil
}

func Refused(err error) error { return &refusedError{err} }

type refusedError struct{ error }

func (e *refusedError) Unwrap() error { return e.error }

func (i *Intent) Do(ctx context.Context, args []byte, call Call) error {
	text := encode(i.db.Now(), args)
	turn, err := i.turn(ctx, call)
	if err != nil {
		return i.Failure(err)
	}
	defer turn.end(ctx)
	line, err := i.begin(ctx, text, turn)
	if err != nil {
		return i.Failure(err)
	}
	err = i.tries(ctx, call, turn)
	if err == nil {
		line.Ended()
		return nil
	}
	if IsRefused(err) {
		open := i.refuse(ctx, line)
		if open == nil {
			return err
		}
		// Not a Refused error: it may still be carried out.
		if errors.Is(open, journal.ErrNone) {
			return i.Failure(fmt.Errorf("%w: it was refused (%v), but another process, which took this one for dead, may have carried it out", kv.ErrUnclear, err))
		}
		err = fmt.Errorf("it was refused (%v), but the refusal could not be stored: %w", err, open)
	}
	i.keep(text, line, err)
	return i.Failure(&notEnded{err})
}

// notEnded is an ErrUnclear with the reason.
type notEnded struct{ why error }

func (e *notEnded) Error() string {
	return fmt.Sprint(kv.ErrUnclear, ": it has not ended, and will be tried again: ", e.why)
}

func (e *notEnded) Is(target error) bool {
	return target == kv.ErrUnclear || target != kv.ErrUnavailable && errors.Is(e.why, target)
}

func (e *notEnded) As(target any) bool { return errors.As(e.why, target) }

// refuse ends a refused intent, so that no process carries it out later.
func (i *Intent) refuse(ctx context.Context, line *core.Written) error {
	ctx, cancel := i.db.Patient(context.WithoutCancel(ctx))
	defer cancel()
	return line.End(ctx)
}

func IsRefused(err error) bool {
	_, refused := errors.AsType[*refusedError](err)
	return refused
}

func (i *Intent) Failure(err error) error { return fmt.Errorf("intent %s: %w", i.name, err) }

func (i *Intent) Begin(ctx context.Context) (context.Context, func()) {
	return i.db.BeginWork(ctx, kv.Work{Model: i.name, Verb: "Do"})
}

// begin takes the turn, too, unless another process has it.
func (i *Intent) begin(ctx context.Context, text string, turn *turn) (line *core.Written, err error) {
	if n := i.countOpen(); n >= maxOpen {
		return nil, fmt.Errorf("%w: %d are unfinished, and none begins until some have ended", kv.ErrUnavailable, n)
	}
	ctx, cancel := i.db.Patient(ctx)
	defer cancel()
	errs := kv.Together(ctx, i.db.Store, func(s kv.Store) (err error) {
		line, err = i.db.WriteLine(ctx, s, journal.Line{Model: LineName + i.name, ID: text})
		return err
	}, func(s kv.Store) error { return turn.try(ctx, s) })
	switch err := errs[0]; {
	case errors.Is(err, kv.ErrUnclear):
		line.Unclear = true
		i.keep(text, line, err)
		return nil, err
	case err != nil:
		line.Done()
		return nil, err
	}
	return line, nil // once begun, it waits for its turn
}

func (i *Intent) tries(ctx context.Context, c Call, turn *turn) (err error) {
	if err := turn.wait(ctx); err != nil {
		return err
	}
	for try := range runTries {
		if try > 0 && !kv.Sleep(ctx, kv.Jitter(time.Duration(try)*100*time.Millisecond)) {
			return err
		}
		if err = run(ctx, c); err == nil || IsRefused(err) || ctx.Err() != nil {
			return err
		}
	}
	return err
}

func run(ctx context.Context, c Call) error {
	return work.Recover("the function", func() error { return c.Run(ctx) })
}

// keep schedules a retry. A nil line is in the journal of another process, and repair retries it.
func (i *Intent) keep(text string, line *core.Written, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	u := i.open[text]
	if u == nil {
		began, _, _ := Decode(text)
		u = &underway{began: began, line: line}
		i.open[text] = u
	}
	u.err = err
	if line != nil {
		i.again.Set()
	}
}

func (i *Intent) tryAgain(ctx context.Context) error {
	var errs []error
	for text, line := range i.own() {
		err := line.Secure(ctx, i.db)
		if err == nil {
			err = i.carryOut(ctx, text)
		}
		if err == nil {
			line.Ended()
		} else if IsRefused(err) {
			err = i.refuse(ctx, line)
		}
		if errors.Is(err, journal.ErrNone) {
			err = nil // another process has it now
		}
		if err != nil {
			i.keep(text, line, err)
			errs = append(errs, i.Failure(err))
			continue
		}
		i.end(text)
	}
	return kv.Join(errs...)
}

func (i *Intent) own() map[string]*core.Written {
	i.mu.Lock()
	defer i.mu.Unlock()
	all := make(map[string]*core.Written)
	for text, u := range i.open {
		if u.line != nil {
			all[text] = u.line
		}
	}
	return all
}

func (i *Intent) countOpen() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.open)
}

func (i *Intent) end(text string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.open, text)
}

func (i *Intent) carryOut(ctx context.Context, text string) error {
	ctx, cancel := context.WithTimeout(ctx, times.Run)
	defer cancel()
	began, args, err := Decode(text)
	if err != nil {
		return err
	}
	call, err := i.decode(args)
	if err != nil {
		return err
	}
	turn, err := i.turn(ctx, call)
	if err != nil {
		return err
	}
	defer turn.end(ctx)
	if err := turn.wait(ctx); err != nil {
		return err
	}
	ctx, end := i.db.BeginAnew(ctx, kv.Work{Model: i.name, Verb: "Do"})
	defer end()
	err = run(ctx, call)
	switch {
	case err == nil:
		return nil
	case IsRefused(err):
		i.db.Failures.Log(slog.LevelWarn, "an intent that had begun was refused", i.Failure(err))
		return err
	case i.db.Now().Sub(began) >= times.Handlers:
		i.db.Failures.Log(slog.LevelError, "an intent has failed for a day; it is tried again until it ends", work.About(i.name, "", i.Failure(err)))
	}
	return err
}

func (i *Intent) Stats() (open int, oldest time.Duration, why error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := i.db.Now()
	for _, u := range i.open {
		if age := now.Sub(u.began); age >= oldest {
			oldest, why = age, u.err
		}
	}
	return len(i.open), oldest, why
}

func (i *Intent) Name() string { return i.name }

func (i *Intent) Failing(text string) (why error, open bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if u := i.open[text]; u != nil {
		return u.err, true
	}
	return nil, false
}

func (i *Intent) KeepNamed(isNamed func(model, id string) bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	maps.DeleteFunc(i.open, func(text string, u *underway) bool { return u.line == nil && !isNamed(LineName+i.name, text) })
}

// encode returns the time the intent began, a unique name, and its args.
func encode(began time.Time, args []byte) string {
	b := binary.AppendUvarint(nil, uint64(max(began.UnixMilli(), 0)))
	return string(append(wire.AppendText(b, kv.RandomName()), args...))
}

func Decode(text string) (began time.Time, args []byte, err error) {
	r := wire.Reader{Rest: []byte(text)}
	began = time.UnixMilli(int64(r.Number("intent", math.MaxInt64)))
	r.Text("intent")
	return began, r.Rest, r.Err
}

// turn is the right to carry out intents of one name with the same turn. Between processes it is a
// lease that is not renewed, so a call longer than times.Turn may overlap with another.
type turn struct {
	db    *core.DB
	lease *lease.Lease // nil: no turns
	mine  bool
	leave func() // within this process
}

var turnClass = kv.NewClass("turn", 2)

func (i *Intent) turn(ctx context.Context, c Call) (*turn, error) {
	if c.Turn == nil {
		return &turn{mine: true}, nil
	}
	// A turn's name may contain personal data, which must not be in a key.
	sum := sha256.Sum256([]byte(*c.Turn))
	key := turnClass.Key(i.name, hex.EncodeToString(sum[:16]))
	leave, err := i.db.Handling.Take(ctx, key)
	return &turn{i.db, &lease.Lease{Key: key, Token: kv.RandomBytes(16), TTL: times.Turn, Now: i.db.Now}, false, leave}, err
}

func (t *turn) try(ctx context.Context, s kv.Store) (err error) {
	if t.mine {
		return nil
	}
	if t.mine, err = t.lease.Take(ctx, s); errors.Is(err, kv.ErrUnclear) {
		return nil
	}
	return err
}

func (t *turn) wait(ctx context.Context) error {
	for !t.mine {
		if !kv.Sleep(ctx, kv.Jitter(turnPause)) {
			return fmt.Errorf("%w: another process is running one with the same turn", kv.ErrUnavailable)
		}
		if err := t.try(ctx, t.db.Store); err != nil {
			return err
		}
	}
	return nil
}

const turnPause = 200 * time.Millisecond

// end releases the turn, to other processes first.
func (t *turn) end(ctx context.Context) {
	if t.lease == nil {
		return
	}
	t.db.Later(ctx, func(ctx context.Context) error {
		defer t.leave()
		return t.lease.Return(ctx, t.db.Store)
	})
}
