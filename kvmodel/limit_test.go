package kvmodel_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
	"github.com/ringtree/ringtree/timeline"
)

func words(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "w%d ", i)
	}
	return b.String()
}

// wordIndexes add an index over the words of notes to a model. Each takes a limit (0 for the
// default), a condition, and a key that records its calls.
var wordIndexes = map[string]func(all *notes, limit int, holds func(*note) bool, key kvmodel.KeyOf[string]){
	"list": func(all *notes, limit int, holds func(*note) bool, key kvmodel.KeyOf[string]) {
		index.NewLists(all, wordSpec(limit, holds, key))
	},
	"unique": func(all *notes, limit int, holds func(*note) bool, key kvmodel.KeyOf[string]) {
		index.NewUnique(all, wordSpec(limit, holds, key))
	},
	"timeline": func(all *notes, limit int, holds func(*note) bool, key kvmodel.KeyOf[string]) {
		timeline.NewRings(all, timeline.Spec[note]{Name: "X", Def: "x", If: holds, Shape: timeline.Shape{Size: 8, Segment: 4}}, byWord(limit, key))
	},
	"ranking": func(all *notes, limit int, holds func(*note) bool, key kvmodel.KeyOf[string]) {
		ranking.NewBoards(all, ranking.Spec[note, int64]{
			Name: "X", Def: "x", If: holds, Of: ranking.Int[int64](), Score: func(n *note) int64 { return int64(len(n.Code)) },
		}, byWord(limit, key))
	},
}

func wordNotes(index string) kvmodel.Schema[note, string] {
	s := noteSchema()
	if index == "ranking" {
		s.Expires = nil
	}
	return s
}

func wordsOf(n *note) []string { return strings.Fields(n.Text) }

func wordSpec(limit int, holds func(*note) bool, key kvmodel.KeyOf[string]) kvmodel.IndexSpec[note, string] {
	return kvmodel.IndexSpec[note, string]{Name: "X", Def: "x", Fields: []string{"Text"}, Key: key, Values: wordsOf, If: holds, Max: limit}
}

func byWord(limit int, key kvmodel.KeyOf[string]) kvmodel.By[note, string] {
	return kvmodel.By[note, string]{Key: key, Values: wordsOf, Field: "Text", Max: limit}
}

func TestIndex_MoreValuesThanItTakes_AreRefusedBeforeTheyAreLookedAt(t *testing.T) {
	for name, plug := range wordIndexes {
		t.Run(name, func(t *testing.T) {
			store, looked := memkv.New(memkv.Options{}), 0
			key := kvmodel.StringKey[string]()
			text := key.Text
			key.Text = func(s string) string { looked++; return text(s) }
			all := kvmodel.NewRecords(open(t, kv.Count(store)), wordNotes(name))
			plug(all, 0, func(n *note) bool { return n.Code != "trash" }, key)
			for _, n := range []int{1000 + 1, 100_000} {
				_, meter := kv.Metered(t.Context())
				err := all.Create(t.Context(), &note{ID: "n", Text: words(n)})
				wantErr(t, err, kv.ErrTooLarge)
				problems := kvmodel.Problems{"text": fmt.Sprintf("There are %d values; at most 1000 are allowed.", n)}
				wantSame(t, problems, kvmodel.ProblemsOf(err), "mismatch")
				want := fmt.Sprintf("Note \"n\": Text has %d values; an index takes at most 1000", n)
				if err.Error() != want || looked > 0 || meter.Cost().Trips > 0 {
					t.Errorf("%d words: want %q and nothing done, got %q, %d values looked at, cost %v", n, want, err, looked, meter.Cost())
				}
			}
			must(t, all.Create(t.Context(), &note{ID: "n", Text: words(1000)}))
			proof.Ends(t, kv.ErrTooLarge)(all.Update(t.Context(), "n", func(n *note) error { n.Text += " more"; return nil }))
			must(t, all.Create(t.Context(), &note{ID: "t", Code: "trash", Text: words(1000 + 1)}))
			must(t, all.Delete(t.Context(), "n"))
		})
	}
}

// Records stored under a higher limit can be read, touched and deleted, and saved with fewer
// values.
func TestIndex_ALowerLimit_LeavesWhatIsThere(t *testing.T) {
	for name, plug := range wordIndexes {
		t.Run(name, func(t *testing.T) {
			store := memkv.New(memkv.Options{})
			every := func(*note) bool { return true }
			before := kvmodel.NewRecords(open(t, store), wordNotes(name))
			plug(before, 1200, every, kvmodel.StringKey[string]())
			must(t, before.Create(t.Context(), &note{ID: "n", Text: words(1200)}))

			all := kvmodel.NewRecords(open(t, store), wordNotes(name))
			plug(all, 5, every, kvmodel.StringKey[string]())
			got, err := all.Get(t.Context(), "n")
			must(t, err)
			got.Code = "changed"
			wantErr(t, all.Put(t.Context(), got), kv.ErrTooLarge)
			if name != "ranking" {
				must(t, all.Touch(t.Context(), "n", got.Created.AddDate(1, 0, 0)))
			}
			proof.Done(t)(all.Update(t.Context(), "n", func(n *note) error { n.Text = words(5); return nil }))
			must(t, all.Delete(t.Context(), "n"))
		})
	}
}
