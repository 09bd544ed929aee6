package kvmodel_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
)

// In the sweep, two processes change the same few records at the same time on a simulated store.
// Requests fail, time out and arrive late, and one process is killed somewhere. Then a third
// repairs. Every index must then be the function of the records, with no acknowledged change lost
// or made twice.

// member is a record with an index of each kind known to the write path: a unique value, claimed
// before the commit, and lists of appended entries.
type member struct {
	ID    string
	Email string
	Tags  []string
	Done  []string // a token for each change, to see which were made
}

type members struct {
	*kvmodel.Records[member, string]
	db      *kvmodel.DB
	byEmail *index.Unique[member, string]
}

func openMembers(s kv.Store) *members {
	db := openSwept(s)
	r := kvmodel.NewRecords(db, kvmodel.Schema[member, string]{
		Name: "Member", Version: 1,
		ID:    func(m *member) string { return m.ID },
		SetID: func(m *member, id string) { m.ID = id },
		Key:   kvmodel.StringKey[string](),
		Codec: asJSON[member]{},
	})
	r.Plug(logged{}, func(plug.Host) {})
	return &members{r, db, index.NewUnique(r, kvmodel.IndexSpec[member, string]{
		Name: "ByEmail", Fields: []string{"Email"}, Key: kvmodel.StringKey[string](),
		Values: func(m *member) []string { return []string{m.Email} },
	})}
}

func openSwept(s kv.Store, opts ...kvmodel.Option) *kvmodel.DB {
	db, err := kvmodel.Open(s, append(opts, quiet())...)
	if err != nil {
		panic(err)
	}
	return db
}

// closeSwept leaves unfinished work to repair.
func closeSwept(db *kvmodel.DB) {
	closing, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_ = db.Close(closing)
}

func membersDB(s kv.Store) *kvmodel.DB { return openMembers(s).db }

// logged is an index of lists in their plainest form: a log of "+id@rev" and "-id@rev" per tag. The
// entry with the highest rev counts, and at the same rev the removal.
type logged struct{ plug.Unlimited }

func (logged) Name() string { return "ByTags" }
func (logged) Def() string  { return "list Tags" }
func (logged) Places(v plug.Record) []string {
	return slices.Compact(slices.Sorted(slices.Values(v.(*member).Tags)))
}
func (logged) Beside(context.Context, kv.Store, *plug.Move) error { return nil }

func (logged) Chains(*plug.Move) bool { return true }

func (l logged) Prepare(ctx context.Context, s kv.Store, m *plug.Move) error {
	return l.write(ctx, kv.Chained(s, m.Chain), m.Gained, func(string) string { return entry("+", m.ID, m.Rev) })
}

func (l logged) After(ctx context.Context, s kv.Store, moves []*plug.Move) error {
	if len(moves) != 1 {
		return plug.EachAlone(ctx, s, moves, l.After)
	}
	m := moves[0]
	return l.write(ctx, s, m.Lost, func(string) string { return entry("-", m.ID, m.Rev) })
}

func (l logged) Repair(ctx context.Context, s kv.Store, rec *plug.Seen, places []string) error {
	return l.write(ctx, s, places, func(place string) string {
		if rec.Holds(place) {
			return entry("+", rec.ID, rec.Rev)
		}
		return entry("-", rec.ID, rec.Rev)
	})
}

func (logged) Purge(context.Context, kv.Store, plug.Gone, func() error) error { return nil }

func (logged) Check(context.Context, kv.Store, []*plug.Seen) ([][]string, error) {
	return nil, nil
}

func entry(sign, id string, rev uint64) string { return fmt.Sprintf("%s%s@%d\n", sign, id, rev) }

func (logged) write(ctx context.Context, s kv.Store, places []string, text func(string) string) error {
	var works []func(kv.Store) error
	for _, place := range places {
		works = append(works, func(s kv.Store) error {
			return appendOrAdd(ctx, s, "tag:"+place, []byte(text(place)))
		})
	}
	return errors.Join(kv.Together(ctx, s, works...)...)
}

func appendOrAdd(ctx context.Context, s kv.Store, key string, data []byte) error {
	for range 10 {
		_, err := kv.One(ctx, s, kv.OpAppend(key, data))
		if errors.Is(err, kv.ErrNotStored) {
			_, err = kv.One(ctx, s, kv.OpAdd(key, data))
		}
		if !errors.Is(err, kv.ErrExists) && !errors.Is(err, kv.ErrUnclear) {
			return err
		}
	}
	return kv.ErrUnclear
}

func listed(log string) map[string]bool {
	revs, in := map[string]uint64{}, map[string]bool{}
	for line := range strings.Lines(log) {
		id, text, _ := strings.Cut(strings.TrimSpace(line[1:]), "@")
		rev, _ := strconv.ParseUint(text, 10, 64)
		old, known := revs[id]
		if !known || rev > old || rev == old && line[0] == '-' {
			revs[id], in[id] = rev, line[0] == '+'
		}
	}
	return in
}

type outcome struct {
	acked   [][2]string     // ids and tokens of acknowledged changes
	refused []string        // tokens of refused changes, which must not be there
	deleted map[string]bool // ids that may have been deleted
	wrong   []string        // wrong results of reads
}

var (
	sweepIDs    = []string{"a", "b", "c"}
	sweepEmails = []string{"x", "y", ""}
	sweepTags   = []string{"go", "c"}
)

func changeThings(s kv.Store, name string, rng *rand.Rand, n int, out *outcome) {
	ctx := context.Background()
	m := openMembers(s)
	for i := range n {
		id, token := pick(rng, sweepIDs), fmt.Sprint(name, i)
		email, tags := pick(rng, sweepEmails), []string{pick(rng, sweepTags)}
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		var err error
		edit := func(v *member) error { v.Done = append(v.Done, token); return nil }
		switch rng.IntN(6) {
		case 0, 1:
			err = m.Create(ctx, &member{ID: id, Email: email, Tags: tags, Done: []string{token}})
		case 2:
			_, err = m.Update(ctx, id, edit)
		case 3, 4:
			_, err = m.Update(ctx, id, func(v *member) error { v.Email, v.Tags = email, tags; return edit(v) })
		case 5:
			err = m.Delete(ctx, id)
			out.deleted[id] = out.deleted[id] || err == nil || kv.Failed(err)
			token = ""
		}
		cancel()
		if token != "" {
			out.note(id, token, err)
		}
		out.find(ctx, m, "x")
	}
	closeSwept(m.db)
}

func (o *outcome) note(id, token string, err error) {
	switch {
	case errors.Is(err, kv.ErrLost):
		o.wrong = append(o.wrong, fmt.Sprintf("nothing was lost, and yet: %v", err))
	case err == nil:
		o.acked = append(o.acked, [2]string{id, token})
	case !kv.Failed(err):
		o.refused = append(o.refused, token)
	}
}

func pick(rng *rand.Rand, from []string) string { return from[rng.IntN(len(from))] }

// repairAll is a process that opens a DB after all others have ended, and stays for longer than the
// grace.
func repairAll(sim *kvtest.Sim, open func(kv.Store) *kvmodel.DB) { repairFor(sim, open, 1) }

// repairFor is repairAll with some graces. Slow trips can end in one, which then begins again.
func repairFor(sim *kvtest.Sim, open func(kv.Store) *kvmodel.DB, graces int) {
	waits := []time.Duration{0, time.Minute, time.Minute}
	for range graces {
		waits = append(waits, 2*time.Hour, time.Minute)
	}
	sim.Spare(proof.Fixer)
	sim.Do(proof.Fixer, func(s kv.Store) {
		db := open(s)
		for _, wait := range waits {
			time.Sleep(wait)
			for range 5 {
				if db.Repair(context.Background()) == nil {
					break
				}
			}
		}
		_ = db.Close(context.Background())
	})
}

// checkAll asserts the invariants when no request is in flight.
//
// On a store that does not keep the order of a trip, a cut trip may leave a claim or an entry
// without the line that would find it. That is garbage and not an error: no reader shows it and it
// blocks no value.
func checkAll(sim *kvtest.Sim, garbage bool, outs ...*outcome) {
	t := sim.T()
	ctx := context.Background()
	m := openMembers(sim.Still())
	live := allMembers(ctx, t, m)
	done := map[string]int{}
	for _, id := range sweepIDs {
		v, err := m.Get(ctx, id)
		if errors.Is(err, kv.ErrNotFound) {
			continue
		}
		must(t, err)
		if live[id] == nil {
			t.Errorf("%s is not in the enumeration", id)
		}
		for _, token := range v.Done {
			done[token]++
		}
	}
	checkTokens(t, done, outs)
	checkKeys(t, sim, live, garbage)
	checkJournals(t, sim)
	checkFree(t, m, live)
	proof.Is(t, m.db.Close(ctx), nil)
}

func allMembers(ctx context.Context, t *testing.T, m *members) map[string]*member {
	live := map[string]*member{}
	for v, err := range m.All(ctx) {
		must(t, err)
		live[v.ID] = v
	}
	return live
}

// checkTokens asserts that each change was made at most once, and as its reply says. A deletion
// takes the tokens of the record with it, so then it checks less.
func checkTokens(t *testing.T, done map[string]int, outs []*outcome) {
	deleted := map[string]bool{}
	for _, out := range outs {
		for id, may := range out.deleted {
			deleted[id] = deleted[id] || may
		}
	}
	for _, out := range outs {
		for _, wrong := range out.wrong {
			t.Error(wrong)
		}
		for _, change := range out.acked {
			if id, token := change[0], change[1]; done[token] == 0 && !deleted[id] {
				t.Errorf("change %s of %s was acknowledged and is lost", token, id)
			}
		}
		for _, token := range out.refused {
			if done[token] > 0 {
				t.Errorf("change %s was refused and is there", token)
			}
		}
	}
	for token, n := range done {
		if n > 1 {
			t.Errorf("change %s was carried out %d times", token, n)
		}
	}
}

func checkJournals(t *testing.T, sim *kvtest.Sim) {
	for _, key := range keys(sim.Store(), "line") {
		// A process that dies while it opens its journal may leave an empty one.
		if r, err := kv.One(context.Background(), sim.Store(), kv.OpGet(key)); err == nil && len(r.Value) > 0 {
			t.Errorf("%s is left of a journal", key)
		}
	}
}

func checkKeys(t *testing.T, sim *kvtest.Sim, live map[string]*member, garbage bool) {
	claimed := map[string]string{}
	for _, key := range slices.Sorted(slices.Values(sim.Store().Keys())) {
		r, err := kv.One(context.Background(), sim.Store(), kv.OpGet(key))
		if err != nil {
			continue // expired
		}
		if place, ok := strings.CutPrefix(key, "u:Member:ByEmail:"); ok {
			claimed[place] = holderIn(r)
			if v := live[claimed[place]]; (v == nil || v.Email != place) && !garbage {
				t.Errorf("a dead claim of %s on %s is left", claimed[place], place)
			}
		}
		if tag, ok := strings.CutPrefix(key, "tag:"); ok {
			in := listed(string(r.Value))
			for _, id := range sweepIDs {
				v := live[id]
				holds := v != nil && slices.Contains(v.Tags, tag)
				if in[id] != holds && !(in[id] && garbage) {
					t.Errorf("list %s says %v of %s, whose record is %+v\n%s", tag, in[id], id, v, r.Value)
				}
			}
		}
	}
	for id, v := range live {
		if v.Email != "" && claimed[v.Email] != id {
			t.Errorf("%s holds %s, but the claim is of %q", id, v.Email, claimed[v.Email])
		}
	}
}

// checkFree asserts that values without a record can be taken.
func checkFree(t *testing.T, m *members, live map[string]*member) {
	for _, email := range sweepEmails {
		held := false
		for _, v := range live {
			held = held || v.Email == email
		}
		if err := m.Create(context.Background(), &member{Email: email}); err != nil && !held {
			t.Errorf("nobody holds %q, and yet: %v", email, err)
		} else if err == nil && held && email != "" {
			t.Errorf("%q was taken twice", email)
		}
	}
}

// still is a store without powers that outlives its users.
type still struct{ kv.Store }

func (still) Powers() kv.Powers { return kv.Powers{} }
func (still) Close() error      { return nil }

func sweep(t *testing.T, n int, powers kvtest.Powers) {
	world := kvtest.Hostile(powers)
	world.Crash, world.Pause = 0, 0
	world.Fault = faults
	proof.Sweep(t, n, world, func(sim *kvtest.Sim) {
		outs := []*outcome{{deleted: map[string]bool{}}, {deleted: map[string]bool{}}}
		sim.CrashAt("p", 1+sim.Rand().IntN(60))
		for i, name := range []string{"p", "q"} {
			rng := rand.New(rand.NewPCG(sim.Seed(), uint64(i)))
			sim.Go(name, func(s kv.Store) { changeThings(s, name, rng, 3, outs[i]) })
		}
		sim.Wait()
		repairAll(sim, membersDB)
		sim.Wait()
		checkAll(sim, !powers.Ordered, outs...)
	})
}

func TestSweep_AfterACrashAnywhereEveryIndexIsTheFunctionOfTheRecords(t *testing.T) {
	sweep(t, 300, kvtest.ServerPowers)
}

func TestSweep_ACutTripLeavesNothingThatIsShownOrInTheWay(t *testing.T) {
	sweep(t, 300, kvtest.NoPowers)
}

func TestSweep_ATransactionIsWholeOrNothing(t *testing.T) {
	sweep(t, 300, kvtest.AllPowers)
}

func TestSweep_ATransactionThatRunsTwiceIsWholeOrNothing(t *testing.T) {
	sweep(t, 300, kvtest.OptimisticPowers)
}

// Changes of one record that leave a value and take it again, while a rival tries to take it, make
// a claim older or newer than its record.
func TestSweep_ARecordThatComesAndGoesKeepsItsClaim(t *testing.T) {
	comesAndGoes(t, 100, kvtest.World{Powers: kvtest.ServerPowers, Late: 0.05, Mute: 0.02, Slow: 0.05}, rivals, anyEmails)
}

func TestSweep_ARecordThatComesAndGoesKeepsItsClaimInAnyOrder(t *testing.T) {
	comesAndGoes(t, 100, kvtest.World{Powers: kvtest.NoPowers, Late: 0.05, Mute: 0.02, Slow: 0.05}, rivals, anyEmails)
}

// Every second change only leaves a value, and the others take one trip. Records often arrive late,
// processes often sleep, and one is killed. So even a short run meets the mistakes that a change in
// one trip allows: a commit without a line, and one that is sent and made again.
func TestSweep_AChangeInOneTripIsMadeOnceAndCanBeFinished(t *testing.T) {
	world := kvtest.World{Powers: kvtest.ServerPowers, Late: 0.3, Slow: 0.3, MaxCrashes: 1}
	comesAndGoes(t, 1000, world, sweepIDs, func(id string, _ *rand.Rand) []string { return []string{id, "", id, "", id, ""} })
}

var rivals = []string{"a", "a", "a", "b"}

func anyEmails(_ string, rng *rand.Rand) (emails []string) {
	for range 3 {
		emails = append(emails, pick(rng, []string{"x", "x", ""}))
	}
	return emails
}

// comesAndGoes has a process for each of ids, which gives its record emails one after another.
func comesAndGoes(t *testing.T, n int, world kvtest.World, ids []string, emails func(id string, rng *rand.Rand) []string) {
	world.Fault = faults
	proof.Sweep(t, n, world, func(sim *kvtest.Sim) {
		first := openMembers(sim.Still())
		for _, id := range sweepIDs {
			must(t, first.Create(context.Background(), &member{ID: id}))
		}
		must(t, first.db.Close(context.Background()))
		if world.MaxCrashes > 0 {
			sim.CrashAt("p0", 10+sim.Rand().IntN(40))
		}
		outs := make([]*outcome, len(ids))
		for i, id := range ids {
			name := fmt.Sprint("p", i)
			outs[i] = new(outcome)
			all := emails(id, rand.New(rand.NewPCG(sim.Seed(), uint64(i))))
			sim.Go(name, func(s kv.Store) { comeAndGo(s, name, id, all, outs[i]) })
		}
		sim.Wait()
		repairFor(sim, membersDB, 1+world.MaxCrashes)
		sim.Wait()
		checkAll(sim, !world.Powers.Ordered, outs...)
	})
}

func comeAndGo(s kv.Store, name, id string, emails []string, out *outcome) {
	ctx := context.Background()
	m := openMembers(s)
	for i, email := range emails {
		token := fmt.Sprint(name, i)
		_, err := m.Update(ctx, id, func(v *member) error {
			v.Email, v.Done = email, append(v.Done, token)
			return nil
		})
		out.note(id, token, err)
		out.find(ctx, m, "x")
	}
	_ = m.db.Close(ctx)
}

func (o *outcome) find(ctx context.Context, m *members, email string) {
	if v, err := m.byEmail.Find(ctx, email); err == nil && v.Email != email {
		o.wrong = append(o.wrong, fmt.Sprintf("found by %s the record %s, which holds %q", email, v.ID, v.Email))
	}
}

// faults spares the moments of [proof.Spared]. Only the record itself is written late: a late claim
// of a live process would land after its release and stay, stale and harmless, until someone asks
// for the value.
func faults(m kvtest.Moment) kvtest.Fault {
	switch {
	case proof.Spared(m):
		return kvtest.None
	case strings.HasPrefix(m.Op.Key, "r:"):
		return kvtest.ByRate
	}
	odds := [20]kvtest.Fault{0: kvtest.Mute, 7: kvtest.Lost, 13: kvtest.Unsent}
	if fault := odds[m.Step%len(odds)]; fault != kvtest.ByRate {
		return fault
	}
	return kvtest.None
}

type asJSON[T any] = proof.JSON[T]
