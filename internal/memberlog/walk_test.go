package memberlog

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// paused calls meanwhile after the first op of a trip.
type paused struct {
	kv.Store
	meanwhile func()
}

func (p *paused) Do(ctx context.Context, ops []kv.Op) error {
	meanwhile := p.meanwhile
	if len(ops) < 2 || meanwhile == nil {
		return p.Store.Do(ctx, ops)
	}
	p.meanwhile = nil
	if err := p.Store.Do(ctx, ops[:1]); err != nil {
		return err
	}
	meanwhile()
	return p.Store.Do(ctx, ops[1:])
}

func TestWalk_GivesEachMemberOnceThoughSegmentsAreJoined(t *testing.T) {
	eachKind(t, func(t *testing.T, _ *memkv.Store, s kv.Store) {
		ctx := context.Background()
		l, wait := prompt(s, DefaultLimits)
		l.Headed, l.Hot = true, 1
		must(t, l.Begin(ctx, s, place))
		want := fill(t, l, wait, 60)
		l.tendSoon(place, name{})
		wait()
		h, err := l.readHead(ctx, s, place)
		must(t, err)
		if len(h.parts) != 2 {
			t.Fatalf("%d segments, want 2", len(h.parts))
		}
		head, err := kv.One(ctx, s, kv.OpGet(l.Key(place)))
		must(t, err)
		l.Hot = 0
		join := func() { must(t, l.roll(ctx, s, place, h.parts[0].name, h.parts[1].name)) }
		var got []string
		must(t, l.Walk(ctx, &paused{s, join}, place, head, Position{}, func(st Stretch) error {
			got = append(got, kv.Texts(st.Members, func(m Member) string { return m.ID })...)
			return nil
		}))
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" || segments(t, l) != 1 {
			t.Errorf("members (-want +got)\n%s", diff)
		}
	})
}
