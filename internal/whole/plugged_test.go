package whole_test

import (
	"strings"
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
