package whole_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// There are enough tags for several leaves.
func TestValues_AreWhatAMapOfTheRecordsSays(t *testing.T) {
	eachServer(t, func(t *testing.T, _ *memkv.Store, s kv.Store) {
		p := openPosts(s, postsAs{history: 9})
		history := kvmodel.NewHistory(p.Records)
		seed := rand.Uint64()
		rng := rand.New(rand.NewPCG(seed, 1))
		model := map[string][]string{}
		tags := func() (some []string) {
			for range rng.IntN(30) {
				some = append(some, fmt.Sprint("t", int(200*rng.Float64()*rng.Float64())))
			}
			return some
		}
		for step := range proof.Size(150, 300) {
			id := fmt.Sprint("p", rng.IntN(40))
			old, there := model[id]
			switch {
			case !there:
				model[id] = tags()
				must(t, p.Put(ctx, &post{ID: id, Tags: model[id]}))
			case rng.IntN(5) > 0:
				model[id] = append(tags(), old[:len(old)/2]...)
				must(t, p.tag(ctx, id, model[id]...))
			case rng.IntN(2) == 0:
				must(t, p.Delete(ctx, id))
				delete(model, id)
			default:
				revisions, err := history.Of(ctx, id, 9)
				must(t, err)
				if r := revisions[rng.IntN(len(revisions))]; r.Item != nil {
					_, err := history.Restore(ctx, id, r.Rev)
					must(t, err)
					model[id] = r.Item.Tags
				}
			}
			if step%75 == 74 {
				must(t, p.db.Flush(ctx))
				wantValues(t, p, countsIn(model))
			}
		}
		if t.Failed() {
			t.Log("seed", seed)
		}
		report, err := p.ByTags.Values.Verify(ctx)
		if err != nil || report.Leaves < 2 || report.Stale+report.Pending+report.Drift+len(report.Wrong) > 0 {
			t.Errorf("%+v, %v", report, err)
		}
		closePosts(t, p)
	})
}

func TestValues_Mend_WritesADamagedRecordOfAValueAgain(t *testing.T) {
	eachServer(t, func(t *testing.T, mem *memkv.Store, s kv.Store) {
		p := openPosts(s, postsAs{})
		must(t, p.CreateMulti(ctx, []*post{{ID: "p1", Tags: []string{"go", "kv"}}, {ID: "p2", Tags: []string{"go"}}}), p.db.Flush(ctx))
		const key = "rank:Post:ByTags.Values:i:go"
		r, err := kv.One(ctx, mem, kv.OpGet(key))
		must(t, err)
		must(t, mem.Do(ctx, []kv.Op{kv.OpSet(key, flips(r.Value)[0].of(r.Value))}))
		for _, want := range []int{1, 0} {
			found, err := p.ByTags.Values.Mend(ctx)
			must(t, err)
			if len(found.Damaged) != want {
				t.Errorf("%d are damaged, want %d: %+v", len(found.Damaged), want, found)
			}
		}
		checkValues(t, p)
		closePosts(t, p)
	})
}
