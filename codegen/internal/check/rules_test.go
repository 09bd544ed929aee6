package check

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/kvmodel"
)

func TestRecordMethods_AreThoseOfRecords(t *testing.T) {
	// The field that a generated type embeds, and one that is to come.
	want := []string{"Records", "History"}
	for m := range reflect.TypeFor[*kvmodel.Records[struct{}, string]]().Methods() {
		want = append(want, m.Name)
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(recordMethods))); diff != "" {
		t.Errorf("names that indexes cannot have (-want +got):\n%s", diff)
	}
}
