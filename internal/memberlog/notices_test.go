package memberlog

import (
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
)

func TestFaults_OfAStoreAreNoticed(t *testing.T) {
	proof.Notices(t, "TestSweep_NothingIsLostOrComesBackWhereAppendsRespectSeals", "blind add l:", "blind append l:", "blind cas l:")
	proof.Notices(t, "TestSweep_NothingIsLostOrComesBackWhereWritersVerify", "lost append l:")
}
