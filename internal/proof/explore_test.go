package proof_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func counting(write func(s kv.Store, read kv.Result) error) func(*proof.Exploration) {
	return func(x *proof.Exploration) {
		ctx := context.Background()
		_ = x.Store().Do(ctx, []kv.Op{kv.OpSet("n", []byte("0"))})
		done := 0
		for _, name := range []string{"p", "q"} {
			x.Go(name, func(s kv.Store) {
				for {
					r, err := kv.One(ctx, s, kv.OpGet("n"))
					if err != nil {
						return
					}
					if err := write(s, r); !errors.Is(err, kv.ErrConflict) {
						if err == nil {
							done++
						}
						return
					}
				}
			})
		}
		x.Sees(func() string { return fmt.Sprint(done) })
		x.Always(func(s kv.Store) error {
			r, err := kv.One(ctx, s, kv.OpGet("n"))
			if n, _ := kv.ParseNumber(r.Value); err != nil || n < int64(done) {
				return fmt.Errorf("the number is %s, and %d have added to it", r.Value, done)
			}
			return nil
		})
	}
}

func nextOf(r kv.Result) []byte {
	n, _ := kv.ParseNumber(r.Value)
	return fmt.Append(nil, n+1)
}

func TestExplore_FindsTheOneOrderThatIsWrong(t *testing.T) {
	bounds := proof.Bounds{States: 1000}
	_, err := proof.TryExplore(t, bounds, counting(func(s kv.Store, r kv.Result) error {
		_, err := kv.One(context.Background(), s, kv.OpSet("n", nextOf(r)))
		return err
	}))
	if err == nil || !strings.Contains(err.Error(), "the number is 1, and 2 have added to it") || !strings.Contains(err.Error(), "p: get \"n\"") {
		t.Errorf("got %v, want the lost update and how it came about", err)
	}
}

func TestExplore_GoesThroughAllOrdersOfWhatIsRight(t *testing.T) {
	swap := counting(func(s kv.Store, r kv.Result) error {
		_, err := kv.One(context.Background(), s, kv.OpSwap("n", r.Version, nextOf(r)))
		return err
	})
	kind := proof.Explore(t, proof.Bounds{States: 1000}, swap)
	hostile := proof.Explore(t, proof.Bounds{Crashes: 1, Unclear: 1, States: 1000}, swap)
	if kind < 10 || hostile < 2*kind {
		t.Errorf("%d states, %d with a crash and an unclear write", kind, hostile)
	}
	if _, err := proof.TryExplore(t, proof.Bounds{States: 3}, swap); err == nil {
		t.Error("a limit of 3 states is kept to in silence")
	}
}
