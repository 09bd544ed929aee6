package whole_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

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
				if diff := cmp.Diff(failed[0], failed[1]); diff != "" {
					t.Errorf("seed %d: single calls fail otherwise than one (-single +multi):\n%s", seed, diff)
				}
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
				if err := l.Tickets.CreateMulti(ctx, some); err != nil {
					t.Error(err)
				}
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
