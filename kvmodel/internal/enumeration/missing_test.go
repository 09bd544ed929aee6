package enumeration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// listed returns the ids of all chunks of e that its head names, each as often as it is there.
func listed(t testing.TB, e *Enumeration, s kv.Store) (ids []string) {
	t.Helper()
	h, err := e.mustLook(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	for n := h.low; n <= h.high; n++ {
		c, err := e.readOne(context.Background(), s, n)
		if err != nil || c.damaged != nil {
			t.Fatal(err, c.damaged)
		}
		ids = append(ids, c.ids...)
	}
	slices.Sort(ids)
	return ids
}

func TestPutMissing_AddsWhatIsNotThere(t *testing.T) {
	s := memkv.New(memkv.Options{})
	e, _, want := chunked(t, s, 100)
	var more []string
	for i := range 400 {
		more = append(more, fmt.Sprintf("more%05d", i))
	}
	must(t, e.PutMissing(t.Context(), s, slices.Concat(want[50:], more[:7], more)))
	must(t, e.PutMissing(t.Context(), s, more))
	if diff := cmp.Diff(slices.Concat(want, more), listed(t, e, s)); diff != "" {
		t.Errorf("ids (-want +got)\n%s", diff)
	}
}

func TestUnlisted_LooksThroughTheEndAlone(t *testing.T) {
	s := memkv.New(memkv.Options{})
	e, _, want := chunked(t, s, 0)
	for i := range 2 * tailChunks {
		want = append(want, fmt.Sprintf("id%05d", i))
		e.full = 1 // Each id has a chunk.
		must(t, e.Put(t.Context(), s, want[i:]))
	}
	left, err := e.Unlisted(t.Context(), s, append(slices.Clone(want), "new"))
	must(t, err)
	if diff := cmp.Diff(append(slices.Clone(want[:tailChunks]), "new"), left); diff != "" {
		t.Errorf("ids that are not at the end (-want +got)\n%s", diff)
	}
}

// TestSweep_PutMissing_AddsEachIDOnce has three processes add the ids of the same three journals
// while another one adds its own. Requests fail and come late, and one of the processes dies.
func TestSweep_PutMissing_AddsEachIDOnce(t *testing.T) {
	proof.Sweep(t, 180, kvtest.Hostile(kvtest.NoPowers), func(sim *kvtest.Sim) {
		ctx, mem := context.Background(), still{sim.Store()}
		roomy := func() *Enumeration {
			e := New("M", time.Now)
			e.full = 80 // The ids of two journals.
			return e
		}
		e := roomy()
		bear(sim.T(), e, mem)
		ids := make([][]string, 3) // by journal
		for i := range 12 {
			ids[i/4] = append(ids[i/4], fmt.Sprintf("id%04d", i))
		}
		for i, name := range []string{"p", "q", "r"} {
			rng := rand.New(rand.NewPCG(sim.Seed(), uint64(i)))
			sim.Go(name, func(s kv.Store) {
				e := roomy()
				for range 8 {
					_ = e.PutMissing(ctx, s, ids[rng.IntN(3)])
					time.Sleep(time.Duration(rng.IntN(3)) * time.Second)
				}
			})
		}
		sim.Go("w", func(s kv.Store) {
			e := roomy()
			for i := range 12 {
				_ = e.Put(ctx, s, []string{fmt.Sprintf("own%03d", i)})
				time.Sleep(time.Second)
			}
		})
		sim.Wait()
		for _, some := range ids {
			if err := e.PutMissing(ctx, mem, some); err != nil {
				sim.T().Error(err)
			}
		}
		got := slices.DeleteFunc(listed(sim.T(), e, mem), func(id string) bool { return id[:2] != "id" })
		if diff := cmp.Diff(slices.Concat(ids...), got); diff != "" {
			sim.T().Errorf("ids (-want +got)\n%s", diff)
		}
	})
}
