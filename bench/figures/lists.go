package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

var listFigures = []func(*bench) error{
	listWriters,
	largeLists,
	smallListAllocs,
	creators,
	lastNumbers,
	listSweeps,
}

// topic is the sets of one process, of which one is measured.
type topic struct {
	db *kvmodel.DB
	*index.Set[string]
}

func openTopic(s kvmodel.Store) (*topic, error) {
	db, err := open(s)
	if err != nil {
		return nil, err
	}
	sets := index.NewSets(db, "followers", kvmodel.StringKey[string](), kvmodel.StringKey[string]())
	return &topic{db, sets.Of("topic")}, nil
}

func memberID(i int) string { return fmt.Sprintf("m%025d", i) }

const (
	listClients   = 100
	listProcesses = 4
	windows       = 10

	// entryBytes is what one of them takes in a folded list, with an id of 26
	// bytes: its kind, the length, the id, the rev and, since a removal is kept
	// for a day, its time.
	entryBytes = 1 + 1 + 26 + 8 + 5

	// segmentBytes is what a segment has before it is divided, and readAtOnce how
	// many are read in a trip.
	segmentBytes = 24 << 10
	readAtOnce   = 32
)

// differentIDs returns how many ids that many changes concern.
func differentIDs(ops int) int { return max(ops/5, 10) }

// liveSet returns how many bytes these take.
func liveSet(ops int) int { return differentIDs(ops) * entryBytes }

// listWriters reports what additions to and removals from one list cost, and
// whether that grows with their number.
func listWriters(b *bench) error {
	return b.eachOf(single, func(on backend) error {
		ops := b.size(100_000)
		if on.name == "boltkv" {
			ops = min(ops, 20_000) // Each commit is synced.
		}
		return b.writeList(on, ops)
	})
}

func (b *bench) writeList(on backend, ops int) error {
	s, appends := counting(on.store, func(op kv.Op) bool { return op.Kind == kv.Append })
	var processes [listProcesses]*topic
	for i := range processes {
		p, err := openTopic(s)
		if err != nil {
			return err
		}
		defer p.db.Close(b.ctx)
		processes[i] = p
	}
	log, err := b.watchLog(on.store, ops)
	if err != nil {
		return err
	}
	var failed, trips, most atomic.Int64
	change := func(client, call int) error {
		p, id := processes[client%listProcesses], memberID(rand.IntN(differentIDs(ops)))
		do := p.Add
		if rand.IntN(3) == 0 {
			do = p.Remove
		}
		cost, err := b.cost(func(ctx context.Context) error { return do(ctx, id) })
		if err != nil {
			failed.Add(1)
		}
		n := int64(cost.Trips)
		trips.Add(n)
		if n > most.Load() {
			most.Store(n)
		}
		return b.ctx.Err()
	}
	var speeds []float64
	for window := range windows {
		speed, err := b.besideBare(on.store, fmt.Sprint("bare", window), ops/windows, change)
		if err != nil {
			return err
		}
		speeds = append(speeds, speed)
	}
	what := fmt.Sprintf("%s: %d changes of one list by %d clients", on.name, ops, listClients)
	n := float64(ops)
	b.report(what+": failed", float64(failed.Load()), exactly(0))
	b.report(what+": appends each", float64(appends.Load())/n, atMost(1.05).varying())
	b.report(what+": trips each", float64(trips.Load())/n, atMost(1.05+on.settle).varying())
	b.report(what+": trips at most", float64(most.Load()), target{}.varying())
	b.report(what+": speed to bare appends", median(speeds), target{}.ratio())
	decay := target{}.ratio()
	if on.name == "memcachekv" || on.name == "rediskv" {
		decay = atLeast(0.9).ratio()
	}
	b.report(what+": that of the last tenth to that of the first", speeds[windows-1]/speeds[0], decay)
	largest, err := log()
	if err != nil {
		return err
	}
	b.report(what+": largest log less a segment, to the live set", (largest-segmentBytes)/float64(liveSet(ops)), atMost(2).ratio())
	return nil
}

// besideBare has the clients make that many changes, in turns with appends to keys
// of their own under prefix, and returns the median ratio of their speeds.
func (b *bench) besideBare(s kvmodel.Store, prefix string, ops int, change func(client, call int) error) (float64, error) {
	key := func(client int) string { return fmt.Sprint(prefix, ":", client) }
	err := together(listClients, listClients, func(client, _ int) error {
		_, err := kv.One(b.ctx, s, kv.OpSet(key(client), nil))
		return err
	})
	if err != nil {
		return 0, err
	}
	entry := make([]byte, entryBytes)
	bare := func(client, _ int) error {
		_, err := kv.One(b.ctx, s, kv.OpAppend(key(client), entry))
		return err
	}
	const parts = 5
	var speeds []float64
	for range parts {
		took, err := timeBoth(
			func() error { return together(listClients, ops/parts, change) },
			func() error { return together(listClients, ops/parts, bare) })
		if err != nil {
			return 0, err
		}
		speeds = append(speeds, float64(took[1])/float64(took[0]))
	}
	return median(speeds), nil
}

// onlooker is a store that cannot be written to, so a reader of it does not tend
// the list.
type onlooker struct{ kvmodel.Store }

func (o onlooker) Do(ctx context.Context, ops []kv.Op) error {
	for i := range ops {
		if ops[i].Kind.Writes() {
			return kv.Fail(ops, kvmodel.ErrUnavailable)
		}
	}
	return o.Store.Do(ctx, ops)
}

// watchLog watches the size of the list until stop is called, which returns the
// most bytes there were.
func (b *bench) watchLog(s kvmodel.Store, ops int) (stop func() (float64, error), err error) {
	t, err := openTopic(onlooker{s})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(b.ctx)
	largest := 0.0
	var watching sync.WaitGroup
	watching.Go(func() {
		for ctx.Err() == nil {
			begun := time.Now()
			metered, meter := kvmodel.Metered(ctx)
			// A look that took a trip more may have read a segment twice.
			if _, err := t.Count(metered); err == nil && meter.Cost().Trips <= 1+liveSet(ops)/segmentBytes/readAtOnce {
				largest = max(largest, float64(meter.Cost().Read))
			}
			// Watching must not cost the writers more for a longer list.
			sleepFor(ctx, max(50*time.Millisecond, 20*time.Since(begun)))
		}
	})
	return func() (float64, error) {
		cancel()
		watching.Wait()
		return largest, t.db.Close(b.ctx)
	}, nil
}

func sleepFor(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// largeLists reports what it costs to read a list of many members.
func largeLists(b *bench) error {
	return b.eachOf(single, func(on backend) error { return b.readList(on, b.size(100_000)) })
}

func (b *bench) readList(on backend, members int) error {
	writer, err := openTopic(on.store)
	if err != nil {
		return err
	}
	defer writer.db.Close(b.ctx)
	ids := make([]string, members)
	for i := range ids {
		ids[i] = memberID(i)
	}
	for some := range slices.Chunk(ids, 1000) {
		if err := writer.Add(b.ctx, some...); err != nil {
			return err
		}
	}
	if err := errors.Join(writer.db.Flush(b.ctx), b.tend(on)); err != nil {
		return err
	}
	what := fmt.Sprintf("%s: a list of %d", on.name, members)
	for _, v := range []struct {
		name string
		read func(context.Context, *topic) error
	}{
		{"a page of 100", func(ctx context.Context, t *topic) error {
			p, err := t.Page(ctx, "", 100)
			if err == nil && len(p.IDs) != 100 {
				err = fmt.Errorf("it has %d", len(p.IDs))
			}
			return err
		}},
		{"Size", func(ctx context.Context, t *topic) error { _, err := t.Size(ctx); return err }},
		{"Contains", func(ctx context.Context, t *topic) error {
			in, err := t.Contains(ctx, memberID(members/2))
			if err == nil && !in {
				err = errors.New("it misses a member")
			}
			return err
		}},
	} {
		reader, err := openTopic(on.store)
		if err != nil {
			return err
		}
		defer reader.db.Close(b.ctx)
		for i, state := range []string{"cold", "warm"} {
			cost, err := b.cost(func(ctx context.Context) error { return v.read(ctx, reader) })
			if err != nil {
				return fmt.Errorf("%s: %w", v.name, err)
			}
			b.report(fmt.Sprintf("%s: %s, %s: trips", what, v.name, state), float64(cost.Trips), atMost(float64(2-i)))
		}
	}
	return errors.Join(b.walk(what, on, members), b.sizeOf(what, writer, members))
}

// tend goes through a list and tends the segments it meets, until there is nothing
// left to do: one call does only a bounded part.
func (b *bench) tend(on backend) error {
	for least := math.MaxInt; ; {
		t, err := openTopic(on.store)
		if err != nil {
			return err
		}
		cost, err := b.cost(func(ctx context.Context) error { _, err := t.Count(ctx); return err })
		if err := errors.Join(err, t.db.Close(b.ctx)); err != nil {
			return err
		}
		if cost.Read >= least {
			return nil
		}
		least = cost.Read
	}
}

// walk goes through all pages of a list.
func (b *bench) walk(what string, on backend, members int) error {
	t, err := openTopic(on.store)
	if err != nil {
		return err
	}
	defer t.db.Close(b.ctx)
	var pages spread
	found := 0
	for cursor := ""; pages.calls == 0 || cursor != ""; {
		err := b.addTo(&pages, func(ctx context.Context) error {
			p, err := t.Page(ctx, cursor, 100)
			found, cursor = found+len(p.IDs), p.Next
			return err
		})
		if err != nil {
			return err
		}
	}
	b.report(what+": members on all its pages", float64(found), exactly(float64(members)))
	what += ": a page of 100 at any depth: "
	b.report(what+"trips on average", pages.mean(pages.sum.Trips), atMost(1.05).varying())
	b.report(what+"trips at most", float64(pages.most.Trips), atMost(2).varying())
	b.report(what+"bytes on average", math.Round(pages.mean(pages.sum.Read)), target{}.varying())
	b.report(what+"bytes at most", float64(pages.most.Read), atMost(64<<10).varying())
	return nil
}

func (b *bench) sizeOf(what string, t *topic, members int) error {
	n, err := t.Size(b.ctx)
	if err != nil {
		return err
	}
	off := math.Abs(float64(n-members)) / float64(members)
	b.report(what+": Size is off by, of 1", math.Round(off*1000)/1000, atMost(0.05).varying())
	return nil
}

// smallListAllocs reports what reading 1,000 members costs.
func smallListAllocs(b *bench) error {
	const members = 1000
	s := memkv.New(memkv.Options{})
	t, err := openTopic(s)
	if err != nil {
		return err
	}
	defer t.db.Close(b.ctx)
	for i := range members {
		if err := t.Add(b.ctx, memberID(i)); err != nil {
			return err
		}
	}
	if err := t.db.Flush(b.ctx); err != nil {
		return err
	}
	all := func(ctx context.Context) error {
		n := 0
		for _, err := range t.All(ctx) {
			if err != nil {
				return err
			}
			n++
		}
		if n != members {
			return fmt.Errorf("%d members, want %d", n, members)
		}
		return nil
	}
	// The first reader tends what it meets.
	if err := errors.Join(all(b.ctx), t.db.Flush(b.ctx)); err != nil {
		return err
	}
	cost, err := b.cost(all)
	if err != nil {
		return err
	}
	b.report("1,000 members: trips", float64(cost.Trips), exactly(1))
	n, err := allocs(func() error { return all(b.ctx) })
	b.report("1,000 members: allocations", n, atMost(20))
	return err
}

// listSweeps runs the sweeps of lists and sequences on -n seeds each.
func listSweeps(b *bench) error { return b.sweeps("./index/...", min(b.size(300), 2_000), atLeast(8)) }

// sweeps reports how many of the sweeps in packages pass on that many seeds each.
func (b *bench) sweeps(packages string, seeds int, t target) error {
	if err := os.Setenv("RINGTREE_SEEDS", strconv.Itoa(seeds)); err != nil {
		return err
	}
	defer os.Unsetenv("RINGTREE_SEEDS")
	out, err := b.goCommand("test", "-json", "-count=1", "-short", "-timeout", "2h", "-run", "^TestSweep_", packages)
	passed := count(strings.Lines(string(out)), func(line string) bool {
		return strings.Contains(line, `"Action":"pass"`) && strings.Contains(line, `"Test":"TestSweep_`)
	})
	b.report("sweeps that hold on each of their seeds", float64(passed), t)
	b.report("seeds of each sweep", float64(seeds), target{})
	return err
}
