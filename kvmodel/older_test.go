package kvmodel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// noticed is how long after a process of an older release has begun to write the last
// reader knows it: what a reader knows is used for 15 seconds.
const noticed = 20 * time.Second

// onServers runs f in a simulation for each kind of store on servers.
func onServers(t *testing.T, f func(t *testing.T, ctx context.Context, mem *memkv.Store, s kv.Store)) {
	for _, kind := range []string{"plain", "unless and ordered"} {
		t.Run(kind, func(t *testing.T) {
			inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) { f(t, ctx, mem, shared{kinds[kind](mem)}) })
		})
	}
}

// lists fails unless All has the notes with these ids.
func (v *release) lists(t *testing.T, ids ...string) {
	t.Helper()
	var got []string
	for n, err := range v.All(t.Context()) {
		if err != nil {
			t.Error("All:", err)
			return
		}
		got = append(got, n.ID)
	}
	slices.Sort(got)
	if diff := cmp.Diff(slices.Sorted(slices.Values(ids)), got); diff != "" {
		t.Errorf("All (-want +got)\n%s", diff)
	}
}

// isNamedIn fails unless err is ErrNeedsRebuild and names the process of e.
func (e *oldProcess) isNamedIn(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, kvmodel.ErrNeedsRebuild) || !strings.Contains(err.Error(), e.process) {
		t.Errorf("got error %v, want an ErrNeedsRebuild that names %s", err, e.process)
	}
}

func id(i int) string { return fmt.Sprint("n", i) }

func coded(id string) *note { return &note{ID: id, Text: "t" + id, Code: "c" + id} }

func TestOlder_AProcessThatRunsAlreadyIsNamedAndThenBuiltOver(t *testing.T) {
	onServers(t, func(t *testing.T, ctx context.Context, mem *memkv.Store, s kv.Store) {
		old := newOldProcess(t, s, true)
		var ids []string
		for i := range 30 {
			old.create(coded(id(i)))
			ids = append(ids, id(i))
			time.Sleep(100 * time.Millisecond)
		}
		next := deploy(t, s, "Text", "Code")
		next.needsRebuild(t, "Code")
		next.finds(t, "Text", "tn7", "n7")
		must(t, next.Create(ctx, coded("mine")))
		slow := coded("beside")
		old.begin(slow)
		old.isNamedIn(t, next.Rebuild(ctx))
		old.commit(slow)
		old.recode("n3", "recoded")
		time.Sleep(noticed)
		next.needsRebuild(t, "Code")
		next.finds(t, "Text", "tbeside", "beside")
		next.finds(t, "Text", "tmine", "mine")
		next.lists(t, append(ids, "mine", "beside")...)
		old.close()
		must(t, next.Rebuild(ctx))
		next.finds(t, "Code", "recoded", "n3")
		next.finds(t, "Code", "cbeside", "beside")
		next.finds(t, "Code", "cmine", "mine")
		next.lists(t, append(ids, "mine", "beside")...)
		next.undeploy(t)
	})
}

func TestOlder_AProcessThatStartsBesideAWholeIndexIsNotBelieved(t *testing.T) {
	onServers(t, func(t *testing.T, ctx context.Context, mem *memkv.Store, s kv.Store) {
		next := deploy(t, s, "Text", "Code")
		must(t, next.Create(ctx, coded("a")))
		time.Sleep(time.Minute)
		old := newOldProcess(t, s, true)
		old.create(coded("b"))
		time.Sleep(noticed)
		next.needsRebuild(t, "Code")
		next.findsOrSays(t, "Text", "tb", "b")
		next.lists(t, "a", "b")
		slow := coded("d")
		old.begin(slow)
		old.isNamedIn(t, next.Rebuild(ctx))
		must(t, next.Create(ctx, coded("c")))
		old.commit(slow)
		next.findsOrSays(t, "Code", "cd", "d")
		next.lists(t, "a", "b", "c", "d")
		old.close()
		must(t, next.Rebuild(ctx))
		for _, id := range []string{"a", "b", "c", "d"} {
			next.finds(t, "Code", "c"+id, id)
			next.finds(t, "Text", "t"+id, id)
		}
		next.undeploy(t)
	})
}

func TestOlder_AProcessThatDiesIsRepaired(t *testing.T) {
	onServers(t, func(t *testing.T, ctx context.Context, mem *memkv.Store, s kv.Store) {
		old := newOldProcess(t, s, true)
		old.create(coded("a"))
		time.Sleep(10 * time.Second)
		old.create(coded("b"))
		old.begin(coded("never"))
		old.kill()
		next := deploy(t, s, "Text", "Code")
		next.lists(t, "a", "b")
		next.finds(t, "Text", "tb", "b")
		must(t, next.Rebuild(ctx))
		next.finds(t, "Code", "cb", "b")
		must(t, next.Create(ctx, &note{ID: "other", Text: "tnever"}))
		time.Sleep(3 * time.Hour)
		for _, key := range mem.Keys() {
			if strings.Contains(key, old.process) {
				t.Errorf("%s is left", key)
			}
		}
		next.lists(t, "a", "b", "other")
		next.undeploy(t)
	})
}

// Its ids are in chunks that no head names: it adds them by number.
func TestOlder_WhatAProcessAddsToTheEnumerationIsListed(t *testing.T) {
	onServers(t, func(t *testing.T, ctx context.Context, mem *memkv.Store, s kv.Store) {
		old := newOldProcess(t, s, false)
		long := strings.Repeat("x", 120)
		var ids []string
		write := func(n int) {
			for range n {
				id := fmt.Sprint(long, len(ids))
				old.create(coded(id))
				ids = append(ids, id)
				time.Sleep(time.Second)
			}
		}
		write(40)
		next := deploy(t, s)
		next.lists(t, ids...)
		must(t, next.Create(ctx, coded("mine"))) // There is a head now.
		ids = append(ids, "mine")
		time.Sleep(5 * time.Second)
		write(100)
		time.Sleep(5 * time.Second)
		next.lists(t, ids...)
		old.close()
		next.lists(t, ids...)
		must(t, next.Create(ctx, coded("more")))
		time.Sleep(time.Minute)
		next.lists(t, append(ids, "more")...)
		next.undeploy(t)
	})
}

// Its chunks fill the gap that a compaction has left.
func TestOlder_WhatAProcessAddsAfterACompactionIsListed(t *testing.T) {
	onServers(t, func(t *testing.T, ctx context.Context, mem *memkv.Store, s kv.Store) {
		next := deploy(t, s)
		long := strings.Repeat("y", 120)
		for round := range 4 {
			for i := range 100 {
				id := fmt.Sprint(long, round, "-", i)
				must(t, next.Create(ctx, coded(id)))
				time.Sleep(100 * time.Millisecond)
				must(t, next.Delete(ctx, id))
			}
			next.lists(t)
			time.Sleep(3 * time.Hour)
		}
		must(t, next.Create(ctx, coded("mine")))
		next.lists(t, "mine")
		if slices.Contains(mem.Keys(), "all:Note:2") {
			t.Fatal("no chunk has left")
		}
		old := newOldProcess(t, s, false)
		ids := []string{"mine"}
		for i := range 80 {
			ids = append(ids, fmt.Sprint(long, "old", i))
			old.create(coded(ids[1+i]))
			time.Sleep(time.Second)
		}
		next.lists(t, ids...)
		old.close()
		next.lists(t, ids...)
		next.undeploy(t)
	})
}

func TestOlder_AProcessThatWasIdleDuringARebuildIsNotBelieved(t *testing.T) {
	onServers(t, func(t *testing.T, ctx context.Context, mem *memkv.Store, s kv.Store) {
		old := newOldProcess(t, s, true)
		old.create(coded("a"))
		time.Sleep(10 * time.Second)
		next := deploy(t, s, "Text", "Code")
		must(t, next.Create(ctx, coded("mine")))
		time.Sleep(time.Minute)
		must(t, next.Rebuild(ctx))
		next.finds(t, "Code", "ca", "a")
		time.Sleep(time.Minute)
		old.create(coded("b"))
		old.recode("a", "recoded")
		time.Sleep(noticed)
		next.findsOrSays(t, "Code", "cb", "b")
		next.findsOrSays(t, "Code", "recoded", "a")
		next.finds(t, "Text", "tb", "b")
		next.lists(t, "a", "b", "mine")
		slow := coded("slow")
		old.begin(slow)
		old.isNamedIn(t, next.Rebuild(ctx))
		old.commit(slow)
		old.close()
		must(t, next.Rebuild(ctx))
		next.finds(t, "Code", "cb", "b")
		next.finds(t, "Code", "recoded", "a")
		next.finds(t, "Code", "cslow", "slow")
		next.undeploy(t)
	})
}

// Its hash of all indexes is the one that this release would have written.
func TestOlder_AProcessWithTheSameIndexesIsBelieved(t *testing.T) {
	onServers(t, func(t *testing.T, ctx context.Context, mem *memkv.Store, s kv.Store) {
		old := newOldProcess(t, s, true)
		next := deploy(t, s, "Text")
		must(t, next.Create(ctx, coded("mine")))
		time.Sleep(time.Minute)
		slow := coded("slow")
		old.begin(slow) // It takes out what it cannot read.
		time.Sleep(noticed)
		next.needsRebuild(t, "Text")
		must(t, next.Rebuild(ctx))
		old.commit(slow)
		old.create(coded("b"))
		time.Sleep(time.Minute)
		for _, id := range []string{"mine", "slow", "b"} {
			next.finds(t, "Text", "t"+id, id)
		}
		next.lists(t, "mine", "slow", "b")
		old.close()
		next.undeploy(t)
	})
}
