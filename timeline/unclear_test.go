package timeline_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/timeline"
)

func TestEvents_AnUnclearPush_IsNeverReportedAsNotMade(t *testing.T) {
	layouts := map[string]timeline.Layout{"appended": timeline.Appended, "numbered": timeline.Numbered, "packed": timeline.Packed}
	for name, layout := range layouts {
		for _, before := range []int{0, 1} {
			t.Run(name, func(t *testing.T) {
				proof.EachStumble(t, func() kv.Store { return memkv.New(memkv.Options{}) }, func(t *testing.T, s *proof.Stumble) {
					synctest.Test(t, func(t *testing.T) {
						db, err := kvmodel.Open(s)
						must(t, err)
						v := timeline.NewEvents(db, visitSpec(layout, 10, false))
						for range before {
							must(t, v.Push(ctx, visit{"owner", "earlier"}))
						}
						limited, cancel := context.WithCancel(ctx)
						s.Refused = cancel
						s.Begin()
						err = v.Push(limited, visit{"owner", "a"}, visit{"owner", "b"})
						time.Sleep(time.Second)
						must(t, s.Rise())
						there := guests(t, v, "owner", 10)
						changed := slices.Contains(there, "a") || slices.Contains(there, "b")
						if proof.Denies(err) && changed || errors.Is(err, kv.ErrUnclear) && errors.Is(err, kv.ErrUnavailable) {
							t.Errorf("%v are there after: %v", there, err)
						}
						must(t, db.Close(ctx))
					})
				})
			})
		}
	}
}
