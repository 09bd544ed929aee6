package inspect_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/timeline"
)

type tags struct {
	ring, shards, hot int
}

func (o tags) notes(db *kvmodel.DB) *kvmodel.Records[note, string] {
	r := kvmodel.NewRecords(db, noteSchema())
	timeline.NewRing(r, timeline.Spec[note]{
		Name: "Newest", Def: "timeline Title", Value: func(n *note) string { return n.Title },
		Shape: timeline.Shape{Size: o.ring}, Shards: o.shards,
	})
	index.NewLists(r, kvmodel.IndexSpec[note, string]{
		Name: "ByTags", Def: "list Tags", Fields: []string{"Tags"}, Key: kvmodel.StringKey[string](),
		Values: func(n *note) []string { return n.Tags },
	}, index.Hot(o.hot))
	return r
}

// One note comes every so often, the last one after the silence.
func (o tags) stocked(t *testing.T, n int, every, silence time.Duration, bytes int) *memkv.Store {
	t.Helper()
	mem := memkv.New(memkv.Options{})
	db := open(t, shared(mem))
	all := o.notes(db)
	for i := range n {
		must(t, all.Create(t.Context(), &note{ID: fmt.Sprint("n", i), Title: strings.Repeat("x", bytes) + fmt.Sprint(i), Tags: []string{"sea"}}))
		time.Sleep(every)
	}
	must(t, db.Close(t.Context())) // An open one would look at the store every few seconds.
	time.Sleep(silence)
	db = open(t, shared(mem))
	all = o.notes(db)
	must(t, all.Create(t.Context(), &note{ID: "last", Title: "last", Tags: []string{"sea"}}))
	must(t, db.Close(t.Context()))
	return mem
}

func (o tags) diagnosed(t *testing.T, mem *memkv.Store) (said []kv.Finding, writes int) {
	t.Helper()
	counted := kv.Trace(shared(mem), func(_ context.Context, trip kv.Trip) {
		for i := range trip.Ops {
			if trip.Ops[i].Kind.Writes() {
				writes++
			}
		}
	})
	db := open(t, counted, kvmodel.ReadOnly())
	o.notes(db)
	said, err := inspect.New(db).Doctor(t.Context())
	must(t, err)
	must(t, db.Close(t.Context()))
	return said, writes
}

func TestDoctor_NamesTagsThatDoNotFitWhatIsStored(t *testing.T) {
	const day, month = 24 * time.Hour, 31 * 24 * time.Hour
	for name, c := range map[string]struct {
		tags
		n              int
		every, silence time.Duration
		bytes          int
		is             kv.Verdict
		want           string // of the last finding
	}{
		"what fits":                            {tags{64, 1, 1}, 200, 30 * time.Minute, 0, 1, kv.Fine, "tags fit the data"},
		"a ring of the usual size is not full": {tags{0, 1, 1}, 5, time.Minute, month, 1, kv.Fine, "tags fit the data"},
		"what is younger than a day":           {tags{64, 4, 16}, 200, time.Second, 0, 1, kv.Unknown, "no record is older than a day in Note"},
		"a ring that forgets within the hour":  {tags{64, 1, 1}, 3000, 30 * time.Second, 0, 1, kv.Hurts, "Note.Newest: its ring of 64 goes back 31m30s; ring=4096 would go back a day"},
		"a ring that is hardly used":           {tags{10_000, 1, 1}, 80, time.Minute, month, 1, kv.Hurts, "Note.Newest: of its ring of 10000 less than 100 are used after 31 days; ring=1024 is enough"},
		"shards that no writers need":          {tags{256, 4, 1}, 300, 10 * time.Minute, 0, 1, kv.Hurts, "Note.Newest: its 4 shards get "},
		"shards that are needed":               {tags{256, 4, 1}, 300, 10 * time.Millisecond, day, 1, kv.Fine, "tags fit the data"},
		"a hot list that no writers need":      {tags{64, 1, 16}, 200, 30 * time.Minute, 0, 1, kv.Hurts, "Note.ByTags: hot=16 is for hundreds of writers"},
		"a hot list that is needed":            {tags{64, 1, 16}, 300, 5 * time.Millisecond, day, 1, kv.Fine, "tags fit the data"},
		"a record that comes near the limit":   {tags{64, 1, 1}, 1, 0, day, 600 << 10, kv.Hurts, "Note: a record has 600 KB"},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(t *testing.T) {
				said, writes := c.diagnosed(t, c.stocked(t, c.n, c.every, c.silence, c.bytes))
				last := said[len(said)-1]
				if last.Is != c.is || !strings.Contains(last.Text, c.want) || writes > 0 {
					t.Errorf("%d writes, and it says %v", writes, said)
				}
				for _, f := range said[:len(said)-1] {
					if f.Is == kv.Hurts {
						t.Errorf("besides, it says %v", f)
					}
				}
			})
		})
	}
}
