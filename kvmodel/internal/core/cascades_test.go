package core

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/times"
)

// A cascade that another process has ended is tried here no more, and no journal names it.
func TestCascades_OneThatAnotherProcessHasEndedIsForgotten(t *testing.T) {
	began := time.Now()
	late := began.Add(times.Cascade)
	var c cascades
	c.Count("Topic", "ended", 3, began)
	c.Count("Topic", "named", 2, began)
	c.Count("Topic", "tried", 1, began)
	c.Count("Topic", "tried", 0, late)
	c.Keep(late, func(_, id string) bool { return id == "named" })
	want := []Cascade{{Model: "Topic", ID: "named", Deleted: 2}, {Model: "Topic", ID: "tried", Deleted: 1}}
	if diff := cmp.Diff(want, c.Now()); diff != "" {
		t.Errorf("cascades mismatch (-want +got):\n%s", diff)
	}
}
