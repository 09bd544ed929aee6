package kvmodel_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

type move struct {
	From, To string
	Amount   int64
}

func (m *move) Validate() error {
	if m.Amount < 0 {
		return errors.New("a negative amount")
	}
	return nil
}

func (m *move) Turn() string { return m.From }

func TestIntent_DoTakesOneTripBesidesItsSteps(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, s kv.Store) {
		db := closing(t, open(t, s))
		intent := kvmodel.NewIntent(db, "move", func(ctx context.Context, m move) error {
			_, err := kv.One(ctx, db.Store(), kv.OpGet("x"))
			if errors.Is(err, kv.ErrNotFound) {
				err = nil
			}
			return err
		})
		must(t, intent.Do(ctx, move{})) // opens the journal
		if c := cost(t, ctx, func(ctx context.Context) error { return intent.Do(ctx, move{From: "a"}) }); c.Trips != 2 {
			t.Errorf("got %v, want the line and the step: 2 trips", c)
		}
	})
}

func TestIntent_ArgsThatCannotBeCarriedOutBeginNothing(t *testing.T) {
	ctx := t.Context()
	db := closing(t, open(t, memkv.New(memkv.Options{})))
	calls := 0
	intent := kvmodel.NewIntent(db, "move", func(context.Context, move) error { calls++; return nil })
	wantErr(t, intent.Do(ctx, move{Amount: -1}), kvmodel.ErrInvalid)
	wantErr(t, intent.Do(ctx, move{From: strings.Repeat("x", 17<<10)}), kvmodel.ErrTooLarge)
	reader := open(t, memkv.New(memkv.Options{}), kvmodel.ReadOnly())
	wantErr(t, kvmodel.NewIntent(reader, "move", func(context.Context, move) error { calls++; return nil }).Do(ctx, move{}), kvmodel.ErrReadOnly)
	if calls != 0 || db.Stats().Lines != 0 {
		t.Errorf("%d calls and %d lines, want none", calls, db.Stats().Lines)
	}
}

// A failing intent is called again until it ends, and Do reports it as unclear until then.
func TestIntent_AFailureIsTriedAgainUntilItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		db := closing(t, open(t, memkv.New(memkv.Options{})))
		var broken atomic.Bool
		var got atomic.Int64
		broken.Store(true)
		away := errors.New("the other side is away")
		intent := kvmodel.NewIntent(db, "move", func(_ context.Context, m move) error {
			if broken.Load() {
				return away
			}
			got.Add(m.Amount)
			return nil
		})
		err := intent.Do(ctx, move{Amount: 7})
		wantErr(t, err, kvmodel.ErrUnclear)
		wantErr(t, err, away)
		time.Sleep(time.Minute)
		s := db.Stats().Intents
		if len(s) != 1 || s[0].Name != "move" || s[0].Open != 1 || s[0].Oldest < time.Minute || s[0].Err != away {
			t.Errorf("got %+v, want one that has failed for a minute", s)
		}
		open, err := db.Underway(ctx)
		must(t, err)
		if len(open) != 1 || !open[0].Own || !open[0].Known || fmt.Sprint(open[0].Args["Amount"]) != "7" || !errors.Is(open[0].Err, away) {
			t.Errorf("got %+v, want the one that fails", open)
		}
		broken.Store(false)
		time.Sleep(20 * time.Second)
		if got.Load() != 7 || len(db.Stats().Intents) != 0 || db.Stats().Lines != 0 {
			t.Errorf("moved %d, %+v, want 7 and nothing left", got.Load(), db.Stats())
		}
		open, err = db.Underway(ctx)
		must(t, err)
		if len(open) != 0 {
			t.Errorf("got %+v, want none", open)
		}
	})
}

// A refusal stands, even if the process dies or the change becomes possible later.
func TestIntent_WhatWasRefusedIsNotCarriedOutLater(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, m *mortal, db *kvmodel.DB){
		"killed at once":          func(_ *testing.T, m *mortal, _ *kvmodel.DB) { m.kill() },
		"killed after a while":    func(_ *testing.T, m *mortal, _ *kvmodel.DB) { time.Sleep(time.Minute); m.kill() },
		"closed":                  func(t *testing.T, _ *mortal, db *kvmodel.DB) { _ = db.Close(t.Context()) },
		"told after it was tried": func(_ *testing.T, m *mortal, _ *kvmodel.DB) { time.Sleep(time.Minute); m.kill() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				disk := shared{plain(memkv.New(memkv.Options{}))}
				m := &mortal{Store: disk}
				first := open(t, m)
				poor := errors.New("not enough")
				var calls atomic.Int64
				intent := kvmodel.NewIntent(first, "move", func(_ context.Context, args move) error {
					if args.Amount == 1 {
						return errors.New("stuck")
					}
					if n := calls.Add(1); name == "told after it was tried" && n <= 3 {
						return errors.New("away")
					}
					return kvmodel.Refused(poor)
				})
				wantErr(t, intent.Do(ctx, move{Amount: 1}), kvmodel.ErrUnclear)
				if err := intent.Do(ctx, move{From: "a", Amount: 7}); name == "told after it was tried" {
					wantErr(t, err, kvmodel.ErrUnclear)
				} else if wantErr(t, err, poor); errors.Is(err, kvmodel.ErrUnclear) {
					t.Errorf("%v: want no ErrUnclear", err)
				}
				end(t, m, first)
				_ = first.Close(ctx)
				var done proof.Record[int64] // amounts
				next := open(t, disk)
				kvmodel.NewIntent(next, "move", func(_ context.Context, args move) error { done.Add(args.Amount); return nil })
				time.Sleep(2 * time.Hour)
				wantSame(t, []int64{1}, done.Take(), "carried out other than the one that was stuck")
				_ = next.Close(ctx)
			})
		})
	}
}

func TestIntent_ARefusalThatCannotBeWrittenDownIsNone(t *testing.T) {
	m := &mortal{Store: shared{plain(memkv.New(memkv.Options{}))}}
	db := open(t, m)
	poor := errors.New("not enough")
	intent := kvmodel.NewIntent(db, "move", func(context.Context, move) error {
		m.kill()
		return kvmodel.Refused(poor)
	})
	err := intent.Do(t.Context(), move{})
	if wantErr(t, err, kvmodel.ErrUnclear); errors.Is(err, poor) || kvmodel.HTTPStatus(err) != 503 {
		t.Errorf("%v: want no refusal", err)
	}
	_ = db.Close(t.Context())
}

// The line of an intent that ended stays while another in the journal has not, and marks it as
// ended.
func TestIntent_WhatHasEndedLongAgoIsNotCarriedOutAgain(t *testing.T) {
	for name, end := range map[string]func(ctx context.Context, m *mortal, db *kvmodel.DB){
		"killed": func(_ context.Context, m *mortal, _ *kvmodel.DB) { time.Sleep(time.Minute); m.kill() },
		"closed": func(ctx context.Context, _ *mortal, db *kvmodel.DB) { _ = db.Close(ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				disk := shared{plain(memkv.New(memkv.Options{}))}
				m := &mortal{Store: disk}
				first := open(t, m)
				do := func(_ context.Context, args move) error {
					if args.Amount == 1 {
						return errors.New("stuck")
					}
					return nil
				}
				intent := kvmodel.NewIntent(first, "move", do)
				must(t, intent.Do(ctx, move{From: "a", Amount: 2}))
				wantErr(t, intent.Do(ctx, move{From: "b", Amount: 1}), kvmodel.ErrUnclear)
				must(t, intent.Do(ctx, move{From: "c", Amount: 3}))
				end(ctx, m, first)
				var calls [4]atomic.Int64 // by amount
				for range 3 {
					next := open(t, disk)
					kvmodel.NewIntent(next, "move", func(ctx context.Context, args move) error {
						calls[args.Amount].Add(1)
						return do(ctx, args)
					})
					time.Sleep(2 * time.Minute)
					_ = next.Close(ctx)
				}
				if first, others := calls[1].Load(), calls[2].Load()+calls[3].Load(); first < 3 || others != 0 {
					t.Errorf("%d calls for the first and %d for the others, want them for the first alone", first, others)
				}
				_ = first.Close(ctx)
			})
		})
	}
}

// A function that panics has failed.
func TestIntent_APanicIsAFailure(t *testing.T) {
	db := open(t, memkv.New(memkv.Options{}))
	calls := 0
	intent := kvmodel.NewIntent(db, "move", func(context.Context, move) error {
		if calls++; calls == 1 {
			panic("lost my way")
		}
		return nil
	})
	must(t, intent.Do(t.Context(), move{}))
	proof.Equal(t, calls, 2, "calls")
}

func TestIntent_TooManyThatFailLetNoMoreBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		db := open(t, memkv.New(memkv.Options{}))
		intent := kvmodel.NewIntent(db, "move", func(context.Context, move) error { return errors.New("no") })
		for range 100 {
			wantErr(t, intent.Do(ctx, move{}), kvmodel.ErrUnclear)
		}
		err := intent.Do(ctx, move{})
		wantErr(t, err, kvmodel.ErrUnavailable)
		if errors.Is(err, kvmodel.ErrUnclear) {
			t.Errorf("%v says that it may have begun", err)
		}
		_ = db.Close(ctx)
	})
}

// Two intents with the same turn wait for each other, others do not.
func TestIntent_TwoWithOneTurnAreNotCarriedOutSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := closing(t, open(t, memkv.New(memkv.Options{})))
		var busy, most, all atomic.Int64
		intent := kvmodel.NewIntent(db, "move", func(_ context.Context, m move) error {
			all.Add(1)
			if m.From == "a" {
				most.Store(max(most.Load(), busy.Add(1)))
				time.Sleep(time.Second)
				busy.Add(-1)
			}
			return nil
		})
		done := make(chan error)
		for range 5 {
			go func() { done <- intent.Do(t.Context(), move{From: "a"}) }()
		}
		for range 5 {
			must(t, <-done)
		}
		if most.Load() != 1 || all.Load() != 5 {
			t.Errorf("%d of %d at once, want 1 of 5", most.Load(), all.Load())
		}
	})
}

// Otherwise a process that dies in the middle would leave it half done.
func TestIntent_AfterAnUnclearBegin_TheFunctionIsCalledOnlyWhenTheArgsAreInTheJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, mem := t.Context(), memkv.New(memkv.Options{})
		s := tamper(shared{plain(mem)}, nil)
		db := open(t, s)
		calls := 0
		intent := kvmodel.NewIntent(db, "move", func(ctx context.Context, m move) error {
			calls++
			for _, key := range keys(mem, "line") {
				r, err := kv.One(ctx, mem, kv.OpGet(key))
				must(t, err)
				if strings.Contains(string(r.Value), "intent move") {
					return nil
				}
			}
			return errors.New("it is in no journal")
		})
		s.set(func(_ context.Context, ops []kv.Op, next func([]kv.Op) error) error {
			if ops[0].Kind == kv.Append && strings.HasPrefix(ops[0].Key, "line:") {
				return kv.Fail(ops, kv.ErrUnclear)
			}
			return next(ops)
		})
		wantErr(t, intent.Do(ctx, move{Amount: 1}), kvmodel.ErrUnclear)
		wait(time.Minute)
		proof.Equal(t, calls, 0, "calls before the args are in the journal")
		s.set(nil)
		wait(time.Minute)
		proof.Equal(t, calls, 1, "calls")
		must(t, db.Close(ctx))
	})
}

// An intent of a dead process runs in a process that knows its name. Until there is one, it waits
// and is listed.
func TestIntent_WaitsForAProcessThatKnowsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		disk := shared{plain(memkv.New(memkv.Options{}))}
		m := &mortal{Store: disk}
		dead := open(t, m)
		intent := kvmodel.NewIntent(dead, "move", func(context.Context, move) error {
			m.kill()
			return errDead
		})
		wantErr(t, intent.Do(ctx, move{Amount: 7}), kvmodel.ErrUnclear)
		_ = dead.Close(ctx)

		other := open(t, disk)
		kvmodel.NewRecords(other, noteSchema())
		time.Sleep(26 * time.Hour)
		all, err := other.Underway(ctx)
		must(t, err)
		if len(all) != 1 || all[0].Name != "move" || all[0].Known || all[0].Own {
			t.Errorf("got %+v, want one that this process does not know", all)
		}

		var got atomic.Int64
		kvmodel.NewIntent(other, "move", func(_ context.Context, m move) error { got.Add(m.Amount); return nil })
		time.Sleep(2 * time.Minute)
		proof.Equal(t, got.Load(), 7, "moved")
		time.Sleep(3 * time.Hour)
		proof.Equal(t, got.Load(), 7, "moved")
		writers, err := other.Writers(ctx)
		must(t, err)
		proof.Len(t, writers, 0, "the journal of the dead is still there")
		_ = other.Close(ctx)
	})
}

// Two processes try the intents of a dead third, and one of them ends them. The other counts none
// of them from its next look on.
func TestIntent_WhatAnotherProcessHasEndedIsNotOpenHere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		disk := shared{plain(memkv.New(memkv.Options{}))}
		m := &mortal{Store: disk}
		dead := open(t, m)
		var fails atomic.Bool
		fails.Store(true)
		run := func(context.Context, move) error {
			if fails.Load() {
				return errors.New("the bank is closed")
			}
			return nil
		}
		intent := kvmodel.NewIntent(dead, "move", run)
		for i := range 5 {
			wantErr(t, intent.Do(ctx, move{Amount: int64(i)}), kvmodel.ErrUnclear)
		}
		m.kill()

		var others []*kvmodel.DB
		for range 2 {
			time.Sleep(5 * time.Second)
			db := open(t, disk)
			kvmodel.NewIntent(db, "move", run)
			others = append(others, db)
		}
		openIn := func(db *kvmodel.DB) (n int) {
			for _, s := range db.Stats().Intents {
				n += s.Open
			}
			return n
		}
		time.Sleep(3 * time.Minute)
		for i, db := range others {
			wantSame(t, 5, openIn(db), "open in process %d while all fail", i)
		}
		fails.Store(false)
		time.Sleep(time.Minute)
		for i, db := range others {
			wantSame(t, 0, openIn(db), "open in process %d after all have ended", i)
			_ = db.Close(ctx)
		}
		_ = dead.Close(ctx)
	})
}

// A failing intent does not keep others of the dead process from ending, and none that ended runs
// again in the meantime.
func TestIntent_OneThatFailsHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		disk := shared{plain(memkv.New(memkv.Options{}))}
		m := &mortal{Store: disk}
		dead := open(t, m)
		intent := kvmodel.NewIntent(dead, "move", func(_ context.Context, args move) error {
			if args.Amount == 3 {
				m.kill()
			}
			return errors.New("not yet")
		})
		for _, amount := range []int64{1, 2, 3} {
			wantErr(t, intent.Do(ctx, move{Amount: amount}), kvmodel.ErrUnclear)
		}
		var stuck atomic.Bool
		stuck.Store(true)
		var calls [4]atomic.Int64 // by amount
		other := open(t, disk)
		kvmodel.NewIntent(other, "move", func(_ context.Context, m move) error {
			calls[m.Amount].Add(1)
			if m.Amount == 1 && stuck.Load() {
				return errors.New("stuck")
			}
			return nil
		})
		time.Sleep(10 * time.Minute)
		if first, second, third := calls[1].Load(), calls[2].Load(), calls[3].Load(); first < 10 || second != 1 || third != 1 {
			t.Errorf("%d, %d and %d calls, want the first often, the others once", first, second, third)
		}
		if s := other.Stats().Intents; len(s) != 1 || s[0].Open != 1 {
			t.Errorf("got %+v, want the one that is stuck", s)
		}
		stuck.Store(false)
		time.Sleep(time.Minute)
		if s := other.Stats().Intents; len(s) != 0 {
			t.Errorf("got %+v, want none", s)
		}
		_ = other.Close(ctx)
		_ = dead.Close(ctx)
	})
}

// Fields that an earlier release did not have are empty, and those of a later one are ignored.
func TestIntent_ArgsOfAnotherReleaseAreRead(t *testing.T) {
	type wider struct {
		From, To, Why string
		Amount        int64
	}
	for _, newer := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx := t.Context()
			disk := shared{plain(memkv.New(memkv.Options{}))}
			m := &mortal{Store: disk}
			dead, other := open(t, m), open(t, disk)
			var got atomic.Value
			if newer {
				wantErr(t, kvmodel.NewIntent(dead, "move", func(context.Context, wider) error { m.kill(); return errDead }).Do(ctx, wider{From: "a", Why: "rent"}), kvmodel.ErrUnclear)
				kvmodel.NewIntent(other, "move", func(_ context.Context, m move) error { got.Store(m.From); return nil })
			} else {
				wantErr(t, kvmodel.NewIntent(dead, "move", func(context.Context, move) error { m.kill(); return errDead }).Do(ctx, move{From: "a"}), kvmodel.ErrUnclear)
				kvmodel.NewIntent(other, "move", func(_ context.Context, w wider) error { got.Store(w.From + w.Why); return nil })
			}
			time.Sleep(2 * time.Minute)
			if got.Load() != "a" {
				t.Errorf("got %v, want what both know", got.Load())
			}
			_ = other.Close(ctx)
			_ = dead.Close(ctx)
		})
	}
}

// In the sweep of intents, two processes move amounts between accounts. Each account lists the
// moves it has seen, so a step can tell whether it is done. One process is killed at any of its
// steps, and the other or a later one goes on. In the end each move that began has changed both
// accounts exactly once, and no two moves from one account ran at the same time.

type account struct {
	ID      string
	Balance int64
	Seen    []string // moves
}

type transfer struct {
	ID, From, To string
	Amount       int64
}

// Turn makes the transfers from one account run one after the other.
func (t *transfer) Turn() string { return t.From }

type booth struct {
	mu   sync.Mutex
	open map[string]time.Time
	both int // turns that began during another
}

const almostTurn = 50 * time.Second

func (c *booth) begin(turn string) (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if at, open := c.open[turn]; open && now.Sub(at) < almostTurn {
		c.both++
	}
	c.open[turn] = now
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.open[turn].Equal(now) {
			delete(c.open, turn)
		}
	}
}

type bank struct {
	turns    *booth
	db       *kvmodel.DB
	accounts *kvmodel.Records[account, string]
	move     *kvmodel.Intent[transfer]
}

func newBank(s kv.Store, turns *booth) *bank {
	db := openSwept(s)
	b := &bank{turns: turns, db: db, accounts: kvmodel.NewRecords(db, kvmodel.Schema[account, string]{
		Name: "Account", Version: 1, Key: kvmodel.StringKey[string](), Codec: keeping[account]{},
		ID: func(a *account) string { return a.ID }, SetID: func(a *account, id string) { a.ID = id },
	})}
	b.move = kvmodel.NewIntent(db, "move", b.carryOut)
	return b
}

func (b *bank) carryOut(ctx context.Context, t transfer) error {
	defer b.turns.begin(t.From)()
	if err := b.book(ctx, t.From, t.ID, -t.Amount); err != nil {
		return err
	}
	return b.book(ctx, t.To, t.ID, t.Amount)
}

// book changes an account, unless it has seen the move.
func (b *bank) book(ctx context.Context, id, move string, amount int64) error {
	_, err := b.accounts.Upsert(ctx, id, func(a *account) error {
		if !slices.Contains(a.Seen, move) {
			a.Balance += amount
			a.Seen = append(a.Seen, move)
		}
		return nil
	})
	return err
}

type transfers struct{ sure, open []transfer }

func moveAround(s kv.Store, turns *booth, name string, rng *rand.Rand, told *transfers) {
	b := newBank(s, turns)
	for n := range 4 {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		t := transfer{fmt.Sprint(name, n), pick(rng, []string{"a", "b"}), pick(rng, []string{"c", "d"}), 1 + rng.Int64N(9)}
		told.open = append(told.open, t)
		if err := b.move.Do(ctx, t); err == nil {
			told.sure = append(told.sure, t)
		}
		cancel()
		if rng.IntN(3) == 0 {
			time.Sleep(time.Duration(rng.IntN(10)) * time.Second)
		}
	}
	_ = b.db.Close(context.Background())
}

func TestSweep_AnIntentThatHasBegunIsCarriedOutWhole(t *testing.T) {
	for _, powers := range []kvtest.Powers{kvtest.NoPowers, kvtest.ServerPowers, kvtest.AllPowers, kvtest.OptimisticPowers} {
		world := kvtest.Hostile(powers)
		world.Crash = 0
		proof.Sweep(t, 60, world, func(sim *kvtest.Sim) {
			sim.CrashAt("p", 1+sim.Rand().IntN(80))
			turns := &booth{open: map[string]time.Time{}}
			all := map[string]*transfers{"p": {}, "q": {}}
			for i, name := range []string{"p", "q"} {
				rng := rand.New(rand.NewPCG(sim.Seed(), uint64(i)))
				sim.Go(name, func(s kv.Store) { moveAround(s, turns, name, rng, all[name]) })
			}
			sim.Wait()
			repairAll(sim, func(s kv.Store) *kvmodel.DB { return newBank(s, turns).db })
			sim.Wait()
			checkTransfers(sim, all)
			if turns.both > 0 {
				t.Errorf("%d transfers from an account had another one beside them", turns.both)
			}
		})
	}
}

// checkTransfers asserts that each move changed both accounts or neither, that it changed them if
// the process was told so, and that the balances agree with the moves.
func checkTransfers(sim *kvtest.Sim, all map[string]*transfers) {
	t := sim.T()
	accounts := map[string]*account{}
	b := newBank(sim.Still(), nil)
	for _, id := range []string{"a", "b", "c", "d"} {
		a, err := b.accounts.Get(context.Background(), id)
		if errors.Is(err, kvmodel.ErrNotFound) {
			a, err = &account{}, nil
		}
		must(t, err)
		accounts[id] = a
	}
	defer b.db.Close(context.Background())
	want := map[string]int64{}
	for _, told := range all {
		for _, m := range told.open {
			from, to := timesIn(accounts[m.From].Seen, m.ID), timesIn(accounts[m.To].Seen, m.ID)
			if from != to || from > 1 || from == 0 && slices.Contains(told.sure, m) {
				t.Errorf("%+v was booked %d times from and %d times to; sure %t", m, from, to, slices.Contains(told.sure, m))
			}
			if from == 1 {
				want[m.From] -= m.Amount
				want[m.To] += m.Amount
			}
		}
	}
	for id, a := range accounts {
		proof.Equal(t, a.Balance, want[id], "%s", id)
	}
}

func timesIn(all []string, one string) (n int) {
	for _, s := range all {
		if s == one {
			n++
		}
	}
	return n
}
