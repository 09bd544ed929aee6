package main

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ringtree/ringtree/bench/compare/place"
	"github.com/ringtree/ringtree/bench/compare/site"
)

func TestForumMix_AsksForEachKindOfPageByItsShare(t *testing.T) {
	memory := site.Forums[slices.IndexFunc(site.Forums, func(k place.Kind[site.Forum]) bool { return k.Name == "ringtree-memory" })]
	f, err := memory.Open(t.Context(), place.Place{Dir: t.TempDir()})
	must(t, err)
	defer f.Close()
	data := site.NewThreads(2000)
	must(t, f.Load(t.Context(), data))
	do, err := forumMix(t.Context(), &subject{forum: f, threads: data}, 0)
	must(t, err)
	const n = 4000
	got, r := map[string]int{}, rand.New(rand.NewPCG(1, 2))
	for range n {
		kind, err := do(t.Context(), r)
		if err != nil {
			t.Fatal(kind, err)
		}
		got[kind]++
	}
	for _, v := range forumViews {
		if of1000 := 1000 * float64(got[v.name]) / n; of1000 < 0.7*float64(v.share)-2 || of1000 > 1.3*float64(v.share)+2 {
			t.Errorf("%.1f in a thousand are %s, want about %d", of1000, v.name, v.share)
		}
	}
}
