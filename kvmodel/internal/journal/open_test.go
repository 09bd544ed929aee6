package journal

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

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
	if err := j.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := [][]string{{"get"}, {"add", "set"}, {"add"}}
	if !slices.EqualFunc(trips, want, slices.Equal) {
		t.Errorf("the ops of each trip are %q, want %q", trips, want)
	}
}
