package memkv_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func TestStore_KeepsTheContract(t *testing.T) {
	var offset atomic.Int64
	opts := memkv.Options{Now: func() time.Time { return time.Unix(1_800_000_000, offset.Load()) }}
	cached := opts
	cached.Cache = 1 << 20
	for name, open := range map[string]func() kv.Store{
		"plain":                  func() kv.Store { return memkv.New(opts) },
		"transactions run twice": func() kv.Store { return kvtest.Twice(memkv.New(opts)) },
		"cache":                  func() kv.Store { return memkv.New(cached) },
	} {
		t.Run(name, func(t *testing.T) {
			kvtest.Run(t, kvtest.Maker{
				Advance: func(d time.Duration) { offset.Add(int64(d)) },
				Shown:   name == "cache",
				Open:    func(testing.TB, string) kv.Store { return open() },
			})
		})
	}
}

var ctx = context.Background()

func set(s kv.Store, keys ...string) []error {
	var errs []error
	for _, key := range keys {
		_, err := kv.One(ctx, s, kv.OpSet(key, []byte("v")))
		errs = append(errs, err)
	}
	return errs
}

func wantKeys(t *testing.T, s *memkv.Store, want ...string) {
	t.Helper()
	got := s.Keys()
	slices.Sort(got)
	proof.NoDiff(t, cmp.Diff(want, got), "keys")
	proof.Equal(t, s.Len(), len(want), "Len")
}

func TestOptions_MaxItems_TheLeastRecentlyUsedMakesRoom(t *testing.T) {
	s := memkv.New(memkv.Options{MaxItems: 3})
	set(s, "a", "b", "c")
	_, _ = kv.GetAll(ctx, s, "a")
	proof.Must(t, errors.Join(set(s, "d", "e")...))
	wantKeys(t, s, "a", "d", "e")
}

func TestOptions_MaxItems_AChangeNeedsNoRoom(t *testing.T) {
	for _, strict := range []bool{false, true} {
		s := memkv.New(memkv.Options{MaxItems: 2, Strict: strict})
		if err := errors.Join(set(s, "a", "b", "a", "b")...); err != nil {
			t.Errorf("strict %t: %v", strict, err)
		}
		wantKeys(t, s, "a", "b")
	}
}

func TestOptions_Strict_RefusesWhatHasNoRoom(t *testing.T) {
	s := memkv.New(memkv.Options{MaxItems: 2, Strict: true})
	errs := set(s, "a", "b", "c")
	if errs[0] != nil || errs[1] != nil || !errors.Is(errs[2], kv.ErrUnavailable) {
		t.Errorf("sets ended in %v, want the third unavailable", errs)
	}
	wantKeys(t, s, "a", "b")
	proof.Done(t)(kv.One(ctx, s, kv.OpDelete("a")))
	if err := set(s, "c")[0]; err != nil {
		t.Errorf("with room again: %v", err)
	}
}

func TestOptions_Strict_AtomicTakesAllOrNothing(t *testing.T) {
	for _, c := range []struct {
		name string
		ops  []kv.Op
		want []string
		err  error
	}{
		{"fits", []kv.Op{kv.OpSet("b", nil), kv.OpSet("c", nil)}, []string{"a", "b", "c"}, nil},
		{"too many", []kv.Op{kv.OpSet("b", nil), kv.OpSet("c", nil), kv.OpSet("d", nil)}, []string{"a"}, kv.ErrUnavailable},
		{"makes room itself", []kv.Op{kv.OpSet("b", nil), kv.OpSet("c", nil), kv.OpSet("d", nil), kv.OpDelete("a")}, []string{"b", "c", "d"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := memkv.New(memkv.Options{MaxItems: 3, Strict: true})
			set(s, "a")
			err := s.Powers().Atomic(ctx, func(tx kv.Store) error { return tx.Do(ctx, c.ops) })
			proof.Is(t, err, c.err)
			wantKeys(t, s, c.want...)
		})
	}
}

func TestStore_Evict_DropsWithoutATrace(t *testing.T) {
	s := memkv.New(memkv.Options{})
	set(s, "a", "b", "c")
	s.Evict("a", "c", "absent")
	wantKeys(t, s, "b")
	proof.Ends(t, kv.ErrNotFound)(kv.One(ctx, s, kv.OpGet("a")))
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestStore_HoldsARecordOf1KiBInLittleMore(t *testing.T) {
	const n = 20_000
	ctx := t.Context()
	s := memkv.New(memkv.Options{})
	before := heap()
	value := make([]byte, 1024)
	for i := range n {
		proof.Must(t, s.Do(ctx, []kv.Op{kv.OpSet(fmt.Sprint("r:Page:", i), value)}))
	}
	each := (heap() - before) / n
	t.Logf("%d bytes for each", each)
	if each > 1300 {
		t.Errorf("%d bytes for each, want at most 1300", each)
	}
	runtime.KeepAlive(s)
}
