package rebuild

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/internal/build"
	"github.com/ringtree/ringtree/kvmodel/internal/core"
	"github.com/ringtree/ringtree/kvmodel/internal/enumeration"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A build saves its progress after keepRecords records or times.Beat.
const keepRecords = 1000

// beat renews the lease until end is called. ctx ends if another process has taken over.
func (b *building) beat(ctx context.Context) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if b.Db.Alone {
			return // no other process has the store
		}
		for kv.Sleep(ctx, times.Beat) {
			if err := b.lease.Beat(ctx); err != nil && !kv.Failed(err) {
				cancel(err)
			}
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-ended
	}
}

func (b *building) keep(ctx context.Context) error {
	b.kept, b.keptDone, b.ownDone = b.Db.Now(), b.state.Done, 0
	return b.lease.Keep(ctx, b.Db.Store, b.state)
}

func (b *building) release(ctx context.Context, kept bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), buildPatience)
	defer cancel()
	if !kept && b.keep(ctx) != nil {
		return // others will notice that the beat has stopped
	}
	_ = b.lease.Release(ctx)
}

func (b *building) reach(to enumeration.Reached, n int, left int64, losers []string) {
	b.state.Reached = to
	b.state.Done += int64(n)
	b.state.Total = b.state.Done + left
	b.state.Losers = append(b.state.Losers, losers...)
	b.run.saw(b.state)
}

func (b *building) enterRest(ctx context.Context) error {
	if b.state.Stage != build.Entering {
		return nil
	}
	begun, live := b.state.Reached, 0
	all := 0
	err := b.EachFrom(ctx, begun, func(ids []string, to enumeration.Reached, left func() int64) error {
		n, err := b.enterBatch(ctx, ids, to, left())
		all, live = all+len(ids), live+n
		return err
	})
	if wire.IsCorrupt(err) {
		b.unread, err = err, nil
	}
	if err != nil {
		return err
	}
	if begun == (enumeration.Reached{}) {
		b.Upkeep(all, live)
	}
	if b.unread == nil {
		b.state.Stage = build.Entered // otherwise the next build reads the unreadable records again
	}
	return b.keep(ctx)
}

func (b *building) enterBatch(ctx context.Context, ids []string, to enumeration.Reached, left int64) (live int, err error) {
	if b.Db.Atomic == nil {
		var losers []string
		if live, losers, err = b.enterIDs(ctx, b.Db.Store, ids); err != nil {
			return live, err
		}
		b.reach(to, len(ids), left, losers)
		if b.state.Done-b.keptDone < keepRecords && b.Db.Now().Sub(b.kept) < times.Beat {
			return live, nil
		}
		b.running.onBuild(b.run.state())
		return live, b.keep(ctx)
	}
	before := b.state
	err = b.Db.Atomic(ctx, func(s kv.Store) (err error) {
		b.state = before
		var losers []string
		if live, losers, err = b.enterIDs(ctx, s, ids); err != nil {
			return err
		}
		b.reach(to, len(ids), left, losers)
		return b.lease.Keep(ctx, s, b.state)
	})
	if err != nil {
		b.state = before
		return live, err
	}
	if b.state.Done-b.keptDone >= keepRecords {
		b.keptDone = b.state.Done
		b.running.onBuild(b.run.state())
	}
	return live, nil
}

// losers are to be entered again: damaged, or with unique values of others.
func (b *building) enterIDs(ctx context.Context, s kv.Store, ids []string) (live int, losers []string, err error) {
	recs, err := b.See(ctx, s, ids)
	if recs == nil {
		return 0, nil, err
	}
	if b.Numbers != nil {
		if err := b.FillGaps(ctx, s, recs); err != nil {
			return 0, nil, err
		}
	}
	var whole []*plug.Seen
	for _, rec := range recs {
		if rec.Damaged() {
			losers = append(losers, rec.ID)
		} else {
			whole = append(whole, rec)
		}
	}
	duplicates, damaged, err := b.enterAll(ctx, s, whole)
	losers = slices.AppendSeq(losers, maps.Keys(damaged))
	for _, taken := range duplicates {
		if !slices.Contains(losers, taken.By) {
			losers = append(losers, taken.By)
		}
	}
	return core.Living(recs), losers, err
}

// damaged is by id.
func (b *building) enterAll(ctx context.Context, s kv.Store, recs []*plug.Seen) (duplicates []*core.TakenError, damaged map[string]error, err error) {
	damaged = make(map[string]error)
	taken := make([][]*core.TakenError, len(recs))
	errs := kv.Each(ctx, s, recs, func(s kv.Store, i int, rec *plug.Seen) (err error) {
		taken[i], err = b.enter(ctx, s, rec)
		return err
	})
	for i, err := range errs {
		if wire.IsCorrupt(err) {
			damaged[recs[i].ID] = err
		} else if err != nil {
			return nil, nil, err
		}
		for _, t := range taken[i] {
			t.By = recs[i].ID
			duplicates = append(duplicates, t)
		}
	}
	return duplicates, damaged, nil
}

func (b *building) enterLosers(ctx context.Context) (*DuplicatesError, error) {
	ids := slices.Compact(slices.Sorted(slices.Values(b.state.Losers)))
	all := &DuplicatesError{Model: b.Name, More: int(b.state.More)}
	for some := range slices.Chunk(ids, core.RecordsAtOnce) {
		recs, err := b.See(ctx, b.Db.Store, some)
		if recs == nil {
			return nil, err
		}
		duplicates, damaged, err := b.enterAll(ctx, b.Db.Store, b.whole(recs))
		if err != nil {
			return nil, err
		}
		for id, err := range damaged {
			b.leaveOut(id, err)
		}
		all.Records = append(all.Records, duplicates...)
	}
	b.state.Losers = slices.Sorted(maps.Keys(b.damaged))
	for _, taken := range all.Records {
		b.state.Losers = append(b.state.Losers, taken.By)
	}
	if len(all.Records) == 0 && all.More == 0 {
		return nil, nil
	}
	return all, nil
}

func (b *building) meet(rec *plug.Seen) {
	for _, index := range b.indexes {
		if f, ok := index.(plug.Meeter); ok {
			f.Meet(index.Places(rec.Value))
		}
	}
}

func (b *building) meetEarlier(ctx context.Context, to enumeration.Reached) error {
	finishes := slices.ContainsFunc(b.indexes, func(i plug.Index) bool { _, ok := i.(plug.Meeter); return ok })
	if to == (enumeration.Reached{}) || b.lease.Found.Stage == build.Finished || !finishes {
		return nil
	}
	err := b.EachFrom(ctx, enumeration.Reached{}, func(ids []string, at enumeration.Reached, _ func() int64) error {
		if at.IsBehind(to) {
			return core.ErrStop
		}
		recs, err := b.See(ctx, b.Db.Store, ids)
		if recs == nil {
			return err
		}
		for _, rec := range recs {
			if rec.Value != nil {
				b.meet(rec)
			}
		}
		return nil
	})
	if errors.Is(err, core.ErrStop) || wire.IsCorrupt(err) {
		return nil // an unreadable record was not entered either
	}
	return err
}

// DuplicatesError lists the records that hold unique values of others, so that an index could not
// be built. It is an ErrExists.
type DuplicatesError struct {
	Model   string
	Records []*core.TakenError
	More    int // whose ids were lost with a process
}

func (e *DuplicatesError) Error() string {
	const shown = 10
	var b strings.Builder
	what := cmp.Or(strings.Join(e.Indexes(), ", "), "indexes")
	fmt.Fprintf(&b, "%s: %d records are in conflict, so %s cannot be built", e.Model, len(e.Records)+e.More, what)
	for i, taken := range e.Records[:min(len(e.Records), shown)] {
		fmt.Fprintf(&b, "%s %s: %v", [2]string{":", ";"}[min(i, 1)], kv.Quote(taken.By), taken)
	}
	if more := len(e.Records) + e.More - min(len(e.Records), shown); more > 0 {
		fmt.Fprintf(&b, "; and %d more", more)
	}
	return b.String()
}

func (e *DuplicatesError) Indexes() []string {
	all := make(map[string]bool)
	for _, taken := range e.Records {
		all[taken.Index] = true
	}
	return slices.Sorted(maps.Keys(all))
}

func (e *DuplicatesError) Is(target error) bool { return target == kv.ErrExists }

func (e *DuplicatesError) Unwrap() []error {
	errs := make([]error, len(e.Records))
	for i, taken := range e.Records {
		errs[i] = taken
	}
	return errs
}
