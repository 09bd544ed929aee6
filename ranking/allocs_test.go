package ranking_test

import (
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
)

func TestBoard_AHitAllocatesNoMoreThanItsIncrement(t *testing.T) {
	m := openTalks(t, memkv.New(memkv.Options{}), ranking.Windowed)
	must(t, m.Create(ctx, &talk{ID: "a"}))
	m.count(t, m.votes, "a", 1)
	must(t, m.db.Flush(ctx))
	got := proof.Allocs(200, func() {
		if _, err := m.votes.Add(ctx, "a", 1); err != nil {
			t.Error(err)
		}
	})
	// The key, the op and the number in the store.
	if got > 4 {
		t.Errorf("%.0f allocations, want at most 4", got)
	}
}
