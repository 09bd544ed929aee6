package enumeration

import (
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
)

// Ids that are acknowledged must be in, in a chunk that its head names and no one overwrites.
func TestFaults_OfAStoreAreNoticed(t *testing.T) {
	proof.Notices(t, "TestSweep_AWalkHasEveryRecordOrSaysThatSomeAreLost", "blind add all:", "lost append all:")
	proof.Notices(t, "TestSweep_PutMissing_AddsEachIDOnce", "blind cas all:")
}
