package timeline_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/timeline"
)

// A builder is a store that counts trips once its process builds, and may answer only so many.
type builder struct {
	kv.Store
	isAtomic bool
	life     int64 // trips; 0: it lives on
	spared   atomic.Bool
	builds   atomic.Bool
	trips    atomic.Int64
}

func (*builder) Close() error { return nil }

func (b *builder) Powers() (p kv.Powers) {
	if whole := kv.PowersOf(b.Store).Atomic; b.isAtomic {
		p.Atomic = func(ctx context.Context, f func(kv.Store) error) error {
			if b.died() {
				return errDied
			}
			return whole(ctx, f)
		}
	}
	return p
}

var errDied = fmt.Errorf("%w: the process is dead", kv.ErrUnavailable)

func (b *builder) died() bool {
	trips := b.trips.Load()
	if b.builds.Load() {
		trips = b.trips.Add(1)
	}
	return b.life > 0 && trips > b.life && !b.spared.Load()
}

func (b *builder) Do(ctx context.Context, ops []kv.Op) error {
	if ops[0].Kind.Writes() && strings.HasPrefix(ops[0].Key, "build:") {
		b.builds.Store(true)
	}
	if b.died() {
		return kv.Fail(ops, errDied)
	}
	return b.Store.Do(ctx, ops)
}

// openToBuild opens tales whose timelines are built in several sorts.
func openToBuild(s kv.Store, n, sort int) *tales {
	p := openTales(s, timeline.Spec[tale]{Shape: timeline.Shape{Size: n}}, quiet)
	p.newest.SortAtOnce(sort)
	p.byAuthor.SortAtOnce(sort)
	return p
}

// A process that lives a little longer than a walk over all records makes progress, and repeats
// little.
func TestBuild_EndsHoweverOftenItIsCutShort(t *testing.T) {
	const n = 600
	for _, isAtomic := range []bool{true, false} {
		for _, sort := range []int{10 * n, n / 3} {
			t.Run(fmt.Sprint("atomic ", isAtomic, ", sorting ", sort), func(t *testing.T) {
				once, _ := buildTales(t, n, sort, 0, isAtomic)
				walk := int64(n/100 + 25)
				all, kills := buildTales(t, n, sort, walk+45, isAtomic)
				t.Logf("%d trips in one go; %d with %d kills", once, all, kills)
				if most := once*12/10 + kills*walk; all > most || kills < 3 {
					t.Errorf("%d trips with %d kills, want at most %d; %d in one go", all, kills, most, once)
				}
			})
		}
	}
}

// buildTales builds the timelines of n tales by processes of life trips each. It returns the total
// of trips, and the number of killed processes.
func buildTales(t *testing.T, n, sort int, life int64, isAtomic bool) (trips, kills int64) {
	synctest.Test(t, func(t *testing.T) {
		mem, all := memkv.New(memkv.Options{}), oldTales(n)
		bare := openBare(&builder{Store: mem, isAtomic: isAtomic})
		must(t, bare.CreateMulti(ctx, all))
		bare.close(t)
		for ; ; kills++ {
			if kills > 50 {
				t.Fatal("it does not end")
			}
			s := &builder{Store: mem, isAtomic: isAtomic, life: life}
			p := openToBuild(s, n, sort)
			err := p.Rebuild(ctx)
			trips += s.trips.Load()
			if err != nil {
				_ = p.db.Close(ctx)
				continue
			}
			s.spared.Store(true)
			p.wantOrder(t, fmt.Sprint("after ", kills, " kills"), all, n, 1)
			p.close(t)
			return
		}
	})
	return trips, kills
}

// Rebuilds are numbered by the clock, eras are not.
func TestBuild_ComesAfterAnyNumberOfRebuilds(t *testing.T) {
	const n = 40
	for seconds := range 8 {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Duration(seconds) << 17 * time.Second)
			mem, all := fillTales(t, n)
			tell := func(p *tales, seconds int64) {
				all[7].Told = time.Unix(seconds, 0).UTC()
				proof.Done(t)(p.Update(ctx, all[7].ID, func(v *tale) error { v.Told = all[7].Told; return nil }))
			}
			for i := range int64(3) {
				bare := openBare(plain{mem}, quiet)
				must(t, bare.Rebuild(ctx))
				tell(bare, 1_600_000_000+i)
				bare.close(t)
				p := openToBuild(plain{mem}, n, 15)
				must(t, p.Rebuild(ctx))
				p.wantOrder(t, "after a rebuild", all, n, 1)
				tell(p, 1_900_000_000+i)
				wantTales(t, "after a change", newest(all, n, ""), shownTales(t, p.newest), taleID)
				p.close(t)
			}
		})
	}
}

// openQuiet opens tales with a timeline by Told in which no change moves a record.
func openQuiet(s kv.Store) (*tales, *timeline.Ring[tale]) {
	p := openBare(s, quiet)
	r := timeline.NewRing(p.Records, timeline.Spec[tale]{
		Name: "Newest", Def: "timeline ID",
		Value: func(v *tale) string { return v.ID }, Order: func(v *tale) any { return v.Told },
	})
	r.SortAtOnce(10)
	return p, r
}

func tellAgain(t *testing.T, s kv.Store, id string, told time.Time) {
	t.Helper()
	other, _ := openQuiet(plain{s})
	proof.Done(t)(other.Update(ctx, id, func(v *tale) error { v.Told = told; return nil }))
	other.close(t)
}

// wantAll asserts that r shows each of n tales once.
func wantAll(t *testing.T, r *timeline.Ring[tale], n int) {
	t.Helper()
	times := map[string]int{}
	for _, v := range shownTales(t, r) {
		times[v.ID]++
	}
	for id, n := range times {
		proof.Equal(t, n, 1, "%s is shown", id)
	}
	proof.Equal(t, len(times), n, "shown records")
}

func TestBuild_ShowsARecordThatWouldStandSomewhereElseByNow(t *testing.T) {
	for name, again := range map[string]time.Time{"newer": time.Unix(1_900_000_000, 0), "older": time.Unix(1, 0)} {
		t.Run("beside it, "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mem, all := fillTales(t, 35)
				id := newest(all, 35, "")[32].ID // in the last sort
				var once sync.Once
				s := &broken{Store: plain{mem}}
				s.refuses = func(op kv.Op) bool {
					if op.Kind.Writes() && op.Key == "r:Tale:"+id {
						once.Do(func() { tellAgain(t, mem, id, again) })
					}
					return false
				}
				p, r := openQuiet(s)
				must(t, p.Rebuild(ctx))
				wantAll(t, r, 35)
				p.close(t)
			})
		})
		t.Run("once it is killed, "+name, func(t *testing.T) {
			for life := int64(30); life < 70; life += 4 {
				synctest.Test(t, func(t *testing.T) {
					mem, all := fillTales(t, 30)
					p, _ := openQuiet(&builder{Store: mem, life: life})
					err := p.Rebuild(ctx)
					_ = p.db.Close(ctx)
					if err != nil {
						tellAgain(t, mem, newest(all, 30, "")[15].ID, again)
					}
					p, r := openQuiet(plain{mem})
					must(t, p.Rebuild(ctx))
					wantAll(t, r, 30)
					p.close(t)
				})
			}
		})
	}
}

func fillTales(t *testing.T, n int) (*memkv.Store, []*tale) {
	t.Helper()
	mem, all := memkv.New(memkv.Options{}), oldTales(n)
	bare := openBare(plain{mem})
	must(t, bare.CreateMulti(ctx, all))
	bare.close(t)
	return mem, all
}

// A new ring has no old records, even if the build meets some of its records on one walk and some
// on the next.
func TestBuild_LeavesRingsAloneThatAreNewerThanIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem, all := fillTales(t, 30)
		create := func(id string) {
			p := openTales(plain{mem}, timeline.Spec[tale]{}, quiet)
			must(t, p.Create(ctx, &tale{ID: id, Author: "eve", Told: time.Unix(1_800_000_000, 0).UTC()}))
			p.close(t)
		}
		var first, second sync.Once
		var begun atomic.Bool
		s := &broken{Store: plain{mem}}
		s.refuses = func(op kv.Op) bool {
			switch {
			case op.Kind.Writes() && strings.HasPrefix(op.Key, "t:Tale:NewestByAuthor:ann#n"):
				begun.Store(true)
			case begun.Load() && op.Kind.Writes() && strings.HasPrefix(op.Key, "build:"):
				first.Do(func() { create("e1") })
			case op.Kind == kv.Get && op.Key == "t:Tale:NewestByAuthor:eve#n":
				second.Do(func() { create("e2") })
			}
			return false
		}
		p := openTales(s, timeline.Spec[tale]{}, quiet)
		must(t, p.Rebuild(ctx))
		wantTales(t, "of eve", []*tale{{ID: "e2"}, {ID: "e1"}}, shownTales(t, p.byAuthor.Of("eve")), taleID)
		wantTales(t, "of ann", newest(all, 30, "ann"), shownTales(t, p.byAuthor.Of("ann")), taleID)
		p.close(t)
	})
}
