package memberlog

import (
	"context"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Extent is the size of a list according to its head.
type Extent struct {
	Head    int // in bytes; 0: there is none
	Members int // when its segments were created
}

// Extents returns the sizes of the lists at places, in one trip.
func (l *Logs) Extents(ctx context.Context, s kv.Store, places []string) ([]Extent, error) {
	keys := make([]string, len(places))
	for i, place := range places {
		keys[i] = l.Key(place)
	}
	results, err := kv.GetAll(ctx, s, keys...)
	if err != nil {
		return nil, err
	}
	all := make([]Extent, len(places))
	for i, r := range results {
		h, err := l.decodeHead(places[i], r)
		if err != nil {
			return nil, err
		}
		all[i].Head = len(r.Value)
		for _, p := range h.parts {
			all[i].Members += p.members
		}
	}
	return all, nil
}
