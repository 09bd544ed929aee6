package index_test

import (
	"math"
	"runtime"
	"testing"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

type follow struct {
	User  uint64
	Topic uint64
}

type followID struct{ User, Topic uint64 }

type follows struct {
	*kvmodel.Records[follow, followID]
	ByTopic *index.Lists[follow, followID, uint64]
}

func newFollows(db *kvmodel.DB) *follows {
	number := kvmodel.UintKey[uint64]()
	r := kvmodel.NewRecords(db, kvmodel.Schema[follow, followID]{
		Name: "Follow", Version: 1,
		ID:    func(v *follow) followID { return followID(*v) },
		SetID: func(v *follow, id followID) { *v = follow(id) },
		Key: kvmodel.Key2(number, number, func(id followID) (uint64, uint64) { return id.User, id.Topic },
			func(user, topic uint64) followID { return followID{user, topic} }),
		Codec: asJSON[follow]{},
	})
	return &follows{r, index.NewLists(r, kvmodel.IndexSpec[follow, uint64]{
		Name: "ByTopic", Def: "list Topic uint64", Fields: []string{"Topic"}, Key: number,
		Values: func(v *follow) []uint64 { return []uint64{v.Topic} },
	})}
}

// followed returns a list of a thousand members in one segment that was never folded.
func followed(t testing.TB) *follows {
	t.Helper()
	db := closing(t, open(t, server{memkv.New(memkv.Options{})}))
	fs := newFollows(db)
	for user := range uint64(1000) {
		must(t, fs.Create(t.Context(), &follow{User: 100_000 + 7*user, Topic: 1}))
	}
	must(t, db.Flush(t.Context()))
	return fs
}

func (fs *follows) reads(t testing.TB) map[string]func() {
	list := fs.ByTopic.Of(1)
	return map[string]func(){
		"IDs": func() {
			n := 0
			for _, err := range list.IDs(t.Context()) {
				if err == nil {
					n++
				}
			}
			if n != 1000 {
				t.Fatal(n)
			}
		},
		"Count": func() {
			if n, err := list.Count(t.Context()); err != nil || n != 1000 {
				t.Fatal(n, err)
			}
		},
		"Page": func() {
			if l, err := list.Page(t.Context(), "", 20); err != nil || len(l.Items) != 20 {
				t.Fatal(len(l.Items), err)
			}
		},
	}
}

// A page reads twenty records, too.
func TestList_ReadingAThousandMembersTakesFewAllocationsAndBytes(t *testing.T) {
	fs := followed(t)
	for name, most := range map[string]struct{ allocs, bytes float64 }{
		"IDs":   {20, 125_000},
		"Count": {20, 125_000},
		"Page":  {400, 145_000},
	} {
		read := fs.reads(t)[name]
		read()
		allocs, bytes := leastPerRun(50, read)
		t.Logf("%s: %.0f allocations, %.0f bytes", name, allocs, bytes)
		if allocs > most.allocs || bytes > most.bytes {
			t.Errorf("%s takes %.0f allocations and %.0f bytes, want at most %.0f and %.0f", name, allocs, bytes, most.allocs, most.bytes)
		}
	}
}

// leastPerRun returns the fewest allocations and bytes of a run, since other goroutines may
// allocate.
func leastPerRun(runs int, f func()) (allocs, bytes float64) {
	var before, after runtime.MemStats
	fewest, least := uint64(math.MaxUint64), uint64(math.MaxUint64)
	for range runs {
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		fewest = min(fewest, after.Mallocs-before.Mallocs)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	return float64(fewest), float64(least)
}
