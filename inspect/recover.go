package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sums "github.com/ringtree/ringtree/internal/frame"
	"github.com/ringtree/ringtree/internal/lease"
	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// RecoverOptions configure Recover. The zero RecoverOptions wait for an operator after a loss.
type RecoverOptions struct {
	// Accept accepts a loss without an operator. It is for stores that can lose anything at any
	// time, such as memcached.
	Accept bool

	// Log receives losses and their repair. The default is slog.Default.
	Log *slog.Logger
}

// Health is the state of an app's data.
type Health int32

// The states of Health.
const (
	Well       Health = iota
	Lost              // data is lost, and nobody has accepted that yet
	Rebuilding        // some lists are unreadable until they are rebuilt
)

// String returns "ok", "lost" or "rebuilding".
func (h Health) String() string { return [...]string{"ok", "lost", "rebuilding"}[h] }

// A Recovery runs the recovery of a database. A nil Recovery is Well.
type Recovery struct {
	db      *kvmodel.DB
	in      *Inspector
	accepts bool
	token   []byte // of this process
	log     *slog.Logger

	noticed chan struct{}
	health  atomic.Int32
	failed  string // the last logged error
	end     func()
}

// Recover builds incomplete indexes of db in the background, until ctx ends or Stop is called. If a
// server has lost its memory, one of several processes accepts the loss and rescues the rest with
// o.Accept; otherwise an operator must run recover. Register all models in db before, and call Stop
// before closing db:
//
//	defer inspect.Recover(ctx, db, inspect.RecoverOptions{}).Stop()
func Recover(ctx context.Context, db *kvmodel.DB, o RecoverOptions) *Recovery {
	log := cmp.Or(o.Log, slog.Default())
	ctx, cancel := context.WithCancel(ctx)
	r := &Recovery{
		db: db, in: New(db), accepts: o.Accept, log: log, noticed: make(chan struct{}, 1),
		token: []byte(kv.RandomName()),
	}
	var running sync.WaitGroup
	running.Go(func() { r.run(ctx) })
	r.end = func() {
		cancel()
		running.Wait()
	}
	return r
}

// Stop stops r, and waits for its end.
func (r *Recovery) Stop() { r.end() }

// Health returns the state of the data, as far as r knows.
func (r *Recovery) Health() Health {
	if r == nil {
		return Well
	}
	return Health(r.health.Load())
}

// Notice looks for a loss at once if err, from a request, is an ErrLost, which Status may miss.
func (r *Recovery) Notice(err error) {
	if r == nil || !errors.Is(err, kvmodel.ErrLost) {
		return
	}
	select {
	case r.noticed <- struct{}{}:
	default:
	}
}

// A check at this interval needs no trip, unless there is something to do.
const recoverPause = time.Second

func (r *Recovery) run(ctx context.Context) {
	tick := time.NewTicker(recoverPause)
	defer tick.Stop()
	for due := true; ; {
		stats := r.db.Stats()
		if due || r.Health() != Well || stats.Lost > 0 || len(stats.Unbuilt) > 0 {
			r.logOnce(ctx, r.step(ctx))
		}
		select {
		case <-ctx.Done():
			return
		case <-r.noticed:
			due = true
		case <-tick.C:
			due = false
		}
	}
}

// logOnce logs an error when it first appears.
func (r *Recovery) logOnce(ctx context.Context, err error) {
	text := ""
	if err != nil && ctx.Err() == nil {
		text = err.Error()
	}
	if text != "" && text != r.failed {
		r.log.Error("inspect: the recovery of lost data failed and will be tried again", "err", err)
	}
	r.failed = text
}

func (r *Recovery) step(ctx context.Context) error {
	st, err := r.in.Status(ctx)
	if err != nil {
		return err
	}
	unbuilt, building := unbuiltIn(st)
	lost := st.Lost != nil || st.Stats.Lost > 0
	switch {
	case lost && !r.accepts:
		if r.enter(Lost) {
			r.log.Error("inspect: the store has lost data; db recover shows what is lost", "err", lossOf(st))
		}
		return nil
	case lost:
		r.enter(Rebuilding)
		return r.accept(ctx, st)
	case st.Next == "recover" && r.accepts:
		r.enter(Rebuilding)
		return r.rescue(ctx)
	case len(unbuilt) > 0:
		r.enter(Rebuilding)
		return r.build(ctx, unbuilt)
	case building:
		r.enter(Rebuilding)
	case r.enter(Well):
		r.log.Info("inspect: recovery is complete, without the lost data", "records", recordsIn(st))
	}
	return nil
}

func (r *Recovery) enter(h Health) bool { return Health(r.health.Swap(int32(h))) != h }

func (r *Recovery) accept(ctx context.Context, st Status) error {
	servers, err := r.db.Accept(ctx)
	if err != nil {
		return fmt.Errorf("accept: %w", err)
	}
	r.log.Warn("inspect: the loss was accepted: records on these servers are gone, with all data outside records",
		"servers", servers, "err", lossOf(st), "gone", strings.Join(r.in.Unbuildable(), ", "))
	if len(servers) > 0 {
		return nil // The next step rescues, since the loss has begun an edition.
	}
	return r.rescue(ctx)
}

func (r *Recovery) rescue(ctx context.Context) error {
	return r.held(ctx, func(ctx context.Context) error {
		err := r.in.Rescue(ctx, Pace{})
		if errors.Is(err, ErrNoKeys) {
			return nil // The next step builds the indexes that are not built.
		}
		return err
	})
}

// Of several processes one builds, and the others wait.
func (r *Recovery) build(ctx context.Context, models []string) error {
	r.log.Info("inspect: indexes are built", "of", models)
	return errors.Join(beside(models, func(model string) error { return r.in.Build(ctx, model, false, nil) })...)
}

func unbuiltIn(st Status) (unbuilt []string, building bool) {
	for _, m := range st.Models {
		for _, i := range m.Indexes {
			building = building || i.State == "building"
			if i.State == "not built" && !slices.Contains(unbuilt, m.Name) {
				unbuilt = append(unbuilt, m.Name)
			}
		}
	}
	return unbuilt, building
}

func recordsIn(st Status) string {
	var all []string
	for _, m := range st.Models {
		all = append(all, fmt.Sprintf("%s %d", m.Name, m.IDs))
	}
	return strings.Join(all, ", ")
}

func lossOf(st Status) error { return cmp.Or(st.Lost, kv.ErrLost) }

// Rescue accepts a loss, lists the ids of all records found by the keys of the store, and builds
// all indexes. A check reports the rest.
func (in *Inspector) Rescue(ctx context.Context, p Pace) error {
	if in.keys == nil {
		return ErrNoKeys
	}
	if _, err := in.db.Accept(ctx); err != nil {
		return err
	}
	edition := in.edition()
	for _, m := range in.models {
		if m.IsListed() {
			if err := in.relist(ctx, m, p); err != nil {
				return fmt.Errorf("%s: %w", m.Name(), err)
			}
		}
	}
	err := in.build(ctx, in.models, true, p.Progress)
	if err == nil && edition != "" {
		_, err = kv.One(ctx, in.db.Store(), kv.OpSet(rescuedKey, sums.Whole([]byte(edition))))
	}
	return err
}

// Unbuildable returns the data that no build restores, each with its kind.
func (in *Inspector) Unbuildable() (all []string) {
	for _, m := range in.models {
		for _, counter := range m.Counters() {
			all = append(all, "counter "+m.Name()+"."+counter)
		}
	}
	for _, w := range in.alone {
		all = append(all, w.Kind()+" "+w.Name())
	}
	return all
}

// rescuedKey holds the edition that was last rescued. Each accepted loss begins another.
var rescuedKey = kv.NewClass("rescued", 1).Key("ringtree")

func (in *Inspector) edition() string {
	number, id := kv.EditionOf(kv.PowersOf(in.db.Store()).Losses)
	if number <= 1 {
		return ""
	}
	return fmt.Sprintf("%d.%x", number, id)
}

// Until a rescue has followed an accepted loss, records may be missing from all lists.
func (in *Inspector) awaitsRescue(ctx context.Context) (bool, error) {
	edition := in.edition()
	if edition == "" || in.keys == nil {
		return false, nil
	}
	got, err := kv.One(ctx, in.store, kv.OpGet(rescuedKey))
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return false, err
	}
	noted, _ := sums.Open(got.Value)
	return string(noted) != edition, nil
}

var leaseKey = kv.NewClass("recovery", 1).Key("lease")

var errLeaseLost = errors.New("another process is recovering the database")

// held runs work if no other process has the lease. If another takes it, the context of work ends.
func (r *Recovery) held(ctx context.Context, work func(context.Context) error) error {
	s := r.db.Store()
	l := &lease.Lease{Key: leaseKey, Token: r.token, TTL: times.Lease, Now: time.Now}
	mine, err := l.Take(ctx, s)
	if err != nil || !mine {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var keeping sync.WaitGroup
	keeping.Go(func() {
		for kv.Sleep(ctx, times.Lease/4) {
			err := l.Renew(ctx, s)
			if errors.Is(err, lease.ErrEnded) {
				cancel(errLeaseLost)
			} else if err != nil && ctx.Err() == nil {
				r.log.Warn("the lease of a rescue could not be renewed", "err", err)
			}
		}
	})
	err = work(ctx)
	if errors.Is(context.Cause(ctx), errLeaseLost) {
		err = errLeaseLost
	}
	cancel(nil)
	keeping.Wait()
	if err := l.Return(context.WithoutCancel(ctx), s); err != nil {
		r.log.Warn("the lease of a rescue could not be given back", "err", err)
	}
	return err
}
