package whole_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	diffs "github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
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
					proof.Done(t)(history.Restore(ctx, id, r.Rev))
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

func TestValues_AHotValueIsFollowedOnceForManyChanges(t *testing.T) {
	for name, as := range serverKinds {
		if name == "embedded" {
			continue // It is followed in the transaction of each.
		}
		for how, create := range map[string]func(*testing.T, *posts, []*post){
			"together": func(t *testing.T, p *posts, all []*post) { must(t, p.CreateMulti(ctx, all)) },
			"at once": func(t *testing.T, p *posts, all []*post) {
				var works sync.WaitGroup
				for _, v := range all {
					works.Go(func() {
						proof.Is(t, p.Create(ctx, v), nil)
					})
				}
				works.Wait()
			},
		} {
			t.Run(name+"/"+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var writes atomic.Int64
					near := distant(as(memkv.New(memkv.Options{})), time.Millisecond)
					p := openPosts(tap{Store: near, before: func(ops []kv.Op) error {
						for _, op := range ops {
							if op.Kind.Writes() && strings.HasPrefix(op.Key, "rank:Post:ByTags.Values:i:") {
								writes.Add(1)
							}
						}
						return nil
					}}, postsAs{})
					const many = 400
					var all []*post
					for i := range many {
						all = append(all, &post{ID: fmt.Sprint("p", i), Tags: []string{"go"}})
					}
					create(t, p, all)
					must(t, p.db.Flush(ctx))
					wantValues(t, p, used{"go": many})
					if n := writes.Load(); n > many/20 {
						t.Errorf("%d writes of the member's record for %d changes", n, many)
					}
					closePosts(t, p)
				})
			})
		}
	}
}

type post struct {
	ID    string
	Tags  []string
	Draft bool
	N     int
}

type posts struct {
	*kvmodel.Records[post, string]
	db     *kvmodel.DB
	ByTags struct {
		*index.Lists[post, string, string]
		Values *ranking.Values[string]
	}
}

type postsAs struct {
	history   int
	countedIn bool
}

func openPosts(s kv.Store, as postsAs, opts ...kvmodel.Option) *posts {
	db, err := kvmodel.Open(s, append([]kvmodel.Option{kvmodel.Log(slog.New(slog.DiscardHandler))}, opts...)...)
	if err != nil {
		panic(err)
	}
	p := &posts{db: db}
	p.Records = kvmodel.NewRecords(db, kvmodel.Schema[post, string]{
		Name: "Post", Version: 1, History: as.history,
		ID:    func(v *post) string { return v.ID },
		SetID: func(v *post, id string) { v.ID = id },
		Key:   kvmodel.StringKey[string](),
		Codec: inJSON[post]{},
	})
	spec := kvmodel.IndexSpec[post, string]{
		Name: "ByTags", Def: "list Tags string each", Fields: []string{"Tags"}, Key: kvmodel.StringKey[string](),
		Values: func(v *post) []string { return v.Tags },
		If:     func(v *post) bool { return !v.Draft },
	}
	option := index.ForValues()
	if as.countedIn {
		option = index.Counted("Topic", "Posts")
	}
	p.ByTags.Lists = index.NewLists(p.Records, spec, option)
	p.ByTags.Values = ranking.NewValues(p.Records, p.ByTags.Spec(), p.ByTags.Derived())
	return p
}

type inJSON[T any] = proof.JSON[T]

var serverKinds = map[string]func(kv.Store) kv.Store{
	"embedded":     func(s kv.Store) kv.Store { return still{s, kv.PowersOf(s)} },
	"as Redis":     func(s kv.Store) kv.Store { return still{s, kv.Powers{Unless: true, Ordered: true}} },
	"as memcached": func(s kv.Store) kv.Store { return still{s, kv.Powers{}} },
}

func eachServer(t *testing.T, f func(t *testing.T, mem *memkv.Store, s kv.Store)) {
	for name, as := range serverKinds {
		t.Run(name, func(t *testing.T) {
			mem := memkv.New(memkv.Options{})
			f(t, mem, as(mem))
		})
	}
}

func closePosts(t *testing.T, p *posts) {
	t.Helper()
	must(t, p.db.Close(ctx))
}

func (p *posts) tag(ctx context.Context, id string, tags ...string) error {
	_, err := p.Update(ctx, id, func(v *post) error { v.Tags = tags; return nil })
	return err
}

type used map[string]int64

func countsOf(t *testing.T, p *posts) used {
	t.Helper()
	live := map[string][]string{}
	for v, err := range p.All(ctx) {
		must(t, err)
		if !v.Draft {
			live[v.ID] = v.Tags
		}
	}
	return countsIn(live)
}

func countsIn(posts map[string][]string) used {
	counts := used{}
	for _, tags := range posts {
		for _, tag := range slices.Compact(slices.Sorted(slices.Values(tags))) {
			counts[tag]++
		}
	}
	return counts
}

func byUse(t *testing.T, p *posts, n int) used {
	t.Helper()
	shown, last := used{}, int64(1<<62)
	for item, err := range pagesOf(p.ByTags.Values.Page, n) {
		must(t, err)
		if _, twice := shown[item.Value]; twice || item.Count > last {
			t.Errorf("%q with %d comes after %d, shown before: %v", item.Value, item.Count, last, twice)
		}
		shown[item.Value], last = item.Count, item.Count
	}
	return shown
}

func inOrder(t *testing.T, p *posts, n int) used {
	t.Helper()
	shown, last := used{}, ""
	for item, err := range pagesOf(p.ByTags.Values.Words, n) {
		must(t, err)
		if item.Value <= last {
			t.Errorf("%q comes after %q", item.Value, last)
		}
		shown[item.Value], last = item.Count, item.Value
	}
	return shown
}

type valuePage func(context.Context, string, int, ...func(*ranking.Value[string]) bool) (kvmodel.Listing[ranking.Value[string]], error)

func pagesOf(page valuePage, n int) func(yield func(*ranking.Value[string], error) bool) {
	return func(yield func(*ranking.Value[string], error) bool) {
		for cursor := ""; ; {
			l, err := page(ctx, cursor, n)
			for _, item := range l.Items {
				if !yield(item, nil) {
					return
				}
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if cursor = l.Next; cursor == "" {
				return
			}
		}
	}
}

func checkValues(t *testing.T, p *posts) {
	t.Helper()
	wantValues(t, p, countsOf(t, p))
}

func wantValues(t *testing.T, p *posts, want used) {
	t.Helper()
	v := p.ByTags.Values
	for name, got := range map[string]used{"Page": byUse(t, p, 3), "Words": inOrder(t, p, 3), "All": {}} {
		if name == "All" {
			for item, err := range v.All(ctx) {
				must(t, err)
				got[item.Value] = item.Count
			}
		}
		proof.NoDiff(t, diffs.Diff(want, got), "%s", name)
	}
	if n, err := v.Len(ctx); err != nil || n != len(want) {
		t.Errorf("there are %d values, %v; want %d", n, err, len(want))
	}
	for _, tag := range append(slices.Sorted(maps.Keys(want)), "nobody's", "") {
		n, err := v.Count(ctx, tag)
		has, err2 := v.Has(ctx, tag)
		if n != want[tag] || has != (n > 0) || cmp.Or(err, err2) != nil {
			t.Errorf("%q has %d records, %v, %v, %v; want %d", tag, n, has, err, err2, want[tag])
		}
	}
}
