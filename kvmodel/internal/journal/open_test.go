package journal

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func TestJournal_TheFirstHeadSaysWhereItsProcessRuns(t *testing.T) {
	s, want := memkv.New(memkv.Options{}), Origin{"web-1", 4121, "a3f19c2", time.Unix(1795308910, 0).UTC()}
	j := New(Config{Store: s, Now: time.Now, Origin: want, Shapes: func() []string { return nil }, Begin: unobserved})
	must(t, j.Ready(t.Context()))
	others, err := Others(t.Context(), s, func(string) bool { return false }, nil)
	if err != nil || len(others) != 1 || others[0].Origin != want {
		t.Errorf("want %+v, got %+v, %v", want, others, err)
	}
}

func TestJournal_AProcessReadsBeforeItWrites(t *testing.T) {
	var trips [][]string
	s := kv.Trace(memkv.New(memkv.Options{}), func(_ context.Context, trip kv.Trip) {
		var kinds []string
		for _, op := range trip.Ops {
			kinds = append(kinds, op.Kind.String())
		}
		trips = append(trips, kinds)
	})
	j := New(Config{Store: s, Now: time.Now, Shapes: func() []string { return nil }, Begin: unobserved})
	must(t, j.Ready(t.Context()))
	want := [][]string{{"get"}, {"add", "set"}, {"add"}}
	if !slices.EqualFunc(trips, want, slices.Equal) {
		t.Errorf("the ops of each trip are %q, want %q", trips, want)
	}
}
