package kvmodel_test

import (
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
)

// The write path relies on claims that are added and dropped, on lines written before the changes
// they announce, and on records that are swapped.
func TestFaults_OfAStoreAreNoticed(t *testing.T) {
	proof.Notices(t, "TestSweep_AfterACrashAnywhereEveryIndexIsTheFunctionOfTheRecords", "lost append line:", "lost cdel u:")
	proof.Notices(t, "TestSweep_ATransactionIsWholeOrNothing", "torn")
	proof.Notices(t, "TestSweep_ARecordThatComesAndGoesKeepsItsClaim", "blind add u:", "blind cas r:", "blind cas procs")
	proof.Notices(t, "TestSweep_ACounterHasTheHitsOfItsOwnRecordAndNoOthers", "lost incr n:")
	proof.Notices(t, "TestSweep_AHistoryHasJustWhatCommitted", "lost append h:", "blind cas h:")
	proof.Notices(t, "TestSweep_AReaderMendsWhatACrashLeavesWithin45Seconds", "lost append line:")
	if proof.Long() { // These take a second or more each.
		proof.Notices(t, "TestSweep_AfterACrashAnywhereEveryIndexIsTheFunctionOfTheRecords", "cut")
		proof.Notices(t, "TestSweep_ATransactionIsWholeOrNothing", "blind cas r:")
		proof.Notices(t, "TestSweep_ACutTripLeavesNothingThatIsShownOrInTheWay", "blind add r:")
		proof.Notices(t, "TestSweep_AnIntentThatHasBegunIsCarriedOutWhole", "lost append line:")
		proof.Notices(t, "TestSweep_ARecordThatComesAndGoesKeepsItsClaim", "blind cdel u:")
	}
}
