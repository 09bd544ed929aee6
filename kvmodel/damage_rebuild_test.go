package kvmodel_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// hurt is an index without entries, except that the one of the record id is damaged.
type hurt struct {
	plug.Unlimited
	id string
}

const hurtKey = "x:Note:Hurt"

func (*hurt) Name() string                { return "Hurt" }
func (*hurt) Def() string                 { return "" }
func (*hurt) Places(plug.Record) []string { return []string{"all"} }

func (h *hurt) Prepare(_ context.Context, _ kv.Store, mv *plug.Move) error { return h.of(mv.ID) }

func (*hurt) Beside(context.Context, kv.Store, *plug.Move) error  { return nil }
func (*hurt) After(context.Context, kv.Store, []*plug.Move) error { return nil }

func (h *hurt) Repair(_ context.Context, _ kv.Store, rec *plug.Seen, _ []string) error {
	return h.of(rec.ID)
}

func (*hurt) Forget(context.Context, kv.Store, string, uint64, []string, func() error) error {
	return nil
}

func (*hurt) Check(context.Context, kv.Store, []*plug.Seen) ([][]string, error) { return nil, nil }

func (h *hurt) of(id string) error {
	if id != h.id {
		return nil
	}
	return wire.Corrupt(hurtKey, fmt.Errorf("%w: a test", kvmodel.ErrCorrupt))
}

func TestDamage_OfAnEntryKeepsNothingElseOutOfARebuild(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		p, h := start(t, plain(mem)).ends(t), new(hurt)
		p.Plug(h, func(plug.Host) {})
		for i := range 250 {
			must(t, p.Create(ctx, &note{ID: fmt.Sprintf("n%03d", i), Text: "x", Code: fmt.Sprint("c", i)}))
		}
		must(t, p.db.Flush(ctx))
		h.id = "n002"
		mem.Evict(keys(mem, "u")...)
		wantKeys(t, "rebuild", p.Rebuild(ctx), hurtKey)
		for i := range 250 {
			p.finds(t, ctx, fmt.Sprint("c", i))
		}
		h.id = ""
		must(t, p.Rebuild(ctx))
	})
}
