package inspect_test

import (
	"strings"
	"testing"

	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func TestDoctor_NamesARecordThatComesNearTheLimit(t *testing.T) {
	for bytes, want := range map[int]kv.Finding{
		1:         kv.Find(kv.Fine, "tags fit the data"),
		600 << 10: kv.Find(kv.Hurts, "Note: a record has 600 KB of at most 1016 KB; move its largest field to a model of its own"),
	} {
		mem := memkv.New(memkv.Options{})
		db := open(t, shared(mem))
		must(t, bareNotes(db).Create(t.Context(), &note{ID: "n1", Title: strings.Repeat("x", bytes)}))
		must(t, db.Close(t.Context()))
		db = open(t, shared(mem), kvmodel.ReadOnly())
		bareNotes(db)
		said, err := inspect.New(db).Doctor(t.Context())
		must(t, err)
		must(t, db.Close(t.Context()))
		if last := said[len(said)-1]; last != want {
			t.Errorf("it says %v", said)
		}
	}
}
