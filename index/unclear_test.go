package index_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func TestNumbers_AnUnclearAnswer_IsNeverReportedAsNotDone(t *testing.T) {
	type numbers struct {
		views *index.Counter[string]
		lines *index.Sequence[ticket]
	}
	verbs := map[string]func(ctx context.Context, n numbers) error{
		"Counter.Add": func(ctx context.Context, n numbers) error { _, err := n.views.Add(ctx, "a", 1); return err },
		"Counter.Set": func(ctx context.Context, n numbers) error { return n.views.Set(ctx, "a", 70) },
		"the first":   func(ctx context.Context, n numbers) error { _, err := n.views.Add(ctx, "b", 1); return err },
		"Sequence":    func(ctx context.Context, n numbers) error { _, err := n.lines.Add(ctx, new(ticket)); return err },
	}
	for name, verb := range verbs {
		t.Run(name, func(t *testing.T) {
			proof.EachStumble(t, func() kv.Store { return memkv.New(memkv.Options{}) }, func(t *testing.T, s *proof.Stumble) {
				synctest.Test(t, func(t *testing.T) {
					ctx, db := t.Context(), open(t, s)
					n := numbers{index.NewCounter(newBooks(db).Records, "Views"), newTickets(db).InOrder}
					must(t, n.views.Set(ctx, "a", 7))
					s.Begin()
					limited, cancel := context.WithCancel(ctx)
					s.Refused = cancel
					err := verb(limited, n)
					time.Sleep(time.Second)
					must(t, s.Rise())
					a, err1 := n.views.Get(ctx, "a")
					b, err2 := n.views.Get(ctx, "b")
					lines, err3 := n.lines.Count(ctx)
					must(t, errors.Join(err1, err2, err3))
					changed := a != 7 || b != 0 || lines != 0
					if proof.Denies(err) && changed || errors.Is(err, kv.ErrUnclear) && errors.Is(err, kv.ErrUnavailable) {
						t.Errorf("changed: %t, after: %v", changed, err)
					}
					must(t, db.Close(context.Background()))
				})
			})
		})
	}
}
