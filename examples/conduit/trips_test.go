package conduit_test

import (
	"cmp"
	"testing"

	"github.com/ringtree/ringtree/examples/conduit"
	"github.com/ringtree/ringtree/examples/conduit/tour"
	"github.com/ringtree/ringtree/kvmodel"
)

func TestTrips_AChangeIsOneCommitOfTheFile(t *testing.T) {
	s := storeAt(t, onBolt(t))
	eachCall(t, tour.Committing{Store: s}, func(t *testing.T, call tour.Call, c tour.Cost) {
		want := 1
		if call.Reads {
			want = 0
		}
		if most := cmp.Or(call.New, call.Most); c.Commits != want || c.New.Trips > most {
			t.Errorf("%d commits and %d trips; want %d and at most %d", c.Commits, c.New.Trips, want, most)
		}
	})
}

func eachCall(t *testing.T, s kvmodel.Store, f func(t *testing.T, call tour.Call, c tour.Cost)) {
	t.Helper()
	clock := new(tour.Clock)
	db := open(t, s, clock)
	calls, err := tour.Calls(t.Context(), conduit.NewApp(db, conduit.Options{Passes: 1}))
	must(t, err)
	for _, call := range calls {
		c, err := tour.Measure(t.Context(), call, db, clock)
		must(t, err)
		t.Run(call.Endpoint+" "+call.With, func(t *testing.T) { f(t, call, c) })
	}
}
