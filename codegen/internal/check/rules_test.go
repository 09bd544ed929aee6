package check

import (
	"go/token"
	"go/types"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/go/packages"
)

func TestRecordMethods_AreThoseOfRecords(t *testing.T) {
	loaded, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedTypes}, "github.com/ringtree/ringtree/kvmodel")
	if err != nil {
		t.Fatal(err)
	}
	records := loaded[0].Types.Scope().Lookup("Records")
	// The field that a generated type embeds, and one that is to come.
	want := []string{"Records", "History"}
	for m := range types.NewMethodSet(types.NewPointer(records.Type())).Methods() {
		if token.IsExported(m.Obj().Name()) {
			want = append(want, m.Obj().Name())
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(recordMethods))); diff != "" {
		t.Errorf("names that indexes cannot have (-want +got):\n%s", diff)
	}
}
