package whole_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func TestSweep_ARebuildLeavesNothingWhereRecordsWereThatMove(t *testing.T) {
	moves := map[string]func(l *whole.Library) error{
		"moves": func(l *whole.Library) error {
			_, err := l.Works.Update(ctx, "w2", func(v *whole.Work) error {
				v.Author, v.Slug, v.Price = "cy", v.Slug+"-moved", v.Price+7
				return nil
			})
			return err
		},
		"ends": func(l *whole.Library) error { return l.Works.Delete(ctx, "w3") },
	}
	step := proof.Size[int64](61, 1)
	for _, w := range lossWorlds[:2] {
		items := w.furnished(t)
		for name, move := range moves {
			for trip, done := int64(1), false; !done; trip += step {
				t.Run(fmt.Sprintf("%s, %s, before trip %d", w.name, name, trip), func(t *testing.T) {
					w.inspected(t, items, func(t *testing.T, l *whole.Library, mem *memkv.Store) {
						var left atomic.Int64
						left.Store(trip)
						moving := tap{Store: mem, before: func([]kv.Op) error {
							if left.Add(-1) == 0 {
								must(t, move(l))
							}
							return nil
						}}
						must(t, libraryIn(t, still{moving, w.powers(mem)}).Works.Rebuild(ctx))
						done = left.Load() > 0
						rest(t, l)
						if r := checked(t, l); !r.Well() {
							t.Error(faultTexts(r.Faults), r.Unasked)
						}
					})
				})
			}
		}
	}
}
