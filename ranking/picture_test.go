package ranking_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
)

func nodes(n ranking.Node) []ranking.Node {
	all := []ranking.Node{n}
	for _, below := range n.Below {
		all = append(all, nodes(below)...)
	}
	return all
}

func openStock(t *testing.T, s kv.Store, n int) *articles {
	t.Helper()
	ranking.SmallLeaves(t)
	a := openArticles(s, ranking.Windowed)
	t.Cleanup(func() { must(t, a.db.Close(ctx)) })
	for i := range n {
		must(t, a.Create(ctx, &article{ID: fmt.Sprint("a", i), Stock: int64(i)}))
	}
	flush(t, a)
	return a
}

func TestBoard_Picture_ShowsTheKeysThatAreStored(t *testing.T) {
	s := memkv.New(memkv.Options{})
	a := openStock(t, s, 0)
	empty, err := a.TopStock.Picture(ctx, 10, "a1")
	if err != nil || empty.Root.Key != "" || empty.Leaves[0] != "" {
		t.Errorf("picture of nothing: %+v, %v", empty, err)
	}
	a = openStock(t, still{s}, 60)
	must(t, a.TopStock.Refresh(ctx))
	p, err := a.TopStock.Picture(ctx, 1000, "a59", "nobody")
	if err != nil || p.Room != 4 || p.Root.Count != 60 || p.Root.Name != "key0" || p.Leaves[1] != "" {
		t.Fatalf("picture: %+v, %v", p, err)
	}
	var leaves, found int
	for _, n := range nodes(p.Root) {
		stored, err := kv.One(ctx, s, kv.OpGet(n.Key))
		if err != nil || !strings.HasSuffix(n.Key, ":"+n.Name) || n.Read && n.Bytes != len(stored.Value) {
			t.Errorf("%s of %d bytes is stored under %s with %d: %v", n.Name, n.Bytes, n.Key, len(stored.Value), err)
		}
		if !n.Closed && !n.Read {
			t.Errorf("%s was not read", n.Name)
		}
		if len(n.Below) == 0 {
			leaves += n.Count
		}
		if n.Name == p.Leaves[0] && len(n.Below) == 0 && n.Count > 0 {
			found++
		}
		for i, below := range n.Below {
			if want := n.Name + []string{"11", "10", "01", "00"}[i]; below.Name != want {
				t.Errorf("%s has %s below it, want %s", n.Name, below.Name, want)
			}
		}
	}
	if leaves != 60 || found != 1 {
		t.Errorf("leaves hold %d, and %d are that of a59; want 60 and 1", leaves, found)
	}
}

func TestBoard_Picture_ReadsTheNodesOnTheWayAndOthersUpToTheLimit(t *testing.T) {
	a := openStock(t, memkv.New(memkv.Options{}), 200)
	for _, limit := range []int{-1, 1, 5, 20} {
		p, err := a.TopStock.Picture(ctx, limit, "a100")
		must(t, err)
		read, way := 0, 0
		for _, n := range nodes(p.Root) {
			onWay := strings.HasPrefix(p.Leaves[0], n.Name)
			switch {
			case onWay && !n.Read:
				t.Errorf("limit %d: %s is on the way and was not read", limit, n.Name)
			case onWay:
				way++
			case n.Read:
				read++
			}
		}
		if way+read > max(limit, way) || limit == 20 && way+read != limit {
			t.Errorf("limit %d: %d nodes on the way and %d others", limit, way, read)
		}
	}
}

func TestBoard_Picture_OfAKnownTreeTakesThreeTripsAndTellsWhichNodesChanged(t *testing.T) {
	a := openStock(t, memkv.New(memkv.Options{}), 200)
	draw := func() (p ranking.Picture, states map[string]uint64, trips int) {
		metered, meter := kv.Metered(ctx)
		p, err := a.TopStock.Picture(metered, 1000, "a199")
		must(t, err)
		states = map[string]uint64{}
		for _, n := range nodes(p.Root) {
			states[n.Name] = n.State
		}
		return p, states, meter.Cost().Trips
	}
	first, before, _ := draw()
	again, _, trips := draw()
	if diff := cmp.Diff(first, again); diff != "" || len(before) < 50 || trips > 3 {
		t.Errorf("%d nodes in %d trips, want 50 in 3; the second picture (-want +got)\n%s", len(before), trips, diff)
	}
	update(t, a, "a199", func(v *article) { v.Stock++ })
	_, after, _ := draw()
	changed := 0
	for name, state := range after {
		if before[name] != state {
			changed++
		}
	}
	if leaf := first.Leaves[0]; before[leaf] == after[leaf] || changed > 8 {
		t.Errorf("want another state of %s and of few others, got %d of %d", leaf, changed, len(after))
	}
}
