package built

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Where a length has changed, other texts may be read and none of them be a seal.
func TestUnseal_MendsALengthWhereverThatEnds(t *testing.T) {
	for size := range 150 {
		texts := []string{strings.Repeat("b", 26), strings.Repeat("x", size)}
		data := sealed(texts)
		for bit := range 8 {
			changed := slices.Clone(data)
			changed[0] ^= 1 << bit
			got, err := unseal(changed)
			if diff := cmp.Diff(texts, got); diff != "" || err != nil {
				t.Errorf("with %d bytes, bit %d: %v (-want +got)\n%s", size, bit, err, diff)
			}
		}
	}
}
