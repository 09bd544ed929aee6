package build

import (
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
)

// A build changes its owner by a swap, and what counts as reached was entered.
func TestFaults_OfAStoreAreNoticed(t *testing.T) {
	proof.Notices(t, "TestModels_ABuildIsTakenOverWithWhatWasEntered", "blind cas build:", "lost set entry:")
}
