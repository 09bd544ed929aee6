package kvmodel_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

type heard struct {
	mu   sync.Mutex
	what []string
}

func (h *heard) add(c kvmodel.Change[note, string]) {
	text := "deleted"
	if c.Record != nil {
		text = c.Record.Text
	}
	if c.Created {
		text += ", created"
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.what = append(h.what, c.ID+": "+text)
}

func (h *heard) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.what)
}

func (h *heard) listen(r *notes) {
	r.OnChange(func(_ context.Context, c kvmodel.Change[note, string]) error { h.add(c); return nil })
}

func TestOnChange_HearsOfEveryChange(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, s kv.Store) {
		db := closing(t, open(t, s))
		r := kvmodel.NewRecords(db, noteSchema())
		var h heard
		h.listen(r)
		steps := []func() error{
			func() error { return r.Create(ctx, &note{ID: "a", Text: "1"}) },
			func() error {
				_, err := r.Update(ctx, "a", func(n *note) error { n.Text = "2"; return nil })
				return err
			},
			func() error { _, err := r.Update(ctx, "a", func(*note) error { return nil }); return err },
			func() error { return r.Put(ctx, &note{ID: "a", Text: "3", Version: 2}) },
			func() error { return r.Delete(ctx, "a") },
			func() error {
				_, err := r.Upsert(ctx, "b", func(n *note) error { n.Text = "4"; return nil })
				return err
			},
			func() error {
				if _, err := r.Get(ctx, "b"); err != nil {
					return err
				}
				return r.Delete(ctx, "b")
			},
		}
		for _, step := range steps {
			must(t, step())
			must(t, db.Flush(ctx))
		}
		want := []string{"a: 1, created", "a: 2", "a: 3", "a: deleted", "b: 4, created", "b: deleted"}
		wantSame(t, want, h.all(), "heard")
		wantSame(t, 0, db.Stats().Lines, "open lines")
	})
}

func TestOnChange_DoesNotHearOfWhatDidNotHappen(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, s kv.Store) {
		db := closing(t, open(t, s))
		r := kvmodel.NewRecords(db, noteSchema())
		must(t, r.Create(ctx, &note{ID: "a", Text: "1"}))
		must(t, db.Flush(ctx))
		var h heard
		h.listen(r)
		wantErr(t, r.Create(ctx, &note{ID: "a", Text: "2"}), kv.ErrExists)
		wantErr(t, r.Create(ctx, &note{Text: ""}), kvmodel.ErrInvalid)
		wantErr(t, r.Delete(ctx, "nobody"), kv.ErrNotFound)
		must(t, db.Flush(ctx))
		wantLen(t, 0, h.all(), "heard, want nothing")
	})
}

func TestOnChange_OneThatFailsOrPanicsIsTriedAgainAndDoesNotKeepItFromOthers(t *testing.T) {
	for name, fail := range map[string]func() error{
		"fails":  func() error { return errOfMine },
		"panics": func() error { panic("boom") },
	} {
		for kind, with := range kinds {
			t.Run(name+", "+kind, func(t *testing.T) {
				inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
					p := start(t, with(mem)).ends(t)
					var calls atomic.Int64
					p.OnChange(func(context.Context, kvmodel.Change[note, string]) error {
						if calls.Add(1) <= 5 {
							return fail()
						}
						return nil
					})
					var h heard
					h.listen(p.notes)
					must(t, p.Create(ctx, &note{ID: "a", Text: "1"}))
					wait(2 * time.Second)
					wantSame(t, 3, calls.Load(), "tries")
					if len(h.all()) == 0 {
						t.Error("the other handler heard nothing")
					}
					if s := p.db.Stats(); s.Waiting != 1 || s.Lines != 1 || s.Failed == 0 {
						t.Errorf("stats %+v, want one that waits, with its line", s)
					}
					wait(30 * time.Second)
					if s := p.db.Stats(); calls.Load() != 6 || s.Waiting != 0 || s.Lines != 0 {
						t.Errorf("%d calls, stats %+v; want 6 and nothing left", calls.Load(), s)
					}
				})
			})
		}
	}
}

func TestOnChange_OneThatFailsForADayIsGivenUpAndTheJournalGoesOn(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		p := start(t, plain(mem)).ends(t)
		p.OnChange(func(context.Context, kvmodel.Change[note, string]) error { return errOfMine })
		must(t, p.Create(ctx, &note{ID: "a", Text: "1"}))
		wait(23 * time.Hour)
		wantSame(t, 1, p.db.Stats().Lines, "open lines after 23 hours")
		wait(2 * time.Hour)
		wantSame(t, 0, p.db.Stats().Lines, "open lines after 25 hours")
		wantLen(t, 1, keys(mem, "line"), "segments, want one")
		wantSame(t, []string{"a"}, allIDs(t, ctx, p.notes), "all")
	})
}

func TestOnChange_IsNotCalledForTwoChangesOfARecordAtATime(t *testing.T) {
	eachNotes(t, simpleNotes(), func(t *testing.T, ctx context.Context, r *notes, _ kv.Store) {
		var calls, last atomic.Int64
		r.OnChange(func(_ context.Context, c kvmodel.Change[note, string]) error {
			if n := calls.Add(1); n > 1 {
				t.Errorf("%d calls at a time", n)
			}
			time.Sleep(time.Millisecond)
			last.Store(int64(len(c.Record.Text)))
			calls.Add(-1)
			return nil
		})
		must(t, r.Create(ctx, &note{ID: "a", Text: "."}))
		for range 9 {
			proof.Done(t)(r.Update(ctx, "a", func(v *note) error { v.Text += "."; return nil }))
		}
		must(t, r.DB().Flush(ctx))
		proof.Equal(t, last.Load(), 10, "the last call saw change")
	})
}

func TestOnChange_OneThatHangsHoldsUpNobodyForLong(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		p := start(t, plain(mem)).ends(t)
		free := make(chan struct{})
		p.OnChange(func(context.Context, kvmodel.Change[note, string]) error { <-free; return nil })
		before := runtime.NumGoroutine()
		begin := time.Now()
		for i := range 500 {
			must(t, p.Create(ctx, &note{ID: fmt.Sprintf("n%03d", i), Text: "x"}))
		}
		if took := time.Since(begin); took > time.Second {
			t.Errorf("500 changes took %v of the callers' time", took)
		}
		wait(5 * time.Minute)
		if n := runtime.NumGoroutine() - before; n > 300 {
			t.Errorf("%d goroutines hang", n)
		}
		close(free)
		wait(5 * time.Minute)
		if s := p.db.Stats(); s.Lines != 0 || s.Waiting != 0 {
			t.Errorf("stats %+v, want nothing left", s)
		}
	})
}

func TestOnChange_ADeletionWhoseLineCouldNotBeWrittenIsToldAllTheSame(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		lineless := func(_ context.Context, ops []kv.Op, next func([]kv.Op) error) error {
			_ = next(ops)
			for i := range ops {
				if ops[i].Kind == kv.Append {
					ops[i].Result = kv.Result{Err: kv.ErrUnavailable}
				}
			}
			return kv.Unanswered(ops)
		}
		s := tamper(plain(mem), nil)
		p := start(t, s).ends(t)
		var h heard
		h.listen(p.notes)
		must(t, p.Create(ctx, &note{ID: "a", Text: "1", Code: "c"}))
		must(t, p.db.Flush(ctx))
		proof.Done(t)(p.Get(ctx, "a"))
		s.set(lineless)
		must(t, p.Delete(ctx, "a")) // of a copy at hand: the line goes with the commit
		s.set(nil)
		must(t, p.db.Flush(ctx))
		wantSame(t, []string{"a: 1, created", "a: deleted"}, h.all(), "heard")
		wantLen(t, 0, keys(mem, "u"), "claims left")
	})
}

func TestOnChange_AChangeThatStayedUnclearAndWasMadeIsTold(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		s := tamper(plain(mem), nil)
		p := start(t, s).ends(t)
		var h heard
		h.listen(p.notes)
		var made atomic.Bool
		s.set(func(_ context.Context, ops []kv.Op, next func([]kv.Op) error) error {
			if made.Load() {
				return kv.Fail(ops, kv.ErrUnavailable)
			}
			err := next(ops)
			if ops[0].Kind == kv.Add && strings.HasPrefix(ops[0].Key, "r:") {
				made.Store(true)
				return kv.Fail(ops, kv.ErrUnclear)
			}
			return err
		})
		wantErr(t, p.Create(ctx, &note{ID: "a", Text: "1"}), kv.ErrUnclear)
		s.set(nil)
		wait(time.Minute)
		must(t, p.db.Flush(ctx))
		if got := h.all(); !slices.Contains(got, "a: 1, created") {
			t.Errorf("heard %q, want of a, which was created after all", got)
		}
	})
}

func TestFlush_WaitsForWhatIsUnderWayAndSaysWhatIsLeft(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		p := start(t, plain(mem)).ends(t)
		var done atomic.Int64
		var broken atomic.Bool
		p.OnChange(func(context.Context, kvmodel.Change[note, string]) error {
			if broken.Load() {
				return errOfMine
			}
			time.Sleep(3 * time.Second)
			done.Add(1)
			return nil
		})
		for i := range 5 {
			must(t, p.Create(ctx, &note{ID: fmt.Sprint(i), Text: "x"}))
		}
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		err := p.db.Flush(short)
		wantErr(t, err, context.DeadlineExceeded)
		if err != nil && !strings.Contains(err.Error(), "5 things still to do") {
			t.Errorf("error %q, want it to say how much is left", err)
		}
		must(t, p.db.Flush(ctx))
		proof.Equal(t, done.Load(), 5, "handlers had ended")
		broken.Store(true)
		must(t, p.Create(ctx, &note{ID: "x", Text: "x"}))
		err = p.db.Flush(ctx)
		wantErr(t, err, errOfMine)
		if err != nil && !strings.Contains(err.Error(), "1 thing") {
			t.Errorf("error %q, want it to say how much is left", err)
		}
		broken.Store(false)
		must(t, p.db.Flush(ctx))
	})
}

func TestClose_DrainsWithinItsDeadlineAndLeavesTheRestInTheJournal(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		p := start(t, plain(mem))
		p.OnChange(func(ctx context.Context, _ kvmodel.Change[note, string]) error {
			<-ctx.Done()
			return ctx.Err()
		})
		must(t, p.Create(ctx, &note{ID: "a", Text: "1"}))
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		begin := time.Now()
		err := p.db.Close(short)
		wantErr(t, err, context.DeadlineExceeded)
		if took := time.Since(begin); took > 2*time.Second {
			t.Errorf("it took %v", took)
		}
		synctest.Wait()
		other := start(t, plain(mem)).ends(t)
		var h heard
		h.listen(other.notes)
		must(t, other.Create(ctx, &note{ID: "b", Text: "2"}))
		wait(2 * time.Minute)
		if got := h.all(); !slices.Contains(got, "a: 1, created") {
			t.Errorf("heard %q, want what the first process left", got)
		}
	})
}

func TestClose_LeavesNoGoroutine(t *testing.T) {
	for kind, with := range kinds {
		t.Run(kind, func(t *testing.T) {
			// The bubble ends in a panic if a goroutine is left.
			inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
				p := start(t, with(mem))
				var h heard
				h.listen(p.notes)
				createNotes(t, ctx, p.notes, 0, 100)
				proof.Done(t)(p.Update(ctx, "note-00007", func(n *note) error { n.Code = "c"; return nil }))
				must(t, p.db.Close(ctx))
				wantLen(t, 0, keys(mem, "out", "line", "fixed"), "keys left")
				if _, err := p.Get(ctx, "note-00007"); errors.Is(err, kv.ErrNotFound) {
					t.Errorf("a closed DB says %v", err)
				}
			})
		})
	}
}
