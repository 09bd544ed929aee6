package ranking_test

import (
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
)

// Boards rest on the nodes of their trees, which are kept once a change is answered.
func TestFaults_OfAStoreAreNoticed(t *testing.T) {
	proof.Notices(t, "TestSweep_InAContestEveryNumberIsThatOfTheRecords", "lost cas rank:")
	proof.Notices(t, "TestSweep_ATransactionIsWholeOrNothing", "torn")
}
