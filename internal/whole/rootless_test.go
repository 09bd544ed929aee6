package whole_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// The store has lost the node from which a tree is read, and the records that would enter
// it again are none, or some.
func TestRebuild_MakesTheRootOfATreeAgain(t *testing.T) {
	for _, k := range kinds {
		for name, left := range map[string]bool{"with a record": true, "without any": false} {
			t.Run(k.name+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { rootless(t, k, left) })
			})
		}
	}
}

func rootless(t *testing.T, k kind, left bool) {
	s := memkv.New(memkv.Options{})
	open := func() *whole.Library {
		l, err := whole.Open(k.opened(s), kvmodel.Clock(time.Now))
		must(t, err)
		return l
	}
	l := open()
	for _, id := range whole.PieceIDs {
		must(t, l.Pieces.Create(ctx, &whole.Piece{ID: id, Tags: []string{"red"}, Stars: 3}))
	}
	for _, id := range whole.PieceIDs[1:] {
		must(t, l.Pieces.Delete(ctx, id))
	}
	if !left {
		must(t, l.Pieces.Delete(ctx, whole.PieceIDs[0]))
	}
	must(t, l.DB.Close(ctx))
	lost := 0
	for _, key := range s.Keys() {
		if strings.HasPrefix(key, "rank:Piece:") && strings.HasSuffix(key, ":key0") {
			s.Evict(key)
			lost++
		}
	}
	if lost != 4 {
		t.Fatalf("%d roots, want 4", lost)
	}
	l = open()
	must(t, l.Pieces.Rebuild(ctx), l.DB.Flush(ctx))
	should, err := l.Should(ctx)
	must(t, err)
	for _, line := range should.Differences(l.Look(ctx)) {
		t.Error(line)
	}
	must(t, l.DB.Close(ctx))
}
