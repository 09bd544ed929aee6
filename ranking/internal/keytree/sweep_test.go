package keytree

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
)

func dying(powers kvtest.Powers) kvtest.World {
	return kvtest.World{
		Powers: powers, Crash: 1.0 / 40, Pause: 0.005,
		Unsent: 0.01, Lost: 0.01, Mute: 0.01, Late: 0.02,
	}
}

var still = []string{"still1", "still2", "still3", "still4"}

func stillScore(i int) int64 { return int64(i*20 - 30) }

func sweep(t *testing.T, seeds int, powers kvtest.Powers) {
	proof.Sweep(t, seeds, dying(powers), func(sim *kvtest.Sim) {
		open := func(s kv.Store) *ranking {
			return open(s, func(c *Config) {
				if sim.Seed()%3 > 0 {
					c.Small = 1
				}
				[]func(*Config){func(*Config) {}, withTies, dense}[sim.Seed()/6%3](c)
			})
		}
		base := open(keep{sim.Store()})
		for i, id := range still {
			base.set(sim.T(), id, stillScore(i))
		}
		for i := range 8 {
			base.set(sim.T(), idOf(i), int64(i))
		}
		watched := newHistory(base)
		for wave := range 3 {
			for p := range 3 {
				name := fmt.Sprint("p", wave, p)
				rng := rand.New(rand.NewPCG(sim.Seed(), uint64(10*wave+p)))
				sim.Go(name, func(s kv.Store) { moveSome(open(s), rng, region(sim, wave)) })
			}
			reader := fmt.Sprint("reader", wave)
			sim.Spare(reader)
			sim.Go(reader, func(s kv.Store) { readAll(sim.T(), open(s)) })
			watched.run(sim)
		}
		ids := slices.Clone(still)
		for i := range 14 {
			ids = append(ids, idOf(i))
		}
		base.checkInvariants(sim.T(), ids...)
		base.checkCounts(sim.T())
		base.checkInvariants(sim.T(), ids...)
	})
}

// If the region of scores changes from wave to wave, subtrees are emptied and filled again.
func region(sim *kvtest.Sim, wave int) int64 {
	if sim.Seed()%2 == 0 {
		return 0
	}
	return int64(wave%2) * 5000
}

type keep struct{ kv.Store }

func (keep) Powers() kv.Powers { return kv.Powers{} }
func (keep) Close() error      { return nil }

func moveSome(r *ranking, rng *rand.Rand, up int64) {
	for range 12 {
		together := 1
		if rng.IntN(4) == 0 {
			together = 8
		}
		var settings []Setting
		var changes []Change
		for _, i := range rng.Perm(14)[:together] {
			settings = append(settings, Setting{ID: idOf(i), Fence: Fence(rng.IntN(3))})
			changes = append(changes, someChange(r, rng, up))
		}
		due := new(Due)
		_ = r.SetAll(ctx, r.s, r.own, settings, OneByOne(func(i int) Change { return changes[i] }), due)
		_ = due.Report(ctx, r.s)
	}
}

func someChange(r *ranking, rng *rand.Rand, up int64) Change {
	if rng.IntN(6) == 0 {
		return Out
	}
	score := FromInt(up + []int64{0, 1, 5, 50, -1, -40, 3 + rng.Int64N(30)}[rng.IntN(7)])
	if r.Code != Signed {
		score = score.WithTie(tieOf(rng))
	}
	return To(score)
}

func readAll(t *testing.T, r *ranking) {
	for range 4 {
		for _, down := range []bool{true, false} {
			seen, err := pageThrough(r, down)
			if err != nil {
				continue
			}
			for _, id := range still {
				if !slices.Contains(seen, id) {
					t.Errorf("%s did not move and was missed, down %v", id, down)
				}
			}
		}
	}
}

func pageThrough(r *ranking, down bool) (ids []string, err error) {
	var at []byte
	for range 400 {
		l, err := r.Page(ctx, r.s, Between{}, down, at, 3, Want{})
		if err != nil {
			return nil, err
		}
		ids = append(ids, names(l.Members)...)
		if at = l.Next; at == nil {
			return ids, nil
		}
	}
	return nil, fmt.Errorf("no end")
}

type history struct {
	*ranking
	nodes  map[string]node
	values map[string][]byte
	vers   map[string]uint64
}

func newHistory(r *ranking) *history {
	return &history{r, map[string]node{}, map[string][]byte{}, map[string]uint64{}}
}

func (h *history) run(sim *kvtest.Sim) {
	for last := -1; sim.Step() != last; {
		last = sim.Step()
		sim.Steps(9)
		h.look(sim)
	}
	sim.Wait()
	h.look(sim)
}

func (h *history) look(sim *kvtest.Sim) {
	t := sim.T()
	keys := sim.Store().Keys()
	slices.Sort(keys)
	for _, key := range keys {
		result, err := kv.One(ctx, sim.Store(), kv.OpGet(key))
		switch {
		case err != nil:
		case strings.Contains(key, ":key0"):
			now, _ := decodeNode(result)
			h.compare(t, key, h.nodes[key], now, h.values[key], result.Value)
			h.nodes[key], h.values[key] = now, result.Value
		case strings.HasPrefix(key, h.name+":i:"):
			st, _ := decodeState(result)
			if st.Ver < h.vers[key] {
				t.Errorf("%s went from version %d to %d", key, h.vers[key], st.Ver)
			}
			h.vers[key] = st.Ver
		}
	}
	for _, key := range slices.Sorted(maps.Keys(h.nodes)) {
		if _, found := slices.BinarySearch(keys, key); !found {
			t.Errorf("%s was deleted", key)
		}
	}
}

func (h *history) compare(t *testing.T, key string, old, now node, was, is []byte) {
	switch {
	case old.version == 0:
	case old.router != nil && now.router == nil:
		t.Errorf("%s was a router and is a leaf", key)
	case old.leaf != nil && old.leaf.splitting && now.leaf != nil && !bytes.Equal(was, is):
		t.Errorf("%s was frozen and has changed", key)
	case now.seq() < old.seq():
		t.Errorf("%s went from sequence %d to %d", key, old.seq(), now.seq())
	}
	if old.router == nil || now.router == nil {
		return
	}
	for i := range now.router.slots {
		if now.router.slots[i].seq < old.router.slots[i].seq {
			t.Errorf("%s: slot %d went from %+v to %+v", key, i, old.router.slots[i], now.router.slots[i])
		}
	}
}

func TestSweep_AfterCrashesAnywhereNoMemberIsMissing(t *testing.T) {
	sweep(t, 60, kvtest.ServerPowers)
}

func TestSweep_AfterCrashesAnywhereNoMemberIsMissingInAnyOrder(t *testing.T) {
	sweep(t, 60, kvtest.NoPowers)
}

func TestFaults_OfAStoreAreNoticed(t *testing.T) {
	proof.Notices(t, "TestSweep_AfterCrashesAnywhereNoMemberIsMissing", "blind cas rank:", "blind add rank:", "lost add rank:")
	proof.Notices(t, "TestSweep_AfterWritersAtTheSameTimeAllCountsOfASmallTreeAreExact", "blind cas rank:")
}
