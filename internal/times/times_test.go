package times_test

import (
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/times"
)

func TestTimes_KeepTheirOrder(t *testing.T) {
	for _, c := range []struct {
		less, more time.Duration
		why        string
	}{
		{times.Settled, times.Overdue, "a leftover is no entry of a change that may commit"},
		{times.Overdue, times.Late, "what was sent late is cleaned after what was sent in time"},
		{times.Late, times.Forget, "a tombstone names its places in the second repair"},
		{times.Forget, times.Tombstone, "a tombstone outlives the places it names"},
		{times.Definition + times.Change, times.Lease, "a rebuild of a tree is not taken over in its waits"},
		{times.Head, times.Leaves, "nobody reads an index that is taken out after it may go"},
		{times.Tick + times.Travel, times.Gap, "a slow tick is not a gap"},
		{times.Gap + times.Travel, times.Dead, "a process knows that it may count as dead before it does"},
		{times.Dead, 2 * times.Look, "the second look without a tick finds a process dead"},
		{times.Late + 2*times.Dead, times.Tombstone, "a repair meets the tombstones of the changes it finishes"},
		{times.Dead + times.Look, times.Repair, "every process looks while a repaired journal stays"},
		{times.Dead + times.Look, times.Cascade, "a cascade whose process died is taken up before it counts as ended"},
		{2 * times.Beat, times.Silent, "a build that misses one beat is not taken over"},
		{times.Run, times.Turn, "a call in the background ends within its turn"},
		{times.Change + times.Dead + times.Look, times.Renewed, "an end is renewed before it comes, also if its process dies"},
		{times.Overdue, times.Ended, "an expired record outlives the entries of its changes"},
		{times.Ended, times.Ahead, "the rev of a lost record exceeds all it may have had"},
	} {
		if c.less >= c.more {
			t.Errorf("%v is not less than %v: %s", c.less, c.more, c.why)
		}
	}
}
