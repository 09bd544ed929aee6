package keytree

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// The bits of a score may end in the middle of a level, or there may be several levels below the
// node where they end.
func TestTally_AScoreThatIsInSeveralNodesIsOne(t *testing.T) {
	for n := range int64(9) { // The codes of 0 to 8 have 7 to 10 bits.
		for _, n := range []int64{n, -n} {
			r := open(newMem(), dense)
			for i := range 60 {
				r.set(t, idOf(i), n)
			}
			r.set(t, "another", n+1)
			m, err := r.readMeta(ctx, r.s)
			must(t, err)
			root, err := r.nodes(m, m.epoch).get(ctx, r.s, "")
			if err != nil || root[0].router == nil {
				t.Fatal(root, err)
			}
			if got := r.nodes(m, m.epoch).total("", root[0].router); got != (tally{61, 2}) {
				t.Errorf("there are %+v of the scores %d and %d, want 61 with 2", got, n, n+1)
			}
			if report := r.checkInvariants(t); report.Drift != 0 {
				t.Errorf("counts are off by %d", report.Drift)
			}
		}
	}
}

func TestRouter_CountsScoresInAKindOfItsOwn(t *testing.T) {
	dense := router{seq: 9, pushed: tally{5, 2}, slots: [4]slot{{tally{3, 2}, 2, true}, {tally{}, 0, true}, {tally{1, 1}, 3, false}, {}}}
	for name, c := range map[string]struct {
		router router
		kind   byte
	}{"dense": {dense, 'D'}, "empty": {router{seq: 9}, 'R'}} {
		value := c.router.encode()
		got, err := decodeNode(kv.Result{Value: value, Version: 1})
		if err != nil || got.router == nil || value[len(magic)] != c.kind {
			t.Fatalf("%s: %q, %+v, %v", name, value, got, err)
		}
		if diff := cmp.Diff(c.router, *got.router, cmp.AllowUnexported(router{}, slot{}, tally{})); diff != "" {
			t.Errorf("%s: mismatch (-want +got):\n%s", name, diff)
		}
	}
}

func TestVerify_FindsWrongCountsOfScores(t *testing.T) {
	r := open(newMem(), dense)
	for i := range 100 {
		r.set(t, idOf(i), int64(i/2))
	}
	if report := r.checkInvariants(t); report.Drift != 0 {
		t.Fatalf("counts are off by %d", report.Drift)
	}
	p := r.epochsNow(t)
	root, err := p.get(ctx, r.s, "")
	if err != nil || root[0].router == nil {
		t.Fatal(root, err)
	}
	wrong := *root[0].router
	wrong.slots[3].scores -= 2
	wrong.seq++
	must(t, p.write(ctx, r.s, "", root[0], wrong.encode()))
	if report := r.checkInvariants(t); report.Drift != 2 {
		t.Errorf("counts are off by %d, want 2", report.Drift)
	}
	// That way is corrected, as after a crash.
	st, err := r.state(ctx, r.s, idOf(99))
	must(t, err)
	must(t, r.repair(r.s, idOf(99), st))
	if report := r.checkInvariants(t); report.Drift != 0 {
		t.Errorf("counts are off by %d after a repair", report.Drift)
	}
	r.checkCounts(t)
}

func TestTree_DenseRanksOfALargeTreeAreOffByLittle(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	r := open(newMem(), dense, func(c *Config) { c.Limit, c.Small = 128, 100 })
	at := map[string]int64{}
	check := func(most int) {
		t.Helper()
		scores := map[int64]bool{}
		for _, n := range at {
			scores[n] = true
		}
		rank, err := r.RankOf(ctx, r.s, FromInt(-1), true, Dense)
		if off := distance(rank-1, len(scores)); err != nil || off > most {
			t.Errorf("%d scores of %d are counted, %v", rank-1, len(scores), err)
		}
	}
	for i := range 4000 {
		at[idOf(i)] = rng.Int64N(6000)
		r.set(t, idOf(i), at[idOf(i)])
	}
	check(150)
	// There are as many members in each leaf as before, with fewer scores.
	for i := range 4000 {
		at[idOf(i)] -= at[idOf(i)] % 8
		r.set(t, idOf(i), at[idOf(i)])
	}
	check(75)
	must(t, r.Refresh(ctx, r.s))
	check(0)
}
