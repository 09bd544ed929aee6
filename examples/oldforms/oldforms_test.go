package oldforms_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ringtree/ringtree/examples/oldforms"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

const writers = 8

func together(t *testing.T, f func(writer int) error) {
	t.Helper()
	var all sync.WaitGroup
	for writer := range writers {
		all.Go(func() {
			proof.Is(t, f(writer), nil)
		})
	}
	all.Wait()
}

var must = proof.Must

func TestFollows_WritersLoseNothingBesideEachOtherAndCompaction(t *testing.T) {
	ctx, f := t.Context(), oldforms.Follows{Store: memkv.New(memkv.Options{})}
	together(t, func(writer int) error {
		for i := range 50 {
			user := fmt.Sprintf("u%d-%02d", writer, i)
			if err := f.Follow(ctx, "tea", user); err != nil {
				return err
			}
			if i%2 > 0 {
				if err := f.Unfollow(ctx, "tea", user); err != nil {
					return err
				}
			}
		}
		return nil
	})
	names, err := f.Followers(ctx, "tea")
	must(t, err)
	if len(names) != writers*25 || slices.ContainsFunc(names, func(name string) bool { return strings.ContainsAny(name[len(name)-1:], "13579") }) {
		t.Errorf("%d followers: %v; want all even ones", len(names), names)
	}
	done, err := f.Compact(ctx, "tea")
	after, err2 := f.Followers(ctx, "tea")
	if !done || err != nil || err2 != nil || !slices.Equal(names, after) {
		t.Errorf("compacted: %t, %v, %v: %v", done, err, err2, after)
	}
}

func TestFollows_ACrashInCompactionBringsThemBack(t *testing.T) {
	ctx, s := t.Context(), memkv.New(memkv.Options{})
	f := oldforms.Follows{Store: s}
	must(t, f.Follow(ctx, "tea", "ann"))
	must(t, f.Unfollow(ctx, "tea", "ann"))
	proof.Done(t)(kv.One(ctx, s, kv.OpDelete("-tea")))
	if names, err := f.Followers(ctx, "tea"); err != nil || !slices.Equal(names, []string{"ann"}) {
		t.Errorf("followers: %v, %v; the comment says that ann comes back", names, err)
	}
}

func TestLedger_EachChangeHasANumberOfItsOwnAndTheCountIsRight(t *testing.T) {
	ctx, l := t.Context(), oldforms.Ledger{Store: memkv.New(memkv.Options{}), Name: "m"}
	together(t, func(writer int) error {
		for range 20 {
			if _, err := l.Add(ctx, 1, "joined"); err != nil {
				return err
			}
		}
		_, err := l.Add(ctx, -1, "left")
		return err
	})
	last, err := l.Last(ctx)
	if err != nil || last.Number != writers*21 || last.Count != writers*19 {
		t.Errorf("the last change is %+v, %v; want number %d and count %d", last, err, writers*21, writers*19)
	}
}

func TestRow_EachEntryHasASlotOfItsOwnAndAnEmptyOneIsPassedOver(t *testing.T) {
	ctx, s := t.Context(), memkv.New(memkv.Options{})
	r := oldforms.Row{Store: s, Name: "v"}
	together(t, func(writer int) error {
		for i := range 25 {
			if err := r.Add(ctx, fmt.Sprint(writer, ".", i)); err != nil {
				return err
			}
		}
		return nil
	})
	_, err := kv.One(ctx, s, kv.OpDelete("v:150")) // Its writer has died.
	must(t, err)
	for range 10 {
		must(t, r.Forget(ctx))
	}
	lowest, highest, err := r.InUse(ctx)
	all, err2 := r.Newest(ctx, 1000)
	slices.Sort(all)
	if err != nil || err2 != nil || lowest != 11 || highest != 200 || len(slices.Compact(all)) != 189 {
		t.Errorf("%d to %d with %d entries, %v, %v; want 11 to 200 with 189", lowest, highest, len(all), err, err2)
	}
}
