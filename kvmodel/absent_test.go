package kvmodel_test

import (
	"fmt"
	"testing"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// What a user already did with the items of a page is mostly nothing.
func TestLoad_AllocatesNothingForEachRecordThatIsAbsent(t *testing.T) {
	r := kvmodel.NewRecords(open(t, memkv.New(memkv.Options{})), simpleNotes())
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
	// Room for all of them may grow a time or two.
	if few, many := allocs(5), allocs(30); many > few+2 {
		t.Errorf("30 absent records take %v allocations, and 5 take %v", many, few)
	}
}
