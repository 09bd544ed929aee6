package kvsession_test

import (
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
)

// A session is swapped, its user's list leads to it, and a generation ends earlier ones.
func TestFaults_OfAStoreAreNoticed(t *testing.T) {
	proof.Notices(t, "TestSweep_Regenerate_IsWholeOrNothingOnAServer", "blind cas session:")
	proof.Notices(t, "TestSweep_RevokeAll_LeavesNothingThatWasBeingRenewed", "lost append sessions:")
	proof.Notices(t, "TestSweep_Save_WhatWasAcknowledgedStaysUntilTheSessionEnds", "blind cas session:")
	proof.Notices(t, "TestSweep_SignInIf_WithAnOldPasswordDoesNotOutliveRevokeAllOnAServer", "lost set generation:")
	proof.Notices(t, "TestSweep_SignIn_OfADoubleClickOneCounts", "blind cas session:")
}
