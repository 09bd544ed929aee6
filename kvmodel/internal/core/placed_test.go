package core

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// counting is an index whose places name the record, here a number, and the number of calls so far.
type counting struct {
	plug.Index
	asked *int
}

func (c counting) Places(v plug.Record) []string {
	*c.asked++
	return []string{fmt.Sprintf("%v, asked %d", v, *c.asked)}
}

func TestPlaced_PlacesAreThoseOfTheRecordWithItsCounters(t *testing.T) {
	asked := 0
	p := &Placed{Index: counting{asked: &asked}, At: 1}
	kept := &keptRecord{places: make([]atomic.Pointer[keptPlaces], 2)}
	at := func(counter kv.Version, decoded any) []kv.Result {
		return []kv.Result{{Decoded: decoded, Version: 7}, {Version: counter}}
	}
	for _, c := range []struct {
		what    string
		v       int
		results []kv.Result
		want    string
	}{
		{"the first look", 1, at(3, kept), "1, asked 1"},
		{"the same", 1, at(3, kept), "1, asked 1"},
		{"another number of its counter", 2, at(4, kept), "2, asked 2"},
		{"no counter any more", 0, at(0, kept), "0, asked 3"},
		{"the same again", 0, at(0, kept), "0, asked 3"},
		{"a record that is not kept", 0, at(0, nil), "0, asked 4"},
		{"one that was kept before the index was there", 0, at(0, new(keptRecord)), "0, asked 5"},
	} {
		if diff := cmp.Diff([]string{c.want}, p.places(c.v, c.results)); diff != "" {
			t.Errorf("%s: mismatch (-want +got):\n%s", c.what, diff)
		}
	}
}

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

func TestUncleaned_RemembersSoManyRecordsAndNoMore(t *testing.T) {
	var u uncleaned
	for i := range 3 * maxUncleaned {
		u.Note(fmt.Sprint(i), uint64(i))
	}
	if len(u.revs) != maxUncleaned {
		t.Errorf("%d records are remembered, want %d", len(u.revs), maxUncleaned)
	}
	last := fmt.Sprint(3*maxUncleaned - 1)
	if got := u.Past(last); got != 3*maxUncleaned-1 {
		t.Errorf("the rev of the last is %d", got)
	}
	for i := range 3 * maxUncleaned {
		u.Forget(fmt.Sprint(i)) // Most are forgotten already.
	}
	if len(u.revs) != 0 || u.Past(last) != 0 {
		t.Errorf("%d records are left", len(u.revs))
	}
}
