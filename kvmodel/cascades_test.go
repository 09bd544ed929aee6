package kvmodel

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
	c.count("Topic", "ended", 3, began)
	c.count("Topic", "named", 2, began)
	c.count("Topic", "tried", 1, began)
	c.count("Topic", "tried", 0, late)
	c.keep(late, func(_, id string) bool { return id == "named" })
	want := []Cascade{{Model: "Topic", ID: "named", Deleted: 2}, {Model: "Topic", ID: "tried", Deleted: 1}}
	if diff := cmp.Diff(want, c.now()); diff != "" {
		t.Errorf("cascades mismatch (-want +got):\n%s", diff)
	}
}
