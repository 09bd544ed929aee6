package index_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/internal/optest"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func move(ctx context.Context, p *people, id, email string) error {
	_, err := p.Update(ctx, id, func(p *person) error { p.Email = email; return nil })
	return err
}

// A process that dies during the first trip has written its line or nothing.
func TestRecords_AnIndexChangeCostsOneShortLineWhichIsTheFirstWriteOfItsTrip(t *testing.T) {
	for name, verb := range map[string]func(ctx context.Context, p *people) error{
		"create": func(ctx context.Context, p *people) error { return p.Create(ctx, &person{Email: "new@x"}) },
		"move":   func(ctx context.Context, p *people) error { return move(ctx, p, "ann", "new@x") },
		"delete": func(ctx context.Context, p *people) error { return p.Delete(ctx, "ann") },
		"delete after a get": func(ctx context.Context, p *people) error {
			_, err := p.Get(ctx, "ann")
			return errors.Join(err, p.Delete(ctx, "ann"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			var writes proof.Record[kv.Op]
			s := kv.Trace(plain{memkv.New(memkv.Options{})}, func(_ context.Context, trip kv.Trip) {
				for _, op := range trip.Ops {
					if op.Kind.Writes() {
						writes.Add(op)
					}
				}
			})
			db := closing(t, open(t, s))
			p := newPeople(db)
			must(t, p.Create(ctx, &person{ID: "ann", Email: "ann@x"}))
			must(t, db.Flush(ctx))
			writes.Take()
			must(t, errors.Join(verb(ctx, p), db.Flush(ctx)))
			written := writes.Take()
			// the background work of the verb writes claims but no lines
			isLine := func(op kv.Op) bool { return op.Kind == kv.Append && strings.HasPrefix(op.Key, "line:") }
			if len(written) == 0 || !isLine(written[0]) || len(written[0].Value) > 100 || slices.ContainsFunc(written[1:], isLine) {
				t.Errorf("want one line of at most 100 bytes, first; got %v", kv.Texts(written, optest.Show))
			}
		})
	}
}

func TestNumbers_AnUnclearAnswer_IsNeverReportedAsNotDone(t *testing.T) {
	type numbers struct {
		views *index.Counter[string]
		lines *index.Sequence[ticket]
	}
	verbs := map[string]func(ctx context.Context, n numbers) error{
		"Counter.Add": func(ctx context.Context, n numbers) error { _, err := n.views.Add(ctx, "a", 1); return err },
		"Counter.Set": func(ctx context.Context, n numbers) error { return n.views.Set(ctx, "a", 70) },
		"the first":   func(ctx context.Context, n numbers) error { _, err := n.views.Add(ctx, "b", 1); return err },
		"Sequence":    func(ctx context.Context, n numbers) error { _, err := n.lines.Add(ctx, new(ticket)); return err },
	}
	for name, verb := range verbs {
		t.Run(name, func(t *testing.T) {
			proof.EachStumble(t, func() kv.Store { return memkv.New(memkv.Options{}) }, func(t *testing.T, s *proof.Stumble) {
				synctest.Test(t, func(t *testing.T) {
					ctx, db := t.Context(), open(t, s)
					n := numbers{index.NewCounter(newBooks(db).Records, "Views"), newTickets(db).InOrder}
					must(t, n.views.Set(ctx, "a", 7))
					s.Begin()
					limited, cancel := context.WithCancel(ctx)
					s.Refused = cancel
					err := verb(limited, n)
					time.Sleep(time.Second)
					must(t, s.Rise())
					a, err1 := n.views.Get(ctx, "a")
					b, err2 := n.views.Get(ctx, "b")
					lines, err3 := n.lines.Count(ctx)
					must(t, errors.Join(err1, err2, err3))
					changed := a != 7 || b != 0 || lines != 0
					if proof.Denies(err) && changed || errors.Is(err, kv.ErrUnclear) && errors.Is(err, kv.ErrUnavailable) {
						t.Errorf("changed: %t, after: %v", changed, err)
					}
					must(t, db.Close(context.Background()))
				})
			})
		})
	}
}

// The list is one segment that was never folded. A page reads twenty records, too.
func TestList_ReadingAThousandMembersTakesFewAllocationsAndBytes(t *testing.T) {
	ctx := t.Context()
	b := newBooks(closing(t, open(t, server{memkv.New(memkv.Options{})})))
	for i := range 1000 {
		must(t, b.Create(ctx, &book{ID: fmt.Sprint(100_000 + i), Author: "ann"}))
	}
	must(t, b.db.Flush(ctx))
	list := b.ByAuthor.Of("ann")
	for name, c := range map[string]struct {
		allocs, bytes float64
		members       int
		read          func() (int, error)
	}{
		"Count": {20, 125_000, 1000, func() (int, error) { return list.Count(ctx) }},
		"IDs": {20, 125_000, 1000, func() (n int, err error) {
			for _, err = range list.IDs(ctx) {
				n++
			}
			return n, err
		}},
		"Page": {400, 145_000, 20, func() (int, error) {
			l, err := list.Page(ctx, "", 20)
			return len(l.Items), err
		}},
	} {
		read := func() {
			if n, err := c.read(); n != c.members || err != nil {
				t.Fatalf("%s: %d members, %v", name, n, err)
			}
		}
		read()
		allocs, bytes := leastPerRun(50, read)
		t.Logf("%s: %.0f allocations, %.0f bytes", name, allocs, bytes)
		if allocs > c.allocs || bytes > c.bytes {
			t.Errorf("%s takes %.0f allocations and %.0f bytes, want at most %.0f and %.0f", name, allocs, bytes, c.allocs, c.bytes)
		}
	}
}

// leastPerRun returns the fewest allocations and bytes of a run, since other goroutines may allocate.
func leastPerRun(runs int, f func()) (allocs, bytes float64) {
	var before, after runtime.MemStats
	fewest, least := uint64(math.MaxUint64), uint64(math.MaxUint64)
	for range runs {
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		fewest = min(fewest, after.Mallocs-before.Mallocs)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	return float64(fewest), float64(least)
}
