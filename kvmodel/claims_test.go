package kvmodel_test

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/frame"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// Races about a claim that the sweeps rarely reach.

const claimOfX = "u:Member:ByEmail:x"

// hooked is a store that calls before with each op, before carrying it out.
type hooked struct {
	kv.Store
	before func(kv.Op)
}

func (h *hooked) Powers() kv.Powers { return kv.Powers{} }
func (h *hooked) Close() error      { return nil }

func (h *hooked) Do(ctx context.Context, ops []kv.Op) error {
	for _, op := range ops {
		h.before(op)
	}
	return h.Store.Do(ctx, ops)
}

// atCommitOf returns a hook that calls f once, before the record id is changed.
func atCommitOf(id string, f func()) func(kv.Op) {
	var once sync.Once
	return func(op kv.Op) {
		if op.Kind == kv.CompareAndSwap && op.Key == "r:Member:"+id {
			once.Do(f)
		}
	}
}

// setEmail sets the email of the record id. It is no error if another record holds it.
func setEmail(t *testing.T, m *members, id, email string) {
	t.Helper()
	_, err := m.Upsert(context.Background(), id, func(v *member) error { v.Email = email; return nil })
	var taken *kvmodel.TakenError
	if err != nil && !errors.As(err, &taken) {
		t.Errorf("%s takes %q: %v", id, email, err)
	}
}

func wantOneHolder(t *testing.T, s kv.Store) {
	t.Helper()
	ctx := context.Background()
	m := openMembers(still{s})
	var holders []string
	for _, id := range []string{"a", "b"} {
		if v, err := m.Get(ctx, id); err != nil {
			t.Error(err)
		} else if v.Email == "x" {
			holders = append(holders, id)
		}
	}
	r, err := kv.One(ctx, s, kv.OpGet(claimOfX))
	if err != nil || len(holders) != 1 || holderIn(r) != holders[0] {
		t.Errorf("%q hold x, and the claim is %q, %v", holders, r.Value, err)
	}
	closeAll(t, m)
}

func closeAll(t *testing.T, all ...*members) {
	t.Helper()
	for _, m := range all {
		proof.Is(t, m.db.Close(context.Background()), nil)
	}
}

func TestClaim_ThatIsPendingShowsNothing(t *testing.T) {
	mem := memkv.New(memkv.Options{})
	m := openMembers(still{mem})
	setEmail(t, m, "a", "")
	oldClaim(t, mem, "a")
	if v, err := m.byEmail.Find(context.Background(), "x"); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("found by x: %+v, %v", v, err)
	}
	closeAll(t, m)
}

func claimOf(base uint64, id string) []byte {
	return frame.Whole(append(binary.AppendUvarint(nil, base), id...))
}

func holderIn(r kv.Result) string {
	payload, err := frame.Open(r.Value)
	if _, n := binary.Uvarint(payload); err == nil && n > 0 {
		return string(payload[n:])
	}
	return ""
}

// oldClaim stores a claim of id on x, as left by a change that read the record long ago and died.
func oldClaim(t *testing.T, s kv.Store, id string) {
	t.Helper()
	proof.Done(t)(kv.One(context.Background(), s, kv.OpAdd(claimOfX, claimOf(1, id))))
}

// A change finds an old claim of its own record. A rival comes before it commits.
func TestClaim_OfOnesOwnIsRefreshed(t *testing.T) {
	mem := memkv.New(memkv.Options{})
	rival := openMembers(still{mem})
	m := openMembers(&hooked{mem, atCommitOf("a", func() { setEmail(t, rival, "b", "x") })})
	setEmail(t, rival, "a", "")
	oldClaim(t, mem, "a")
	setEmail(t, rival, "b", "")
	setEmail(t, m, "a", "x")
	closeAll(t, m, rival)
	wantOneHolder(t, mem)
}

// A change has read its record before another change of the same record has claimed x, and claims
// it itself. A rival comes before either commits.
func TestClaim_IsNotLoweredByAnOlderRead(t *testing.T) {
	mem := memkv.New(memkv.Options{})
	rival := openMembers(still{mem})
	setEmail(t, rival, "a", "")
	setEmail(t, rival, "b", "")

	claimed, goOn := make(chan struct{}), make(chan struct{})
	newer := openMembers(&hooked{mem, atCommitOf("a", func() { close(claimed); <-goOn })})
	var ended sync.WaitGroup
	var once sync.Once
	commit := atCommitOf("a", func() { setEmail(t, rival, "b", "x") })
	older := openMembers(&hooked{mem, func(op kv.Op) {
		if op.Kind == kv.Add && op.Key == claimOfX {
			once.Do(func() {
				setEmail(t, rival, "a", "y")
				ended.Go(func() { setEmail(t, newer, "a", "x") })
				<-claimed
			})
		}
		commit(op)
	}})
	setEmail(t, older, "a", "x")
	close(goOn)
	ended.Wait()
	closeAll(t, older, newer, rival)
	wantOneHolder(t, mem)
}

func TestRepair_AClaimThatArrivesAfterTheFirstPassIsReleasedByTheSecond(t *testing.T) {
	lost := kvtest.World{Powers: kvtest.ServerPowers, Fault: func(m kvtest.Moment) kvtest.Fault {
		if m.Client == "p" && strings.HasPrefix(m.Op.Key, "u:") {
			return kvtest.Lost
		}
		return kvtest.None
	}}
	kvtest.Simulate(t, 1, lost, func(sim *kvtest.Sim) {
		sim.Go("p", func(s kv.Store) {
			m := openMembers(s)
			_ = m.Create(context.Background(), &member{ID: "a", Email: "x"})
			_ = m.db.Close(context.Background())
		})
		for !strings.Contains(strings.Join(sim.Trace(), "\n"), `add "u:`) {
			sim.Steps(1)
		}
		sim.Crash("p")
		sim.Wait()
		sim.Do("fixer", func(s kv.Store) {
			m := openMembers(s)
			pass := func(wait time.Duration) {
				time.Sleep(wait)
				if err := m.db.Repair(context.Background()); err != nil {
					sim.T().Error(err)
				}
			}
			pass(0)
			pass(time.Minute)
			late := kv.OpAdd(claimOfX, claimOf(0, "a"))
			if _, err := kv.One(context.Background(), sim.Store(), late); err != nil {
				sim.T().Error("the late claim:", err)
			}
			pass(2 * time.Hour)
			_ = m.db.Close(context.Background())
		})
		checkAll(sim, false)
	})
}

// between is a store that reads the record before the claim when a release requests both, with a
// hook in between.
type between struct {
	kv.Store
	happen proof.Hook
}

func (*between) Powers() kv.Powers { return kv.Powers{} }

func (b *between) Do(ctx context.Context, ops []kv.Op) error {
	if len(ops) != 2 || ops[0].Kind != kv.Get || ops[0].Key != claimOfX || !b.happen.IsSet() {
		return b.Store.Do(ctx, ops)
	}
	late := b.Store.Do(ctx, ops[1:])
	b.happen.Run()
	return errors.Join(b.Store.Do(ctx, ops[:1]), late)
}

func TestRepair_AClaimThatIsNewerThanTheRecordThatWasReadStays(t *testing.T) {
	ctx, mem := context.Background(), memkv.New(memkv.Options{})
	s := &between{Store: still{mem}}
	m, other := openMembers(s), openMembers(still{mem})
	setEmail(t, m, "a", "x")
	s.happen.Set(func() { setEmail(t, other, "a", "z"); setEmail(t, other, "a", "x") })
	setEmail(t, m, "a", "y")
	must(t, m.db.Flush(ctx))
	if s.happen.IsSet() {
		t.Fatal("nothing was released")
	}
	if r, err := kv.One(ctx, mem, kv.OpGet(claimOfX)); err != nil || holderIn(r) != "a" {
		t.Errorf("the claim on x is %q, %v; want that of a", r.Value, err)
	}
	closeAll(t, m, other)
}
