package numbering_test

import (
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
)

// A number is given by an add.
func TestFaults_OfAStoreAreNoticed(t *testing.T) {
	proof.Notices(t, "TestModels_NumbersHaveNoGapAndNoTwoOwnersInAnyOrder", "blind add n:")
}
