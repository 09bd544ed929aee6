package whole_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func TestRepair_OfALibraryRightAfterEachOfItsIndexesIsPluggedInIsComplete(t *testing.T) {
	for world := range proof.Part(t, lossWorlds[:1], lossWorlds) {
		t.Run(world.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, mem := t.Context(), memkv.New(memkv.Options{})
				powers := world.powers(mem)
				powers.Alone = true // so that repair takes all others for dead
				diary := killedLibrary(t, still{mem, powers})
				db, err := kvmodel.Open(still{mem, powers})
				must(t, err)
				repairs := 0
				plug.Plugged = func() {
					repairs++
					must(t, db.Repair(ctx))
				}
				defer func() { plug.Plugged = func() {} }()
				l := whole.In(db)
				time.Sleep(time.Minute) // for numbers in doubt
				must(t, db.Flush(ctx))
				wrong, err := l.Judge(ctx, diary)
				must(t, err)
				if repairs < 20 || len(wrong) > 0 {
					t.Errorf("after %d repairs, wrong:\n%s", repairs, strings.Join(wrong, "\n"))
				}
				must(t, db.Close(ctx))
			})
		})
	}
}

func killedLibrary(t *testing.T, s kv.Store) *whole.Diary {
	t.Helper()
	store, diary := alive(s), new(whole.Diary)
	l := libraryIn(t, still{store, kv.Powers{}})
	calls(l, diary, 0, 200, 1, 1)
	store.die()
	_ = l.DB.Close(t.Context())
	return diary
}

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
