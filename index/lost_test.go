package index_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func keysUnder(t *testing.T, mem *memkv.Store, begin string) (all []string) {
	t.Helper()
	must(t, kv.PowersOf(mem).Keys(t.Context(), begin, func(some []string) error {
		all = append(all, some...)
		return nil
	}))
	return all
}

// No remaining record leads to some of the lost segments.
func TestLists_OneRebuildMakesUpForAllThatIsLost(t *testing.T) {
	ctx := t.Context()
	mem := memkv.New(memkv.Options{})
	b := openSweep(mem)
	closing(t, b.db)
	for i := range 60 {
		must(t, b.Create(ctx, &book{ID: fmt.Sprint("b", i), Author: "ann"}))
		must(t, b.db.Flush(ctx))
	}
	segments := keysUnder(t, mem, "l:Book:ByAuthor:ann#")
	if len(segments) < 4 {
		t.Fatalf("a list of %d segments", len(segments))
	}
	records := keysUnder(t, mem, "r:Book:")
	for _, left := range []int{60, 1} {
		mem.Evict(append(segments, records[left:]...)...)
		must(t, b.Rebuild(ctx))
		n, err := b.ByAuthor.Of("ann").Count(ctx)
		if err != nil || n != left {
			t.Errorf("the list has %d members, %v; want %d", n, err, left)
		}
		segments = keysUnder(t, mem, "l:Book:ByAuthor:ann#")
	}
}

// No record leads a rebuild to a list whose records are lost too.
func TestLists_OfNoRecordAreWholeAfterAmendAndARebuild(t *testing.T) {
	ctx := t.Context()
	mem := memkv.New(memkv.Options{})
	b := openSweep(shared{mem})
	closing(t, b.db)
	must(t, b.Create(ctx, &book{ID: "bob's", Author: "bob"}))
	for i := range 60 {
		must(t, b.Create(ctx, &book{ID: fmt.Sprint("b", i), Author: "ann"}))
		must(t, b.db.Flush(ctx))
	}
	mem.Evict(append(keysUnder(t, mem, "l:Book:ByAuthor:ann#"), keysUnder(t, mem, "r:Book:b")...)...)
	const base = "l:Book:ByAuthor:ann"
	audit := func() string {
		other := openSweep(shared{mem})
		closing(t, other.db)
		wrong, err := other.ByAuthor.Window().Audit(ctx, kv.ReadOnly(mem, kv.ErrReadOnly), base, "ann")
		must(t, err)
		return fmt.Sprint(wrong)
	}
	if got := audit(); !strings.Contains(got, "lost") {
		t.Errorf("of what is lost: %s", got)
	}
	wantError(t, b.ByAuthor.Window().Amend(ctx, mem, base, "ann"), kvmodel.ErrNeedsRebuild)
	must(t, b.Rebuild(ctx))
	if got := audit(); got != "[]" {
		t.Errorf("after a rebuild: %s", got)
	}
}
