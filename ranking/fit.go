package ranking

import (
	"context"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

var _ plug.Fitter = boardWindow{}

const fittedMembers = 8

// Fit warns about ties that make a tree deep, judging by the paths to some members of one board.
func (c boardWindow) Fit(ctx context.Context, s kv.Store, some []plug.Standing, _ time.Duration) ([]string, error) {
	if c.text != nil || c.code != c.code.WithTies() || len(some) == 0 {
		return nil, nil
	}
	at, err := parsePlace(some[0].Place)
	if err != nil {
		return nil, c.failure(err)
	}
	var ids []string
	for _, other := range some {
		if p, err := parsePlace(other.Place); err == nil && p.by == at.by && len(ids) < fittedMembers {
			ids = append(ids, other.ID)
		}
	}
	p, err := c.now(at.by).Picture(ctx, s, 1, ids)
	if err != nil || p.Root == nil {
		return nil, c.failure(err)
	}
	way := 0
	for _, leaf := range p.Leaves {
		way = max(way, 1+(len(leaf)-len(p.Root.Name))/2) // A level takes two characters.
	}
	if way < longWay {
		return nil, nil
	}
	return []string{fmt.Sprintf("paths have %d nodes, because records with one score were created close together; ties=shared and a build shorten them", way)}, nil
}
