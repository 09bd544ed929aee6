package timeline_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/timeline"
)

func TestWiring_OfAnImpossibleSpecPanicsAndSaysWhy(t *testing.T) {
	feet := func(keep int, ttl time.Duration) func() {
		return func() {
			spec := visitSpec(timeline.Appended, keep, false)
			spec.TTL = ttl
			timeline.NewEvents(openDB(t, memkv.New(memkv.Options{})), spec)
		}
	}
	ring := func(spec timeline.Spec[page]) func() {
		return func() { openSpec(memkv.New(memkv.Options{}), spec) }
	}
	for name, test := range map[string]struct {
		wire func()
		want string
	}{
		"a negative ring":     {ring(timeline.Spec[page]{Shape: timeline.Shape{Size: -1}}), "a ring of -1 slots"},
		"a negative segment":  {ring(timeline.Spec[page]{Shape: timeline.Shape{Size: 9, Segment: -2}}), "9 slots by -2"},
		"too many shards":     {ring(timeline.Spec[page]{Shards: timeline.MaxLanes + 1}), "65 shards; there can be 64"},
		"events kept -1":      {feet(-1, 0), "events of Visit: keep -1"},
		"events for too long": {feet(5, 1<<62), "events of Visit: keep 5 for"},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, test.want) {
					t.Errorf("panic %q, want %q in it", got, test.want)
				}
			}()
			test.wire()
		})
	}
}

func TestRing_TheZeroShapeIsARingOfTheDefaultSize(t *testing.T) {
	p := closing(t, openRing(plain{memkv.New(memkv.Options{})}, timeline.Shape{}))
	p.create(t, "first", "ann", "text")
	p.create(t, "p", "ann", "text")
	for i := range timeline.DefaultSize - 2 {
		p.edit(t, "p", func(p *page) { p.Body = fmt.Sprint(i) })
	}
	wantIDs(t, "as many entries as slots", []string{"p", "first"}, listed(t, p.newest, "", 9).Items)
	p.edit(t, "p", func(p *page) { p.Body = "one more" })
	wantIDs(t, "one entry more", []string{"p"}, listed(t, p.newest, "", 9).Items)
}
