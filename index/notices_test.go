package index_test

import (
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
)

func TestFaults_OfAStoreAreNoticed(t *testing.T) {
	proof.Notices(t, "TestSweep_AfterACrashAnywhereEveryListIsTheFunctionOfTheRecords", "lost append line:", "lost append l:", "lost incr c:")
	proof.Notices(t, "TestSweep_WhereAChangeIsOneTransactionEveryListIsTheFunctionOfTheRecords", "torn")
	proof.Notices(t, "TestSweep_AfterACrashAnywhereATotalIsTheNumberOfRecords", "lost incr c:")
	proof.Notices(t, "TestSweep_NumbersHaveNoGapAndNoTwoOwners", "blind add r:")
	proof.Notices(t, "TestSweep_Children_NoneIsLeftOfADeletedRecordAndNoneElseGoes", "lost append l:", "lost append line:")
}
