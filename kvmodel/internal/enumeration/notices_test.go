package enumeration

import (
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
)

// Acknowledged ids must be in a segment that the head names and no one overwrites.
func TestFaults_OfAStoreAreNoticed(t *testing.T) {
	proof.Notices(t, "TestSweep_AWalkHasEveryRecordOrSaysThatSomeAreLost", "blind cas ids:", "lost append ids:")
	proof.Notices(t, "TestSweep_AWalkHasEveryRecordOrSaysThatSomeAreLostOnAServer", "blind append ids:")
}
