package built

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRing_IsReadAsItWasWritten(t *testing.T) {
	for text, want := range map[string]Ring{
		"Newest 20x4":      {Shapes: []string{"20x4"}},
		"Newest 20x4 48x8": {Shapes: []string{"20x4", "48x8"}},
		"Newest 20x4 48x8 coming 0123456789ABCDEF": {Shapes: []string{"20x4", "48x8"}, coming: "0123456789ABCDEF"},
	} {
		name, got, ok := decodeRing(text)
		if d := cmp.Diff(want, got, cmp.AllowUnexported(Ring{})); d != "" || name != "Newest" || !ok {
			t.Errorf("%s is of %s, %v: mismatch (-want +got):\n%s", text, name, ok, d)
		}
		if got := got.encode(name); got != saysRing+text {
			t.Errorf("%s is written as %q", text, got)
		}
	}
	for _, text := range []string{"", "Newest", "Newest 20", "Newest 20x", "Newest 0x4", "Newest 20x-4", "Newest 20x4 coming X"} {
		if name, r, ok := decodeRing(text); ok {
			t.Errorf("%q is %v of %q, want a failure", text, r, name)
		}
	}
}
