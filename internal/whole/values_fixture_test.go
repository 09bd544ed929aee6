package whole_test

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"testing"

	diffs "github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
)

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

type inJSON[T any] struct{}

func (inJSON[T]) Append(dst []byte, v *T) ([]byte, error) {
	b, err := json.Marshal(v)
	return append(dst, b...), err
}

func (inJSON[T]) Unmarshal(data []byte, v *T) (bool, error) { return false, json.Unmarshal(data, v) }

func (inJSON[T]) Merge(_, next []byte) ([]byte, error) { return next, nil }

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
		if diff := diffs.Diff(want, got); diff != "" {
			t.Errorf("%s: mismatch (-want +got):\n%s", name, diff)
		}
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
