package timeline

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

var _ plug.Fitter = ringWindow{}

const (
	shortest = time.Hour           // that a ring should reach back
	month    = 30 * 24 * time.Hour // time to fill up a ring

	// a ring is too large if less than 1/usedPart is in use
	usedPart = 100

	fittedLanes   = 4   // shards of an owner to sample
	fittedEntries = 64  // in each
	oneRing       = 100 // entries per second that one ring takes easily
)

// Fit judges by the busiest of some owners.
func (c ringWindow) Fit(ctx context.Context, s kv.Store, some []plug.Standing, age time.Duration) (unfit []string, err error) {
	lanes, err := c.busiest(ctx, s, some)
	if err != nil {
		return nil, c.failure(err)
	}
	var seen []glimpse
	for _, l := range lanes[:min(fittedLanes, len(lanes))] {
		g, err := l.glimpse(ctx, s)
		if err != nil {
			return nil, c.failure(err)
		}
		seen = append(seen, g)
	}
	if len(seen) == 0 {
		return nil, nil
	}
	return slices.Concat(c.unfitSize(seen[0], age), c.unfitShards(seen)), nil
}

func (c ringWindow) unfitSize(seen glimpse, age time.Duration) []string {
	size := c.shape.shown
	back := c.host.DB().Now().Sub(seen.oldest)
	switch {
	case seen.full && back < shortest:
		day := math.Log2(float64(size) * (24 * time.Hour).Seconds() / max(back.Seconds(), 1))
		return []string{fmt.Sprintf("its ring of %d goes back %v; ring=%d would go back a day", size, back.Round(time.Second), 1<<min(int(math.Ceil(day)), 30))}
	case size > DefaultSize && !seen.used && age > month:
		return []string{fmt.Sprintf("of its ring of %d less than %d are used after %d days; ring=%d is enough", size, size/usedPart, int(age.Hours()/24), DefaultSize)}
	}
	return nil
}

func (c ringWindow) unfitShards(seen []glimpse) []string {
	rate := 0.0
	for _, g := range seen {
		rate = max(rate, g.rate)
	}
	rate *= float64(c.shards)
	if c.shards == 1 || rate == 0 || rate > oneRing {
		return nil
	}
	return []string{fmt.Sprintf("its %d shards get %.2g entries a second, which one ring can take; with shards=1 and a build, a page reads fewer keys", c.shards, rate)}
}

func (c ringWindow) busiest(ctx context.Context, s kv.Store, some []plug.Standing) (lanes []*lane, err error) {
	most := int64(0)
	met := make(map[string]bool)
	for _, at := range some {
		owner := ownerOf(at.Place)
		if met[owner] {
			continue
		}
		met[owner] = true
		of := c.lanesOf(owner)
		keys := make([]string, len(of))
		for i, l := range of {
			keys[i] = l.counterKey()
		}
		results, err := kv.GetAll(ctx, s, keys...)
		if err != nil {
			return nil, err
		}
		given := int64(0)
		for _, r := range results {
			n := max(numberIn(r), 0)
			given += n - begun(n)
		}
		if given > most {
			most, lanes = given, of
		}
	}
	return lanes, nil
}

func begun(n int64) int64 {
	if d := dawn(era(n)); n >= d {
		return d
	}
	return 0
}

type glimpse struct {
	oldest time.Time // if full
	full   bool      // all numbers are in use
	used   bool      // 1/usedPart of them are
	rate   float64   // newest entries per second; 0: unknown
}

// glimpse reads the newest segments of l, those at the end of its ring, and one in between.
func (l *lane) glimpse(ctx context.Context, s kv.Store) (seen glimpse, err error) {
	top, _, err := l.readCounter(ctx, s)
	if err != nil || top < 1 {
		return seen, err
	}
	g := l.shape
	end, part := g.firstShown(top), top-g.shown/usedPart
	blocks := []int64{g.block(end), g.block(end) + 1, g.block(max(part, 0))}
	for b := g.block(max(top-fittedEntries, 0)); b <= g.block(top); b++ {
		blocks = append(blocks, b)
	}
	all, err := l.entriesOf(ctx, s, blocks)
	if err != nil {
		return seen, err
	}
	for _, e := range all {
		seen.used = seen.used || e.stamp <= part
		if at := time.UnixMilli(e.at); end > 1 && e.stamp >= end && e.stamp < end+2*g.width && (!seen.full || at.Before(seen.oldest)) {
			seen.full, seen.oldest = true, at
		}
	}
	if n := len(all); n > fittedEntries/2 {
		newest := all[max(n-fittedEntries, 0):]
		took := time.Duration(newest[len(newest)-1].at-newest[0].at) * time.Millisecond
		seen.rate = float64(len(newest)) / max(took, time.Millisecond).Seconds()
	}
	return seen, nil
}

func (l *lane) entriesOf(ctx context.Context, s kv.Store, blocks []int64) (all []entry, err error) {
	g := l.shape
	var keys []string
	slices.Sort(blocks)
	blocks = slices.Compact(blocks)
	for _, b := range blocks {
		keys = append(keys, l.key(g.segment(b)))
	}
	results, err := kv.GetAll(ctx, s, keys...)
	if err != nil {
		return nil, err
	}
	for i, b := range blocks {
		seg, err := l.decode(g.segment(b), keys[i], results[i])
		if err != nil {
			return nil, err
		}
		for _, e := range seg.entries {
			if g.block(e.stamp) == b {
				all = append(all, e)
			}
		}
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(a.stamp, b.stamp) })
	return all, nil
}
