package timeline_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/timeline"
)

// Two processes change a few pages, and one is killed. After a repair, the timelines must be the
// function of the records: each stands once, where its last change put it.

var sweptShape = timeline.Shape{Size: 40, Segment: 4}

var quiet = kvmodel.Log(slog.New(slog.DiscardHandler))

func openQuietly(s kv.Store) *pages { return openPages(s, sweptShape, quiet) }

// diary is what the writers know of their changes, by the body written.
type diary struct {
	mu    sync.Mutex
	now   int
	begun map[string]int
	acked map[string]int

	toggled map[string]bool // ids that may have left and come back, and so moved without a new body
	wrong   []string
}

func newDiary() *diary {
	return &diary{begun: map[string]int{}, acked: map[string]int{}, toggled: map[string]bool{}}
}

func (d *diary) toggle(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.toggled[id] = true
}

func (d *diary) note(in map[string]int, body string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now++
	in[body] = d.now
}

var sweptIDs, sweptAuthors = []string{"a", "b", "c"}, []string{"ann", "bob"}

func (d *diary) write(s kv.Store, name string, rng *rand.Rand, n int) {
	p := openQuietly(s)
	for i := range n {
		id, body, author := sweptIDs[rng.IntN(3)], fmt.Sprint(name, i), sweptAuthors[rng.IntN(2)]
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		var err error
		d.note(d.begun, body)
		switch rng.IntN(7) {
		case 0, 1:
			err = p.Create(ctx, &page{ID: id, Author: author, Body: body})
		case 2, 3:
			_, err = p.Update(ctx, id, func(p *page) error { p.Body, p.Draft = body, false; return nil })
		case 4:
			_, err = p.Upsert(ctx, id, func(p *page) error { p.Body, p.Author = body, author; return nil })
		case 5:
			d.toggle(id)
			_, err = p.Update(ctx, id, func(p *page) error { p.Draft = !p.Draft; return nil })
			body = ""
		case 6:
			err = p.Delete(ctx, id)
			body = ""
		}
		if err == nil && body != "" {
			d.note(d.acked, body)
		}
		d.read(ctx, p)
		cancel()
	}
	_ = p.db.Close(context.Background())
}

func (d *diary) read(ctx context.Context, p *pages) {
	for _, author := range sweptAuthors {
		l, err := p.byAuthor.Of(author).Page(ctx, "", 5)
		seen := map[string]bool{}
		for _, item := range l.Items {
			if item.Author != author || item.Draft || seen[item.ID] {
				d.mu.Lock()
				d.wrong = append(d.wrong, fmt.Sprintf("the page of %s shows %+v", author, *item))
				d.mu.Unlock()
			}
			seen[item.ID] = true
		}
		_ = err
	}
}

// repairAll is a process that starts when all others have ended, and outlives the grace period.
func repairAll(sim *kvtest.Sim, open func(kv.Store) *pages) {
	sim.Spare(proof.Fixer)
	sim.Do(proof.Fixer, func(s kv.Store) {
		p := open(s)
		for _, wait := range []time.Duration{0, time.Minute, time.Minute, 2 * time.Hour, time.Minute} {
			time.Sleep(wait)
			for range 5 {
				if p.db.Repair(context.Background()) == nil {
					break
				}
			}
		}
		_ = p.db.Close(context.Background())
	})
	sim.Wait()
}

func (d *diary) check(sim *kvtest.Sim, p *pages) {
	t := sim.T()
	defer p.close(t)
	shown := map[string]int{}
	var order []*page
	for rec, err := range p.newest.All(ctx) {
		must(t, err)
		shown[rec.ID]++
		order = append(order, rec)
	}
	byAuthor := map[string]int{}
	if p.byAuthor == nil {
		byAuthor = shown
	}
	for _, author := range sweptAuthors {
		if p.byAuthor == nil {
			break
		}
		for rec, err := range p.byAuthor.Of(author).All(ctx) {
			if err != nil || rec.Author != author {
				t.Error(author, rec, err)
			}
			byAuthor[rec.ID]++
		}
	}
	for _, id := range sweptIDs {
		rec, err := p.Get(ctx, id)
		want := 0
		if err == nil && !rec.Draft {
			want = 1
		}
		if shown[id] != want || byAuthor[id] != want {
			t.Errorf("%s is in the timeline %d times and in those of authors %d times, want %d: %+v", id, shown[id], byAuthor[id], want, rec)
		}
	}
	d.checkOrder(t, order)
	for _, wrong := range d.wrong {
		t.Error(wrong)
	}
}

// checkOrder asserts that a later write stands above one acknowledged before it began.
func (d *diary) checkOrder(t *testing.T, order []*page) {
	for i, above := range order {
		for _, below := range order[i+1:] {
			acked := d.acked[above.Body]
			if acked > 0 && d.acked[below.Body] > 0 && acked < d.begun[below.Body] && !d.toggled[above.ID] && !d.toggled[below.ID] {
				t.Errorf("%q stands above %q, which was written after it", above.Body, below.Body)
			}
		}
	}
}

func createFirst(sim *kvtest.Sim, open func(kv.Store) *pages) {
	p := open(sim.Still())
	for _, id := range sweptIDs {
		p.create(sim.T(), id, "ann", "first "+id)
	}
	p.close(sim.T())
}

// sweepRecords has few faults, as [building] has: a process reads the whole ring before its first
// change, and if every tenth read fails, no change commits.
func sweepRecords(t *testing.T, powers kvtest.Powers, at func(*kvtest.Sim) int) {
	proof.Sweep(t, 200, building(powers), func(sim *kvtest.Sim) {
		d := newDiary()
		createFirst(sim, openQuietly)
		if step := at(sim); step > 0 {
			sim.CrashAt("p", step)
		}
		for i, name := range []string{"p", "q"} {
			rng := rand.New(rand.NewPCG(sim.Seed(), uint64(i)))
			sim.Go(name, func(s kv.Store) { d.write(s, name, rng, 4) })
		}
		sim.Wait()
		repairAll(sim, openQuietly)
		d.check(sim, openQuietly(sim.Still()))
	})
}

// After several changes that moved a record, the next one takes its number while it reads the
// record.
func TestSweep_Records_ANumberTakenEarlyIsRepairedLikeAnyOther(t *testing.T) {
	open := func(s kv.Store) *pages { return openRing(s, sweptShape, quiet) }
	proof.Sweep(t, 150, building(kvtest.NoPowers), func(sim *kvtest.Sim) {
		d := newDiary()
		createFirst(sim, open)
		sim.CrashAt("p", 60+sim.Rand().IntN(120))
		for i, name := range []string{"p", "q"} {
			rng := rand.New(rand.NewPCG(sim.Seed(), uint64(i)))
			// no other process's change may make up for the last one of p
			sim.Go(name, func(s kv.Store) { d.bump(open(s), name, rng, 14-10*i) })
		}
		sim.Wait()
		repairAll(sim, open)
		d.check(sim, open(sim.Still()))
	})
}

func (d *diary) bump(p *pages, name string, rng *rand.Rand, n int) {
	for i := range n {
		id, body := sweptIDs[rng.IntN(3)], fmt.Sprint(name, i)
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		d.note(d.begun, body)
		_, err := p.Update(ctx, id, func(p *page) error {
			if p.Author = body; rng.IntN(8) > 0 {
				p.Body = body
			}
			return nil
		})
		if err == nil {
			d.note(d.acked, body)
		}
		cancel()
	}
	_ = p.db.Close(context.Background())
}

func anyStep(sim *kvtest.Sim) int { return 1 + sim.Rand().IntN(120) }

func TestSweep_Records_AfterACrashAnywhereTheTimelineIsTheFunctionOfTheRecords(t *testing.T) {
	sweepRecords(t, kvtest.ServerPowers, anyStep)
}

func TestSweep_Records_InAnyOrderOfATrip(t *testing.T) { sweepRecords(t, kvtest.NoPowers, anyStep) }

func TestSweep_Records_InATransaction(t *testing.T) { sweepRecords(t, kvtest.AllPowers, anyStep) }

func TestSweep_Records_InATransactionThatRunsTwice(t *testing.T) {
	sweepRecords(t, kvtest.OptimisticPowers, anyStep)
}

func TestSweep_Records_WithoutACrashAProcessCleansUpItself(t *testing.T) {
	sweepRecords(t, kvtest.NoPowers, func(*kvtest.Sim) int { return 0 })
}
