package index

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ringtree/ringtree/internal/memberlog"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

var _ plug.Fitter = listWindow{}

const (
	// members read to measure the rate of arrivals, of which fittedRun consecutive ones are
	// compared
	fittedMembers = 100
	fittedRun     = 10

	// members per second that one segment easily takes
	oneSegment = 10
)

// Tests make it smaller.
var largeHead = kv.MaxValue / 2

// Fit judges the largest list of some records: whether it is near its limit, and whether its write
// rate justifies hot=.
func (l listWindow) Fit(ctx context.Context, s kv.Store, some []plug.Standing, _ time.Duration) (unfit []string, err error) {
	if l.total != nil || len(some) == 0 {
		return nil, nil
	}
	var bases []string
	for _, at := range some {
		if base := l.logs.Key(at.Place); !slices.Contains(bases, base) {
			bases = append(bases, base)
		}
	}
	logs := l.bare()
	all, err := logs.Extents(ctx, s, bases)
	if err != nil {
		return nil, err
	}
	most := 0
	for i := range all {
		if all[i].Members > all[most].Members {
			most = i
		}
	}
	unfit = nearLimit(all[most])
	if l.logs.Hot == 0 {
		return unfit, nil
	}
	w, err := logs.After(ctx, s, bases[most], nil, fittedMembers)
	if err != nil {
		return nil, err
	}
	var revs []uint64
	for i := range w.Members {
		revs = append(revs, w.Members[i].Rev)
	}
	// these are a random part, so the others arrived at the same rate
	part := float64(max(all[most].Members, len(revs))) / float64(max(len(revs), 1))
	if rate := part * fastest(revs); rate < oneSegment {
		unfit = append(unfit, fmt.Sprintf("hot=%d is for hundreds of writers, but the largest list checked got at most %.2g members a second; without hot= a page reads fewer keys", 1<<l.logs.Hot, rate))
	}
	return unfit, nil
}

func nearLimit(e memberlog.Extent) []string {
	if e.Head <= largeHead {
		return nil
	}
	return []string{fmt.Sprintf("a list of about %d members has a head of %d KB, of at most %d KB; list=Group with a second field divides it", e.Members, e.Head>>10, kv.MaxValue>>10)}
}

// Revs begin as milliseconds.
func fastest(revs []uint64) (rate float64) {
	slices.Sort(revs)
	for i := fittedRun - 1; i < len(revs); i++ {
		took := max(time.Duration(revs[i]-revs[i-fittedRun+1])*time.Millisecond, time.Millisecond)
		rate = max(rate, fittedRun/took.Seconds())
	}
	return rate
}
