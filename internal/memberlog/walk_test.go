package memberlog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
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

// afterwards calls do after a trip, before the answer.
type afterwards struct {
	kv.Store
	do func()
}

func (a *afterwards) Do(ctx context.Context, ops []kv.Op) error {
	err := a.Store.Do(ctx, ops)
	if do := a.do; do != nil {
		a.do = nil
		do()
	}
	return err
}

func TestLogs_Expect_CountsForAReaderWhoseTripTheRemovalOvertakes(t *testing.T) {
	ctx, mem := t.Context(), memkv.New(memkv.Options{})
	s := &afterwards{Store: server{mem}}
	l, _ := prompt(s, DefaultLimits)
	must(t, l.Write(ctx, s, place, Entry{ID: "ann", Rev: 1, In: true}))
	out := Entry{ID: "ann", Rev: 2, At: 1}
	l.Expect(place, out)
	s.do = func() {
		must(t, l.Write(ctx, mem, place, out))
		l.Written(place, out)
	}
	if n, err := l.Count(ctx, s, place); err != nil || n != 0 {
		t.Errorf("Count: %d, %v; want 0", n, err)
	}
}

func TestLogs_Expect_IsForgottenOnlyAfterManyOthers(t *testing.T) {
	ctx := t.Context()
	l, wait := prompt(memkv.New(memkv.Options{}), DefaultLimits)
	ids := fill(t, l, wait, 10)
	for _, id := range ids[:4] {
		l.Expect(place, Entry{ID: id, Rev: 2, At: 1})
	}
	for range 3 * maxExpected / 2 {
		l.Expect("another", Entry{ID: "x", Rev: 2, At: 1})
	}
	l.Expect(place, Entry{ID: ids[0], Rev: 3, At: 1})
	l.Written(place, Entry{ID: ids[0], Rev: 2, At: 1})
	if n, err := l.Count(ctx, l.Store, place); err != nil || n != 6 {
		t.Errorf("Count: %d, %v; want 6", n, err)
	}
	for range maxExpected {
		l.Expect("another", Entry{ID: "x", Rev: 2, At: 1})
	}
	proof.Equal(t, len(l.expected.of(place)), 1, "are remembered")
}

func TestLogs_Expect_EntersAMemberThatNoSegmentHasYet(t *testing.T) {
	ctx := t.Context()
	l, wait := prompt(memkv.New(memkv.Options{}), small)
	ids := fill(t, l, wait, 100)
	for _, id := range []string{ids[0], "ann", "bob"} {
		l.Expect(place, Entry{ID: id, Rev: 2, In: true})
	}
	want := slices.Sorted(slices.Values(append(ids, "ann", "bob")))
	if got := members(t, l); segments(t, l) < 2 || !slices.Equal(got, want) {
		t.Errorf("the members in %d segments are %q, want %q in several", segments(t, l), got, want)
	}
	for _, id := range []string{ids[0], "ann", "bob"} {
		l.Written(place, Entry{ID: id, Rev: 3})
	}
	if n, err := l.Count(ctx, l.Store, place); err != nil || n != 100 {
		t.Errorf("Count: %d, %v; want 100 once nothing is expected", n, err)
	}
}

// They meet the seal of a process that died.
func TestLogs_WritesThatMeetASealTogetherWaitForItTogetherAndReplaceItOnce(t *testing.T) {
	eachKind(t, func(t *testing.T, _ *memkv.Store, s kv.Store) {
		synctest.Test(t, func(t *testing.T) {
			copies := 0
			counted := kv.Count(kv.Trace(s, func(_ context.Context, trip kv.Trip) {
				for _, op := range trip.Ops {
					if op.Kind == kv.Add && strings.Contains(op.Key, "#") && op.Err() == nil {
						copies++
					}
				}
			}))
			l, wait := prompt(counted, DefaultLimits)
			want := fill(t, l, wait, 10)
			dying := &roll{Logs: l, ctx: t.Context(), s: s, place: place, names: []name{{}}}
			for errors.Is(dying.announce(), errAgain) {
			}
			must(t, dying.seal())
			copies = 0
			ctx, m := kv.Metered(t.Context())
			began := time.Now()
			var works []func(kv.Store) error
			for i := range 1000 {
				id := fmt.Sprintf("more-%06d", i)
				want = append(want, id)
				works = append(works, func(s kv.Store) error {
					return l.Write(ctx, s, place, Entry{ID: id, Rev: 1, In: true})
				})
			}
			must(t, errors.Join(kv.Together(ctx, counted, works...)...))
			if took := time.Since(began); took > 100*time.Millisecond {
				t.Errorf("they took %v", took)
			}
			if cost := m.Cost(); cost.Trips > 30 {
				t.Errorf("they cost %v", cost)
			}
			proof.Equal(t, copies, 1, "the segment was copied")
			proof.NoDiff(t, cmp.Diff(want, members(t, l)), "mismatch")
		})
	})
}
