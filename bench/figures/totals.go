package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ringtree/ringtree/bench/figures/models"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

var totalFigures = []func(*bench) error{
	totalTrips,
	totalBytes,
}

// enoughMarks are so many that each shard of their total has had some.
const enoughMarks = 1000

// ofTotal reports whether op is for the total of marks.
func ofTotal(op kv.Op) bool {
	return strings.HasPrefix(op.Key, "l:Mark:count:") || strings.HasPrefix(op.Key, "c:Mark:count:")
}

// totalTrips reports what a change of a record that is counted costs before the reply, as
// that of one that is not, which ops it takes, with those after the reply, and what Count
// costs.
func totalTrips(b *bench) error {
	store, ops := counting(plain{memkv.New(memkv.Options{})}, ofTotal)
	db, m, err := openModels(store)
	if err != nil {
		return err
	}
	defer db.Close(b.ctx)
	first := m.Votes.Create(b.ctx, &models.Vote{User: "first", Page: "p"})
	if err := errors.Join(first, addMarks(b.ctx, m, enoughMarks), db.Flush(b.ctx)); err != nil {
		return err
	}
	for _, step := range []struct {
		name string
		work func(context.Context) error
	}{
		{"Create of a record", func(ctx context.Context) error { return m.Votes.Create(ctx, &models.Vote{User: "new", Page: "p"}) }},
		{"Create of one that is counted", func(ctx context.Context) error { return m.Marks.Create(ctx, &models.Mark{User: "new", Page: "p"}) }},
		{"Delete of a record", func(ctx context.Context) error { return m.Votes.Delete(ctx, models.VoteID{User: "new", Page: "p"}) }},
		{"Delete of one that is counted", func(ctx context.Context) error { return m.Marks.Delete(ctx, models.MarkID{User: "new", Page: "p"}) }},
	} {
		ops.Store(0)
		cost, err := b.cost(step.work)
		if err := errors.Join(err, db.Flush(b.ctx)); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		b.report("trips: "+step.name, float64(cost.Trips), exactly(2))
		if n := ops.Load(); n > 0 {
			b.report("ops for the total: "+step.name, float64(n), atMost(3))
		}
	}
	cost, err := b.cost(func(ctx context.Context) error { _, err := m.Marks.Count(ctx); return err })
	b.report("trips: Count", float64(cost.Trips), exactly(1))
	b.report("keys: Count", float64(cost.Keys), exactly(64))
	return err
}

// addMarks creates n marks, 500 at once.
func addMarks(ctx context.Context, m *models.Models, n int) error {
	for first := 0; first < n; first += 500 {
		var marks []*models.Mark
		for i := first; i < min(first+500, n); i++ {
			marks = append(marks, &models.Mark{User: memberID(i), Page: "p"})
		}
		if err := m.Marks.CreateMulti(ctx, marks); err != nil {
			return err
		}
	}
	return nil
}

// totalBytes reports what is stored for a total.
func totalBytes(b *bench) error {
	mem := memkv.New(memkv.Options{})
	db, m, err := openModels(mem)
	if err != nil {
		return err
	}
	defer db.Close(b.ctx)
	n := b.size(100_000)
	if err := errors.Join(addMarks(b.ctx, m, n), db.Flush(b.ctx)); err != nil {
		return err
	}
	bytes := 0
	for _, key := range mem.Keys() {
		if !ofTotal(kv.OpGet(key)) {
			continue
		}
		r, err := kv.One(b.ctx, mem, kv.OpGet(key))
		if err != nil {
			return err
		}
		bytes += len(key) + len(r.Value)
	}
	id := len(memberID(0)) + len(":p")
	b.report("bytes: for each record, its id left out", float64(bytes)/float64(n)-float64(id), atMost(12).varying())
	return nil
}
