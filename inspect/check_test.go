package inspect_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func manyNotes(t *testing.T, db *kvmodel.DB, n int) {
	t.Helper()
	some := make([]*note, n)
	for i := range some {
		some[i] = &note{ID: fmt.Sprintf("n%04d", i), Title: fmt.Sprint("Title ", i), Tags: []string{fmt.Sprint("tag", i%10)}}
	}
	must(t, newNotes(db).CreateMulti(t.Context(), some))
	must(t, db.Flush(t.Context()))
}

func TestCheck_DamageConcernsOnlyTheRecordsThatItHits(t *testing.T) {
	inTime(t, func(t *testing.T) {
		mem := memkv.New(memkv.Options{})
		db := open(t, shared(mem))
		manyNotes(t, db, 300)
		for _, key := range []string{"u:Note:ByTitle:Title%207", "l:Note:ByTags:tag3#0"} {
			if _, err := kv.One(t.Context(), mem, kv.OpSet(key, []byte("?"))); err != nil {
				t.Fatal(key, err)
			}
		}
		r, err := inspect.New(db).Check(t.Context(), inspect.CheckOptions{})
		must(t, err)
		must(t, db.Close(t.Context()))
		got := make(map[string][]string) // by index
		for _, f := range r.Faults {
			if f.ID != "" {
				got[f.Index] = append(got[f.Index], f.ID)
			}
		}
		want := map[string][]string{"ByTitle": {"n0007"}}
		for i := 3; i < 300; i += 10 {
			want["ByTags"] = append(want["ByTags"], fmt.Sprintf("n%04d", i))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

// The key of such a record has a hash in the place of its id.
func TestCheck_ADamagedRecordThatCannotSayItsIDIsNamedByItsKey(t *testing.T) {
	inTime(t, func(t *testing.T) {
		mem := memkv.New(memkv.Options{})
		store := powers{mem, mem.Powers()}
		db := open(t, store)
		r, id := newNotes(db), strings.Repeat("x", 200)
		for _, id := range []string{"n", id, "also " + id} {
			must(t, r.Create(t.Context(), &note{ID: id}))
		}
		key := kv.NewClass("r", 2).Key("Note", id)
		_, err := kv.One(t.Context(), mem, kv.OpSet(key, []byte("?")))
		must(t, err)
		must(t, db.Close(t.Context()))
		for range 2 {
			runIn(t.Context(), on(store, "check")).want(t, 1, "damaged record", key, "2 records")
			runIn(t.Context(), on(store, "check", "--repair", "--yes")).want(t, 1, "damaged record", key)
		}
	})
}
