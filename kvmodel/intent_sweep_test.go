package kvmodel_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
)

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
		if a.Balance != want[id] {
			t.Errorf("%s has %d, want %d", id, a.Balance, want[id])
		}
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
