package main

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// cost returns what work asks of the databases and counted stores it calls.
func (b *bench) cost(work func(context.Context) error) (kvmodel.Cost, error) {
	ctx, meter := kvmodel.Metered(b.ctx)
	err := work(ctx)
	return meter.Cost(), err
}

// spread is what several calls cost.
type spread struct {
	calls     int
	sum, most kvmodel.Cost // of trips, keys and bytes read
}

func (s *spread) add(c kvmodel.Cost) {
	s.calls++
	s.sum.Trips, s.sum.Keys, s.sum.Read = s.sum.Trips+c.Trips, s.sum.Keys+c.Keys, s.sum.Read+c.Read
	s.most.Trips, s.most.Read = max(s.most.Trips, c.Trips), max(s.most.Read, c.Read)
}

// mean returns the share of a call in sum.
func (s *spread) mean(sum int) float64 { return float64(sum) / float64(max(s.calls, 1)) }

// addTo adds what work costs to s.
func (b *bench) addTo(s *spread, work func(context.Context) error) error {
	c, err := b.cost(work)
	s.add(c)
	return err
}

// allocs returns how many allocations a call of f costs on average.
func allocs(f func() error) (float64, error) {
	var failed error
	n := testing.AllocsPerRun(1000, func() { failed = cmp.Or(failed, f()) })
	return n, failed
}

// turns is how often each of two things is measured.
const turns = 15

// compare measures ours and theirs in turns, and returns the median ratio of their
// times: above 1, ours is faster. Both run once before, so that connections are open
// and caches warm.
func compare(ours, theirs func() error) (float64, error) { return compareFor(turns, ours, theirs) }

// compareFor is compare with that many turns, for what takes long.
func compareFor(turns int, ours, theirs func() error) (float64, error) {
	if _, err := timeBoth(ours, theirs); err != nil {
		return 0, err
	}
	var ratios []float64
	for turn := range turns {
		first, second := ours, theirs
		if turn%2 == 1 {
			first, second = theirs, ours
		}
		took, err := timeBoth(first, second)
		if err != nil {
			return 0, err
		}
		if turn%2 == 1 {
			took[0], took[1] = took[1], took[0]
		}
		ratios = append(ratios, float64(took[1])/float64(took[0]))
	}
	return median(ratios), nil
}

// timed is how often a function that takes nanoseconds is called to be timed.
const timed = 1000

// duration returns how long f takes, the median of many turns.
func duration(f func() error) (time.Duration, error) {
	var took []time.Duration
	for range turns {
		start := time.Now()
		if err := f(); err != nil {
			return 0, err
		}
		took = append(took, time.Since(start))
	}
	return median(took), nil
}

// repeated returns a function that calls f so often that it can be timed.
func repeated(f func() error) func() error {
	return func() error { return repeat(timed, f) }
}

// repeat calls f that many times, or until it fails.
func repeat(times int, f func() error) error {
	for range times {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// faster reports how many times as fast as theirs ours is.
func (b *bench) faster(name string, t target, ours, theirs func() error) error {
	ratio, err := compare(ours, theirs)
	if err == nil {
		b.report(name, ratio, t.ratio())
	}
	return err
}

func timeBoth(first, second func() error) (took [2]time.Duration, err error) {
	for i, f := range []func() error{first, second} {
		start := time.Now()
		if err := f(); err != nil {
			return took, err
		}
		took[i] = time.Since(start)
	}
	return took, nil
}

func median[T cmp.Ordered](values []T) T { return quantile(values, 0.5) }

// quantile returns the value that the given part of values is below.
func quantile[T cmp.Ordered](values []T, part float64) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[int(part*float64(len(sorted)))]
}

// together has that many clients call f in turns, calls times in all, and
// returns the first error. Each client has its own number.
func together(clients, calls int, f func(client, call int) error) error {
	errs := make([]error, clients)
	var running sync.WaitGroup
	for client := range clients {
		running.Go(func() {
			for call := client; call < calls && errs[client] == nil; call += clients {
				errs[client] = f(client, call)
			}
		})
	}
	running.Wait()
	return cmp.Or(errs...)
}

// byClients returns a function that does what together does.
func byClients(clients, calls int, f func(client, call int) error) func() error {
	return func() error { return together(clients, calls, f) }
}

// count returns how many of values are meant.
func count[T any](values iter.Seq[T], meant func(T) bool) int {
	n := 0
	for v := range values {
		if meant(v) {
			n++
		}
	}
	return n
}

// counting returns s, and how many of the ops that it has been asked for are meant.
func counting(s kvmodel.Store, meant func(kv.Op) bool) (kvmodel.Store, *atomic.Int64) {
	n := new(atomic.Int64)
	return kvmodel.Trace(s, func(_ context.Context, trip kvmodel.Trip) {
		n.Add(int64(count(slices.Values(trip.Ops), meant)))
	}), n
}
