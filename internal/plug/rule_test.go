package plug_test

import (
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/times"
)

func TestJudge_FollowsItsTable(t *testing.T) {
	const young, old = times.Overdue, times.Overdue + 1
	for _, c := range []struct {
		entry, record uint64
		holds         bool
		age           time.Duration
		want          plug.Verdict
	}{
		{7, 7, true, young, plug.Counts},
		{7, 7, true, old, plug.Counts},
		{7, 8, true, young, plug.Counts},
		{7, 8, true, old, plug.Counts},
		{7, 7, false, young, plug.Stale},
		{7, 7, false, old, plug.Stale},
		{7, 8, false, young, plug.Stale},
		{7, 8, false, old, plug.Stale},
		{7, 6, true, young, plug.Pending}, // an earlier version of the record belongs there, too
		{7, 6, false, young, plug.Pending},
		{7, 0, false, young, plug.Pending},
		{7, 6, true, old, plug.Dead},
		{7, 6, false, old, plug.Dead},
		{7, 0, false, old, plug.Dead},
	} {
		if got := plug.Judge(c.entry, c.record, c.holds, c.age); got != c.want {
			t.Errorf("entry at %d, record at %d, holds %v, age %v: %d, want %d", c.entry, c.record, c.holds, c.age, got, c.want)
		}
	}
}

func TestAge_IsKnownWithoutALiveRecord(t *testing.T) {
	at := time.UnixMilli(1_700_000_000_000)
	entry := uint64(at.UnixMilli())
	proof.Equal(t, plug.Age(entry, false, at.Add(time.Hour)), time.Hour, "without a live record")
	proof.Equal(t, plug.Age(entry, true, at.Add(time.Hour)), 0, "with a live record")
	if age := plug.Age(entry, false, at.Add(-time.Hour)); age > 0 {
		t.Errorf("of an entry ahead of the clock: %v", age)
	}
}
