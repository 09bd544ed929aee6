package build

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// In the model of a build, processes build one index under the real leases, in every order of their
// operations. A build has a token, and enters each of a few records under it; "built" names the
// token of a complete index. There is no clock: a process that reads the same beat twice takes the
// owner for dead, while it may be dead, asleep or slow. In every state another process tries to
// finish the build on its own, so no process has to die within a step.

const builtKey = "built"

type (
	// world is the state besides the store.
	world struct {
		records int64
		kept    map[string]int64 // how far builds have come, by token, as their owners know
	}

	// builder is a process that builds.
	builder struct {
		*world
		kv.Store
		item   *Item
		leaves bool // it ends after the first record, as by a Close
	}
)

func (w *world) builder(name string, s kv.Store) *builder {
	var now time.Time
	clock := func() time.Time { now = now.Add(times.Silent); return now }
	return &builder{world: w, Store: s, item: &Item{Store: s, Now: clock, Model: "M", Owner: name}}
}

// surely repeats a write until its outcome is known.
func (b *builder) surely(op kv.Op) error {
	for {
		if _, err := kv.One(context.Background(), b, op); !errors.Is(err, kv.ErrUnclear) {
			return err
		}
	}
}

func (b *builder) built() (value string, version kv.Version) {
	r, _ := kv.One(context.Background(), b, kv.OpGet(builtKey))
	return string(r.Value), r.Version
}

func entryKey(token string, record int64) string { return fmt.Sprint("entry:", token, ":", record) }

// build tries to build until the index is whole, or the tries are used up.
func (b *builder) build(tries int) {
	for range tries {
		token, version := b.built()
		if strings.HasPrefix(token, "whole ") {
			return
		}
		if token == "" {
			token = fmt.Sprint(b.item.Owner, version)
			if err := b.surely(kv.OpReplace(builtKey, version, []byte(token))); err != nil {
				continue
			}
		}
		begin := func(context.Context, bool) (int64, error) { return 1, nil }
		lease, err := b.item.Claim(context.Background(), []string{token}, begin)
		if err == nil && b.enter(lease, token) {
			return
		}
	}
}

// enter enters the remaining records, and marks the index. It reports whether the process is done.
func (b *builder) enter(lease *Lease, token string) (done bool) {
	ctx, st := context.Background(), lease.Found
	for st.Reached.Number < b.records {
		st.Reached.Number++
		_ = b.surely(kv.OpSet(entryKey(token, st.Reached.Number), []byte("x")))
		if err := lease.Keep(ctx, b, st); err != nil {
			return false
		}
		b.kept[token] = max(b.kept[token], st.Reached.Number)
		if b.leaves {
			_ = lease.Release(ctx)
			return true
		}
	}
	if value, version := b.built(); value == token {
		if err := b.surely(kv.OpSwap(builtKey, version, []byte("whole "+token))); err != nil {
			return false
		}
	}
	_ = lease.End(ctx)
	return false
}

// takeOut is a process of a release that does not keep the index.
func (b *builder) takeOut() {
	if value, version := b.built(); value != "" {
		_ = b.surely(kv.OpSwap(builtKey, version, nil))
	}
}

// check returns the fault of s, which it may change.
func (w *world) check(s kv.Store) error {
	b := w.builder("another", s)
	if err := b.checkEntered(); err != nil {
		return err
	}
	b.world = &world{w.records, map[string]int64{}}
	b.build(4)
	if value, _ := b.built(); !strings.HasPrefix(value, "whole ") {
		return fmt.Errorf("another process cannot end the build: built is %q", value)
	}
	if err := b.checkEntered(); err != nil {
		return fmt.Errorf("after another process has ended the build: %w", err)
	}
	return nil
}

// checkEntered reports records that count as entered but are not, and the reverse.
func (b *builder) checkEntered() error {
	st, _, err := b.item.Read(context.Background())
	if err != nil {
		return err
	}
	if token := strings.Join(st.Tokens, " "); token != "" {
		if err := b.has(token, st.Reached.Number); err != nil {
			return fmt.Errorf("%d records are reached: %w", st.Reached.Number, err)
		}
		if value, _ := b.built(); value == token && st.Reached.Number < b.kept[token] {
			return fmt.Errorf("%d records are reached, and %d were", st.Reached.Number, b.kept[token])
		}
	}
	if value, _ := b.built(); strings.HasPrefix(value, "whole ") {
		if err := b.has(strings.TrimPrefix(value, "whole "), b.records); err != nil {
			return fmt.Errorf("the index is whole: %w", err)
		}
	}
	return nil
}

// has reports the first of that many records that is not entered under token.
func (b *builder) has(token string, records int64) error {
	for n := range records {
		if _, err := kv.One(context.Background(), b, kv.OpGet(entryKey(token, n+1))); err != nil {
			return fmt.Errorf("record %d under %s: %w", n+1, token, err)
		}
	}
	return nil
}

func TestModels_ABuildIsTakenOverWithWhatWasEntered(t *testing.T) {
	type process = func(*builder)
	builds := func(b *builder) { b.build(2) }
	leaves := func(b *builder) { b.leaves = true; b.build(2) }
	takesOut := func(b *builder) { b.takeOut() }
	for _, m := range []struct {
		name      string
		vast      bool
		records   int64
		bounds    proof.Bounds
		processes []process
	}{
		{"two builders", false, 2, proof.Bounds{}, []process{builds, builds}},
		{"a builder and one that ends early", false, 2, proof.Bounds{}, []process{builds, leaves}},
		{"a builder and a release without the index, an unclear write", false, 2, proof.Bounds{Unclear: 1}, []process{builds, takesOut}},
		{"two builders, an unclear write", true, 2, proof.Bounds{Unclear: 1}, []process{builds, builds}},
		{"two builders and a release without the index", true, 2, proof.Bounds{}, []process{builds, builds, takesOut}},
	} {
		if m.vast && !proof.Long() {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			m.bounds.States = 3_000_000
			begun := time.Now()
			states := proof.Explore(t, m.bounds, func(x *proof.Exploration) {
				w := &world{records: m.records, kept: map[string]int64{}}
				for i, p := range m.processes {
					x.Go(fmt.Sprint("p", i), func(s kv.Store) { p(w.builder(fmt.Sprint("p", i), s)) })
				}
				x.Sees(func() string { return fmt.Sprint(w.kept) })
				x.Always(w.check)
			})
			t.Logf("%d states, %v", states, time.Since(begun).Round(time.Millisecond))
		})
	}
}

// A build changes its owner by a swap, and what counts as reached was entered.
func TestFaults_OfAStoreAreNoticed(t *testing.T) {
	proof.Notices(t, "TestModels_ABuildIsTakenOverWithWhatWasEntered", "blind cas build:", "lost set entry:")
}
