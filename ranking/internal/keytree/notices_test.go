package keytree

import (
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
)

func TestFaults_OfAStoreAreNoticed(t *testing.T) {
	proof.Notices(t, "TestSweep_AfterCrashesAnywhereNoMemberIsMissing", "blind cas rank:", "blind add rank:", "lost add rank:")
	proof.Notices(t, "TestSweep_AfterWritersAtTheSameTimeAllCountsOfASmallTreeAreExact", "blind cas rank:")
}
