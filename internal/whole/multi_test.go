package whole_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

type manyChanges struct {
	l      *whole.Library
	single bool
}

func (c manyChanges) change(n int, multi func() error, one func(i int) error) []string {
	texts := make([]string, n)
	if c.single {
		for i := range texts {
			texts[i] = errorClass(one(i))
		}
		return texts
	}
	for i, err := range kvmodel.Items(multi()) {
		texts[i] = errorClass(err)
	}
	return texts
}

func errorClass(err error) string {
	for _, class := range []error{kvmodel.ErrInvalid, kv.ErrExists, kv.ErrNotFound, kv.ErrConflict} {
		if errors.Is(err, class) {
			return class.Error()
		}
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func (c manyChanges) round(rng *rand.Rand) (failed [][]string) {
	works := make([]*whole.Work, 12)
	ids := make([]string, len(works))
	slugs := rng.Perm(40)
	for i, n := range rng.Perm(30)[:len(works)] {
		ids[i] = fmt.Sprint("w", n)
		works[i] = &whole.Work{
			ID: ids[i], Slug: fmt.Sprint("slug", slugs[i]), Author: whole.Authors[rng.IntN(3)], Tags: whole.Tags[:rng.IntN(3)],
			Room: whole.Rooms[rng.IntN(2)], Shelf: rng.IntN(whole.Shelves), Title: "title", Note: "note",
			Price: int64(rng.IntN(20)), Grade: float64(rng.IntN(9)) / 4, Taken: time.Unix(int64(1000*rng.IntN(9)+1), 0),
		}
	}
	note := func(texts []string) { failed = append(failed, texts) }
	note(c.change(len(works), func() error { return c.l.Works.CreateMulti(ctx, works) }, func(i int) error { return c.l.Works.Create(ctx, works[i]) }))

	likes := make([]*whole.Like, 8)
	keys := make([]whole.LikeID, len(likes))
	for i := range likes {
		keys[i] = whole.LikeID{User: whole.Users[rng.IntN(4)], Work: ids[rng.IntN(len(ids))]}
		likes[i] = &whole.Like{User: keys[i].User, Work: keys[i].Work}
	}
	note(c.change(len(likes), func() error { return c.l.Likes.CreateMulti(ctx, likes) }, func(i int) error { return c.l.Likes.Create(ctx, likes[i]) }))

	tickets := make([]*whole.Ticket, 5)
	for i := range tickets {
		tickets[i] = &whole.Ticket{Text: whole.Texts[rng.IntN(2)]}
		if rng.IntN(4) == 0 {
			tickets[i].ID = 7 // A new ticket must not have a number.
		}
	}
	note(c.change(len(tickets), func() error { return c.l.Tickets.CreateMulti(ctx, tickets) }, func(i int) error { return c.l.Tickets.Create(ctx, tickets[i]) }))

	price := int64(rng.IntN(50))
	raise := func(w *whole.Work) error {
		w.Price += price
		w.Tags = whole.Tags[:w.Price%3]
		return nil
	}
	note(c.change(len(ids), func() error { _, err := c.l.Works.UpdateMulti(ctx, ids, raise); return err }, func(i int) error {
		_, err := c.l.Works.Update(ctx, ids[i], raise)
		return err
	}))
	for _, w := range works[:4] {
		w.Version = int64(rng.IntN(3))
	}
	note(c.change(4, func() error { return c.l.Works.PutMulti(ctx, works[:4]) }, func(i int) error { return c.l.Works.Put(ctx, works[i]) }))
	note(c.change(6, func() error { return c.l.Works.DeleteMulti(ctx, ids[:6]) }, func(i int) error { return c.l.Works.Delete(ctx, ids[i]) }))
	note(c.change(4, func() error { return c.l.Likes.DeleteMulti(ctx, keys[:4]) }, func(i int) error { return c.l.Likes.Delete(ctx, keys[i]) }))
	return failed
}

var version = regexp.MustCompile(`"Version":\d+`)

// Revisions and the order of creation may differ.
func unordered(l *whole.Library) whole.Shown {
	shown := l.Look(ctx)
	for question, answer := range shown {
		if strings.Contains(question, "Newest") || strings.Contains(question, "Notes") {
			words := strings.Fields(answer)
			slices.Sort(words)
			answer = strings.Join(words, " ")
		}
		shown[question] = version.ReplaceAllString(answer, "")
	}
	return shown
}

func TestMulti_OnAFileDoesAndRefusesWhatSingleCallsDo(t *testing.T) {
	for name, wrap := range map[string]func(kv.Store) kv.Store{"once": func(s kv.Store) kv.Store { return s }, "twice": kvtest.Twice} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(5) {
				var shown []whole.Shown
				var failed [][][]string
				for _, single := range []bool{true, false} {
					synctest.Test(t, func(t *testing.T) {
						l := kinds[0].open(t, wrap(memkv.New(memkv.Options{})))
						c := manyChanges{l, single}
						rng := rand.New(rand.NewPCG(seed, 1))
						var all [][]string
						for range 6 {
							all = append(all, c.round(rng)...)
							rest(t, l)
						}
						failed = append(failed, all)
						shown = append(shown, unordered(l))
						if r := checked(t, l); !r.Well() {
							t.Errorf("seed %d, single calls %v: a check finds:\n%s", seed, single, faultTexts(r.Faults))
						}
					})
				}
				proof.NoDiff(t, cmp.Diff(failed[0], failed[1]), "seed %d: single calls fail otherwise than one (-single +multi)", seed)
				if diff := shown[0].Differences(shown[1]); len(diff) > 0 {
					t.Errorf("seed %d: one call leaves something else than single ones: %q", seed, diff)
				}
			}
		})
	}
}

// Each process expects the next numbers to be its own, and loses transactions to the other.
func TestMulti_NumbersOfTwoProcessesAreConsecutive(t *testing.T) {
	mem := memkv.New(memkv.Options{})
	open := func() *whole.Library { return libraryIn(t, still{mem, kv.PowersOf(mem)}) }
	const n = 300
	var ended sync.WaitGroup
	for _, l := range []*whole.Library{open(), open()} {
		ended.Go(func() {
			tickets := make([]*whole.Ticket, n)
			for i := range tickets {
				tickets[i] = &whole.Ticket{Text: whole.Texts[i%2]}
			}
			for some := range slices.Chunk(tickets, n/10) {
				proof.Is(t, l.Tickets.CreateMulti(ctx, some), nil)
			}
		})
	}
	ended.Wait()
	l := open()
	last, err := l.Tickets.Last(ctx)
	must(t, err)
	count := 0
	for _, err := range l.Tickets.All(ctx) {
		must(t, err)
		count++
	}
	if last != 2*n || count != 2*n {
		t.Errorf("the last number is %d of %d records, want %d", last, count, 2*n)
	}
}

type watching struct {
	kv.Store
	seen *sightings
}

type sightings struct {
	mu     sync.Mutex
	values []sighting
}

type sighting struct {
	key           string
	answered, was []byte
}

func (w watching) Powers() kv.Powers {
	p := kv.PowersOf(w.Store)
	if atomic := p.Atomic; atomic != nil {
		p.Atomic = func(ctx context.Context, f func(kv.Store) error) error {
			return atomic(ctx, func(s kv.Store) error { return f(watching{s, w.seen}) })
		}
	}
	return p
}

func (w watching) Do(ctx context.Context, ops []kv.Op) error {
	err := w.Store.Do(ctx, ops)
	w.seen.mu.Lock()
	defer w.seen.mu.Unlock()
	for i := range ops {
		if value := ops[i].Result.Value; value != nil {
			w.seen.values = append(w.seen.values, sighting{ops[i].Key, value, bytes.Clone(value)})
		}
	}
	return err
}

// The texts of a record share memory with the store's answer, which others may read too.
func TestWhole_NobodyChangesWhatTheStoreHasAnswered(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			seen := new(sightings)
			l, err := whole.Open(watching{k.opened(memkv.New(memkv.Options{})), seen}, kvmodel.Clock(time.Now))
			must(t, err)
			d := new(whole.Diary)
			for n := range 3 {
				calls(l, d, n, 60, uint64(n), 1)
			}
			must(t, l.Works.Rebuild(ctx))
			must(t, l.DB.Close(ctx))
			changed := map[string]int{}
			for _, s := range seen.values {
				if !bytes.Equal(s.answered, s.was) {
					changed[s.key]++
				}
			}
			if len(changed) > 0 || len(seen.values) < 500 {
				t.Errorf("of %d answers, these were changed: %s", len(seen.values), fmt.Sprint(changed))
			}
		})
	}
}

func TestRepair_OfALibraryRightAfterEachOfItsIndexesIsPluggedInIsComplete(t *testing.T) {
	for world := range proof.Part(t, lossWorlds[:1], lossWorlds) {
		t.Run(world.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, mem := t.Context(), memkv.New(memkv.Options{})
				powers := world.powers(mem)
				powers.Alone = true // so that repair takes all others for dead
				diary := killedLibrary(t, still{mem, powers})
				db, err := kvmodel.Open(still{mem, powers})
				must(t, err)
				repairs := 0
				plug.Plugged = func() {
					repairs++
					must(t, db.Repair(ctx))
				}
				defer func() { plug.Plugged = func() {} }()
				l := whole.In(db)
				time.Sleep(time.Minute) // for numbers in doubt
				must(t, db.Flush(ctx))
				wrong, err := l.Judge(ctx, diary)
				must(t, err)
				if repairs < 20 || len(wrong) > 0 {
					t.Errorf("after %d repairs, wrong:\n%s", repairs, strings.Join(wrong, "\n"))
				}
				must(t, db.Close(ctx))
			})
		})
	}
}

func killedLibrary(t *testing.T, s kv.Store) *whole.Diary {
	t.Helper()
	store, diary := alive(s), new(whole.Diary)
	l := libraryIn(t, still{store, kv.Powers{}})
	calls(l, diary, 0, 200, 1, 1)
	store.die()
	_ = l.DB.Close(t.Context())
	return diary
}

func TestSweep_ARebuildLeavesNothingWhereRecordsWereThatMove(t *testing.T) {
	moves := map[string]func(l *whole.Library) error{
		"moves": func(l *whole.Library) error {
			_, err := l.Works.Update(ctx, "w2", func(v *whole.Work) error {
				v.Author, v.Slug, v.Price = "cy", v.Slug+"-moved", v.Price+7
				return nil
			})
			return err
		},
		"ends": func(l *whole.Library) error { return l.Works.Delete(ctx, "w3") },
	}
	step := proof.Size[int64](61, 1)
	for _, w := range lossWorlds[:2] {
		items := w.furnished(t)
		for name, move := range moves {
			for trip, done := int64(1), false; !done; trip += step {
				t.Run(fmt.Sprintf("%s, %s, before trip %d", w.name, name, trip), func(t *testing.T) {
					w.inspected(t, items, func(t *testing.T, l *whole.Library, mem *memkv.Store) {
						var left atomic.Int64
						left.Store(trip)
						moving := tap{Store: mem, before: func([]kv.Op) error {
							if left.Add(-1) == 0 {
								must(t, move(l))
							}
							return nil
						}}
						must(t, libraryIn(t, still{moving, w.powers(mem)}).Works.Rebuild(ctx))
						done = left.Load() > 0
						rest(t, l)
						if r := checked(t, l); !r.Well() {
							t.Error(faultTexts(r.Faults), r.Unasked)
						}
					})
				})
			}
		}
	}
}
