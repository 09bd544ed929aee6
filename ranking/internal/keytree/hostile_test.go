package keytree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func TestTree_TakesIDsOfEveryLengthAndOfAnyBytes(t *testing.T) {
	r := open(newMem())
	var ids []string
	for b := range 256 {
		ids = append(ids, string([]byte{byte(b)}), string([]byte{'a', byte(b), 0}))
	}
	for n := 0; n <= MaxID; n += 1 + n/8 {
		ids = append(ids, strings.Repeat("x", n))
	}
	ids = append(ids, string(bytes.Repeat([]byte{0xff, ':', '\n'}, 600)), strings.Repeat("y", MaxID))
	for i, id := range ids {
		r.set(t, kv.JoinText(id)[:min(MaxID, len(kv.JoinText(id)))], int64(i%5))
	}
	if err := r.change(strings.Repeat("x", MaxID+1), To(FromInt(0))); !errors.Is(err, kv.ErrTooLarge) {
		t.Error("an id that is too long:", err)
	}
	report := r.checkInvariants(t)
	all, err := pageThrough(r, true)
	must(t, err)
	if report.Members < 500 || report.Members != len(all) {
		t.Errorf("%d members, and %d in the nodes", report.Members, len(all))
	}
}

func TestTree_StaysShallowUnderEveryLoad(t *testing.T) {
	n := proof.Size(700, 6_000)
	for name, score := range map[string]func(i int) int64{
		"equal":      func(int) int64 { return 7 },
		"ascending":  func(i int) int64 { return int64(i) },
		"descending": func(i int) int64 { return int64(-i) },
		"extreme":    func(i int) int64 { return []int64{math.MinInt64, math.MaxInt64, 0, -1}[i%4] },
	} {
		t.Run(name, func(t *testing.T) {
			r := open(newMem(), func(c *Config) { c.Limit = 128 })
			for i := range n {
				r.set(t, fmt.Sprint("m", i), score(i))
			}
			report := r.checkInvariants(t)
			if report.Members != n || report.Depth > 42 {
				t.Errorf("%d members on %d levels", report.Members, report.Depth)
			}
			// There are empty leaves along the long way to an extreme score.
			if most := 5*n/128 + 300; report.Leaves > most {
				t.Errorf("%d leaves, want at most %d", report.Leaves, most)
			}
		})
	}
}

func TestTree_AfterAnyItemIsEvictedMendRepairsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for i := 0; ; i += proof.Size(5, 1) {
			mem := memkv.New(memkv.Options{})
			r := open(plain{mem})
			var ids []string
			for i := range 60 {
				ids = append(ids, idOf(i))
				r.set(t, ids[i], int64(i%20))
			}
			keys := mem.Keys()
			slices.Sort(keys)
			if i >= len(keys) {
				return
			}
			if _, err := kv.One(ctx, mem, kv.OpDelete(keys[i])); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second) // A new tree begins with the time.
			checkEvicted(t, keys[i], open(plain{mem}), ids)
		}
	})
}

func (r *ranking) clear(ctx context.Context, doubtful []Doubt) error {
	for _, d := range doubtful {
		if err := r.Clear(ctx, r.s, r.own, d, new(Due)); err != nil {
			return err
		}
	}
	return nil
}

func checkEvicted(t *testing.T, key string, r *ranking, ids []string) {
	t.Helper()
	for _, down := range []bool{true, false} {
		if _, err := r.Page(ctx, r.s, Between{}, down, nil, 10, Want{}); err != nil && !errors.Is(err, kvmodel.ErrNeedsRebuild) {
			t.Errorf("without %s: page: %v", key, err)
		}
	}
	r.set(t, "new", 7)
	r.set(t, ids[3], 11)
	if err := r.mendAll(slices.Concat(ids, []string{"new"})...); err != nil {
		t.Fatalf("without %s: mend: %v", key, err)
	}
	r.checkCounts(t)
	want := len(ids) + 1
	if strings.Contains(key, ":i:") && key != r.own.Key(ids[3]) {
		want-- // Without its record, a member is not in.
	}
	report := r.checkInvariants(t, ids...)
	all, err := pageThrough(r, true)
	must(t, err)
	if report.Members != want || report.Stale+report.Pending+report.Lost > 0 || len(all) != want {
		t.Errorf("without %s: %+v, want %d members", key, report, want)
	}
}
