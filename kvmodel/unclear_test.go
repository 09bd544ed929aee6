package kvmodel_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// eachStumble calls f, under a fake clock, for each trip whose answer may be lost before the store
// goes away.
func eachStumble(t *testing.T, f func(t *testing.T, ctx context.Context, s *proof.Stumble)) {
	proof.EachStumble(t, func() kv.Store { return memkv.New(memkv.Options{}) }, func(t *testing.T, s *proof.Stumble) {
		synctest.Test(t, func(t *testing.T) { f(t, t.Context(), s) })
	})
}

// The process dies, and another one runs the intents that began.
func TestIntent_AnUnclearBegin_IsNeverReportedAsNotBegun(t *testing.T) {
	eachStumble(t, func(t *testing.T, ctx context.Context, s *proof.Stumble) {
		db := open(t, s)
		var here, there atomic.Int64
		intent := kvmodel.NewIntent(db, "move", func(ctx context.Context, _ move) error {
			here.Add(1)
			_, err := kv.One(ctx, db.Store(), kv.OpSet("x", nil))
			return err
		})
		must(t, intent.Do(ctx, move{From: "a"}))
		other := open(t, s.Below())
		kvmodel.NewIntent(other, "move", func(_ context.Context, m move) error {
			if m.From == "b" {
				there.Add(1)
			}
			return nil
		})
		synctest.Wait() // The first turn is given back.
		here.Store(0)
		s.Begin()
		ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		defer cancel()
		err := intent.Do(ctx, move{From: "b"})
		wait(5 * time.Minute) // It stays away, and counts as dead.
		if proof.Denies(err) && here.Load()+there.Load() > 0 {
			t.Errorf("it was carried out, %d times here and %d times there, after: %v", here.Load(), there.Load(), err)
		}
		_, _ = db.Close(context.Background()), other.Close(context.Background())
	})
}

// A change reported as not made was not made, and never will be.
func TestRecords_AnUnclearChange_IsNeverReportedAsNotMade(t *testing.T) {
	verbs := map[string]func(ctx context.Context, p *process) error{
		"Create": func(ctx context.Context, p *process) error {
			return p.Create(ctx, &note{ID: "new", Text: "x", Code: "new"})
		},
		"Update": func(ctx context.Context, p *process) error {
			_, err := p.Update(ctx, "old", func(n *note) error { n.Code = "new"; return nil })
			return err
		},
		"Delete": func(ctx context.Context, p *process) error { return p.Delete(ctx, "old") },
	}
	for name, verb := range verbs {
		t.Run(name, func(t *testing.T) {
			eachStumble(t, func(t *testing.T, ctx context.Context, s *proof.Stumble) {
				p := start(t, s).ends(t)
				must(t, p.Create(ctx, &note{ID: "old", Text: "x", Code: "old"}))
				must(t, p.db.Flush(ctx))
				s.Begin()
				limited, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
				defer cancel()
				err := verb(limited, p)
				sent := slices.ContainsFunc(s.Lost(), func(key string) bool { return strings.HasPrefix(key, "r:Note:") })
				if errors.Is(err, kvmodel.ErrUnclear) && (errors.Is(err, kv.ErrUnavailable) || !sent) {
					t.Errorf("%v, though the commit was sent: %t; want an ErrUnclear alone, or none", err, sent)
				}
				wait(time.Second)
				must(t, s.Rise())
				wait(5 * time.Minute)
				old, oldErr := p.Get(ctx, "old")
				_, newErr := p.Get(ctx, "new")
				changed := oldErr != nil || old.Code != "old" || newErr == nil
				if proof.Denies(err) && changed || err == nil && !changed {
					t.Errorf("changed: %t, after: %v", changed, err)
				}
			})
		})
	}
}
