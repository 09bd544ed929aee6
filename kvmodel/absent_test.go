package kvmodel_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// What a user already did with the items of a page is mostly nothing.
func TestLoad_AllocatesNothingForEachRecordThatIsAbsent(t *testing.T) {
	file, err := boltkv.Open(filepath.Join(t.TempDir(), "absent.db"), boltkv.Options{})
	must(t, err)
	for engine, s := range map[string]kv.Store{"memory": memkv.New(memkv.Options{}), "file": file} {
		r := kvmodel.NewRecords(open(t, s), simpleNotes())
		allocs := func(n int) float64 {
			var ids []string
			for i := range n {
				ids = append(ids, fmt.Sprint("absent", i))
			}
			return testing.AllocsPerRun(50, func() {
				found, err := kvmodel.Load(t.Context(), r, ids, func(id string) string { return id })
				if err != nil || len(found) > 0 {
					t.Error(found, err)
				}
			})
		}
		few, many := allocs(5), allocs(30)
		t.Logf("%s: %v for 5, %v for 30", engine, few, many)
		if many > few+2 {
			t.Errorf("in %s, 30 absent records take %v allocations, and 5 take %v", engine, many, few)
		}
	}
}
