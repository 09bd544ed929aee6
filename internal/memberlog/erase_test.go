package memberlog

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func comeAndGo(t *testing.T, l *Logs, s kv.Store, ids ...string) {
	t.Helper()
	for _, id := range ids {
		must(t, l.Write(t.Context(), s, place, Entry{ID: id, Rev: 1, In: true}))
		must(t, l.Write(t.Context(), s, place, Entry{ID: id, Rev: 2, At: time.Now().Unix()}))
	}
}

func TestErase_TheLastMemberTakesTheKeyAlong(t *testing.T) {
	eachKind(t, func(t *testing.T, mem *memkv.Store, s kv.Store) {
		ctx := t.Context()
		l := fresh(s)
		comeAndGo(t, l, s, "a", "b")
		for _, step := range []struct {
			id   string
			gone bool
		}{{"a", false}, {"b", true}, {"b", true}} {
			gone, err := l.Erase(ctx, s, place, step.id, 2)
			must(t, err)
			if gone != step.gone || mem.Len() > 0 == step.gone {
				t.Errorf("after %s was erased: gone is %v, and %d keys are left", step.id, gone, mem.Len())
			}
		}
		must(t, l.Write(ctx, s, place, Entry{ID: "c", Rev: 1, In: true}))
		if n, err := fresh(s).Count(ctx, s, place); n != 1 || err != nil {
			t.Errorf("a list that has begun again has %d members, %v; want 1", n, err)
		}
	})
}

func TestErase_LeavesWhatIsNewerAndOthers(t *testing.T) {
	eachKind(t, func(t *testing.T, _ *memkv.Store, s kv.Store) {
		ctx := t.Context()
		l, wait := prompt(s, small)
		want := fill(t, l, wait, 200)
		for _, id := range want[:100] {
			must(t, l.Write(ctx, s, place, Entry{ID: id, Rev: 1 << 30, In: true}))
			_, err := l.Erase(ctx, s, place, id, 1<<29)
			must(t, err)
		}
		var got []string
		must(t, l.Each(ctx, s, place, func(id string) error { got = append(got, id); return nil }))
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%d members are left of %d", len(got), len(want))
		}
	})
}

func TestErase_LeftTakesThoseThatAreOutAndNoMember(t *testing.T) {
	eachKind(t, func(t *testing.T, mem *memkv.Store, s kv.Store) {
		ctx := t.Context()
		l, wait := prompt(s, small)
		want := fill(t, l, wait, 200)
		for i, id := range want {
			must(t, l.Write(ctx, s, place, Entry{ID: id, Rev: 1 << 30, In: i < 100, At: int64(i) / 100 * time.Now().Unix()}))
		}
		wait()
		if n := segments(t, l); n < 3 {
			t.Fatalf("the list has %d segments, want some", n)
		}
		gone, err := l.EraseLeft(ctx, s, place)
		must(t, err)
		got := entriesOf(t, l)
		if !slices.Equal(got, want[:100]) || gone {
			t.Errorf("%d entries are left, and the list is gone: %v; want the 100 members", len(got), gone)
		}
	})
}

func TestErase_LeftTakesAListWithoutMembersAlong(t *testing.T) {
	eachKind(t, func(t *testing.T, mem *memkv.Store, s kv.Store) {
		ctx := t.Context()
		l := fresh(s)
		comeAndGo(t, l, s, "a", "b")
		if gone, err := l.EraseLeft(ctx, s, place); !gone || err != nil || mem.Len() > 0 {
			t.Errorf("the list is gone: %v, %v, and %d keys are left", gone, err, mem.Len())
		}
	})
}

// A writer that does not know of the split appends to it.
func TestErase_TakesWhatStandsBehindARetiredSegment(t *testing.T) {
	eachKind(t, func(t *testing.T, mem *memkv.Store, s kv.Store) {
		ctx := t.Context()
		l, wait := prompt(s, small)
		fill(t, l, wait, 200)
		key := l.key(place, name{})
		if r, err := kv.One(ctx, mem, kv.OpGet(key)); err != nil || !isRetired(r.Value) {
			t.Fatalf("the first segment is %q, %v; want it retired", r.Value, err)
		}
		_, err := kv.One(ctx, mem, kv.OpAppend(key, []byte("jane")))
		must(t, err)
		_, err = l.Erase(ctx, s, place, "jane", 1)
		must(t, err)
		if r, err := kv.One(ctx, mem, kv.OpGet(key)); err != nil || string(r.Value) != string(retired) {
			t.Errorf("the first segment is %q, %v; want just the mark", r.Value, err)
		}
	})
}

func TestErase_AnEntryThatComesInBetweenStays(t *testing.T) {
	eachKind(t, func(t *testing.T, _ *memkv.Store, s kv.Store) {
		ctx := t.Context()
		must(t, fresh(s).Write(ctx, s, place, Entry{ID: "a", Rev: 1, At: 1}))
		comes := func() { must(t, fresh(s).Write(ctx, s, place, Entry{ID: "b", Rev: 1, In: true})) }
		late := &beforeFirst{&beforeFirst{s, kv.CompareAndDelete, comes}, kv.Delete, comes}
		gone, err := fresh(s).Erase(ctx, late, place, "a", 1)
		must(t, err)
		if n, err := fresh(s).Count(ctx, s, place); gone || n != 1 || err != nil {
			t.Errorf("the list has %d members, %v, and is gone: %v; want 1", n, err, gone)
		}
	})
}

func TestErase_AReaderFoldsAwayWhatHasBeenEmptyForADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memkv.New(memkv.Options{})
		l, wait := prompt(mem, DefaultLimits)
		ctx := t.Context()
		must(t, l.Write(ctx, mem, place, Entry{ID: "a", Rev: 1, In: true}))
		must(t, l.Write(ctx, mem, place, Entry{ID: "a", Rev: 2, At: time.Now().Unix()}))
		for _, keys := range []int{1, 0} {
			_, err := l.Count(ctx, mem, place)
			must(t, err)
			if wait(); mem.Len() != keys {
				t.Errorf("%d keys, want %d", mem.Len(), keys)
			}
			time.Sleep(25 * time.Hour)
		}
	})
}
