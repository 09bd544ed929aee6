package ranking_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
)

// A member whose change is said not to have been made is as it was, and stays so.
func TestTree_AnUnclearChange_IsNeverReportedAsNotMade(t *testing.T) {
	verbs := map[string]func(*ranking.Tree[int64], context.Context) error{
		"Add":      func(tree *ranking.Tree[int64], ctx context.Context) error { return tree.Add(ctx, "a", 1) },
		"Set":      func(tree *ranking.Tree[int64], ctx context.Context) error { return tree.Set(ctx, "a", 70) },
		"Delete":   func(tree *ranking.Tree[int64], ctx context.Context) error { return tree.Delete(ctx, "a") },
		"a member": func(tree *ranking.Tree[int64], ctx context.Context) error { return tree.Add(ctx, "new", 1) },
	}
	for name, verb := range verbs {
		t.Run(name, func(t *testing.T) {
			proof.EachStumble(t, func() kv.Store { return memkv.New(memkv.Options{}) }, func(t *testing.T, s *proof.Stumble) {
				synctest.Test(t, func(t *testing.T) {
					db, err := kvmodel.Open(s, quiet)
					must(t, err)
					tree := hitTree(db, ranking.Every)
					must(t, tree.Set(ctx, "a", 7))
					s.Begin()
					limited, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
					defer cancel()
					err = verb(tree, limited)
					time.Sleep(time.Second)
					must(t, s.Rise())
					time.Sleep(time.Minute)
					synctest.Wait()
					score, there := tree.Get(ctx, "a")
					_, made := tree.Get(ctx, "new")
					changed := score != 7 || there != nil || made == nil
					if proof.Denies(err) && changed || errors.Is(err, kv.ErrUnclear) && errors.Is(err, kv.ErrUnavailable) {
						t.Errorf("changed: %t, after: %v", changed, err)
					}
					if err == nil && !changed {
						t.Error("it is not changed")
					}
					must(t, db.Close(context.Background()))
				})
			})
		})
	}
}
