package costs

import (
	"context"
	"fmt"

	"github.com/ringtree/ringtree/examples/conduit"
	"github.com/ringtree/ringtree/examples/conduit/tour"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

type AppRow struct {
	tour.Call
	Costs [3]tour.Cost
}

func MeasureApp(ctx context.Context) (rows []AppRow, err error) {
	for k, kind := range kinds {
		clock := new(tour.Clock)
		mem := memkv.New(memkv.Options{Now: clock.Now, Local: true})
		db, err := kvmodel.Open(tour.Committing{Store: kind.of(mem)}, kvmodel.Clock(clock.Now))
		if err != nil {
			return nil, err
		}
		calls, err := tour.Calls(ctx, conduit.NewApp(db, conduit.Options{Passes: 1}))
		if err != nil {
			return nil, err
		}
		for i, call := range calls {
			if k == 0 {
				rows = append(rows, AppRow{Call: call})
			}
			if rows[i].Costs[k], err = tour.Measure(ctx, call, db, clock); err != nil {
				return nil, fmt.Errorf("%s on %s: %w", call.Endpoint, kind.name, err)
			}
		}
		leave(ctx, db)
	}
	return rows, nil
}

// leave ends the background work of db, which would wait for a time that never comes: the clock
// stands still.
func leave(ctx context.Context, db *kvmodel.DB) {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	_ = db.Close(ctx)
}
