package keytree

import (
	"slices"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func TestTree_AQueryMeetsTheEntriesThatAreStaleOrDead(t *testing.T) {
	now := time.Now()
	tree := open(memkv.New(memkv.Options{}), func(c *Config) { c.Now = func() time.Time { return now } })
	at := func(age time.Duration) uint64 { return uint64(now.Add(-age).UnixMilli()) }
	one, two := FromInt(1), FromInt(2)
	for what, c := range map[string]struct {
		e    entry
		st   State
		want []Doubt
	}{
		"it counts":                       {entry{one, 7, "a", false}, State{In: true, Score: one, Ver: 7}, nil},
		"the record has moved":            {entry{one, 7, "a", false}, State{In: true, Score: two, Ver: 7}, []Doubt{{ID: "a", Score: one}}},
		"the record is gone":              {entry{one, 7, "a", false}, State{Ver: 8}, []Doubt{{ID: "a", Score: one}}},
		"it may be about to commit":       {entry{one, at(0), "a", true}, State{}, nil},
		"its change is over":              {entry{one, at(2 * times.Overdue), "a", true}, State{}, []Doubt{{ID: "a", Score: one, Past: at(2 * times.Overdue)}}},
		"its record exists":               {entry{one, at(2 * times.Overdue), "a", true}, State{In: true, Score: two, Ver: 7}, nil},
		"its record is in no ranking":     {entry{one, at(2 * times.Overdue), "a", true}, State{Apart: true, Ver: 7}, nil},
		"it is another member's":          {entry{one, 7, "b", false}, State{Ver: 8}, nil},
		"it counts at an earlier version": {entry{one, at(0), "a", true}, State{In: true, Score: one, Ver: 7}, nil},
	} {
		var got []Doubt
		tree.meet([]entry{c.e}, "a", c.st, true, Want{Met: func(d Doubt) { got = append(got, d) }})
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: met %v, want %v", what, got, c.want)
		}
	}
}
