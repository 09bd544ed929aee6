package ranking_test

import (
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
)

func TestFaults_OfAStoreAreNoticed(t *testing.T) {
	proof.Notices(t, "TestSweep_InAContestEveryNumberIsThatOfTheRecords", "lost cas rank:")
	proof.Notices(t, "TestSweep_ATransactionIsWholeOrNothing", "torn")
}
