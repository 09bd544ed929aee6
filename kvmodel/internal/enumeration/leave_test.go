package enumeration

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// dying is a store whose process dies right after the head was changed, and before that
// something happens.
type dying struct {
	kv.Store
	before func()
	dead   bool
}

func (d *dying) Do(ctx context.Context, ops []kv.Op) error {
	if d.dead {
		return kv.Fail(ops, kv.ErrUnavailable)
	}
	if ops[0].Kind == kv.CompareAndSwap && ops[0].Key == "ids:M" {
		d.before()
		d.dead = true
	}
	return d.Store.Do(ctx, ops)
}

func TestLeave_AChunkStaysAsLongAsSomeoneMayAddToIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, mem := t.Context(), memkv.New(memkv.Options{})
		slow, fast := small(), small()
		put := func(e *Enumeration, ids ...string) {
			t.Helper()
			if err := e.Put(ctx, mem, ids); err != nil {
				t.Fatal(err)
			}
		}
		if err := fast.Begin(ctx, mem, "birth"); err != nil {
			t.Fatal(err)
		}
		put(slow, "dead")
		for range 8 {
			put(fast, "none.of.them.is.alive")
		}
		nobody := func(_ context.Context, ids []string) ([]bool, error) { return make([]bool, len(ids)), nil }
		for range 2 {
			d := &dying{Store: mem, before: func() { put(slow, "late") }}
			_ = fast.Compact(ctx, d, nobody)
			h, err := fast.look(ctx, mem)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			if _, err := fast.Each(ctx, mem, h, nil, func(ids []string) error { got = append(got, ids...); return nil }); err != nil {
				t.Fatal(err)
			}
			if d.dead && !slices.Contains(got, "late") {
				t.Errorf("the walk has %q, and not what was added while a chunk left", got)
			}
			time.Sleep(3 * time.Hour)
		}
	})
}
