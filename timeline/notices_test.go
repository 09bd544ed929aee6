package timeline

import (
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
)

func TestFaults_OfAStoreAreNoticed(t *testing.T) {
	proof.Notices(t, "TestSweep_Lane_NothingIsLostAndNoPageHasAHole", "blind add t:", "lost append t:", "lost incr t:")
	proof.Notices(t, "TestSweep_Lane_ASleeperClobbersNothing", "blind cas t:")
	proof.Notices(t, "TestSweep_Events_WhatWasAcknowledgedStaysAmongTheLast", "blind cas e:", "lost append e:")
	proof.Notices(t, "TestSweep_Records_InATransaction", "lost add t:")
	proof.Notices(t, "TestSweep_Records_AfterACrashAnywhereTheTimelineIsTheFunctionOfTheRecords", "lost append t:", "lost add t:")
	proof.Notices(t, "TestSweep_Records_InAnyOrderOfATrip", "lost append t:")
	proof.Notices(t, "TestSweep_Records_WithoutACrashAProcessCleansUpItself", "lost append t:")
	proof.Notices(t, "TestSweep_Build_SeveralAtATimeHideNothing", "lost append t:")
	if proof.Long() { // these take a second or more each
		proof.Notices(t, "TestSweep_Records_InATransaction", "lost incr t:")
		proof.Notices(t, "TestSweep_Records_WithoutACrashAProcessCleansUpItself", "blind add t:")
		proof.Notices(t, "TestSweep_Several_EachRecordStandsOnceInEachOfItsRings", "lost append t:")
		proof.Notices(t, "TestSweep_Feed_EveryFollowerGetsEveryPageAfterACrashAnywhere", "lost append line:")
	}
}
