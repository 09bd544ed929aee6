package timeline_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/timeline"
)

// drawn returns a picture as a line of slots, with a
// after each segment.
func drawn(p timeline.Picture) string {
	var line strings.Builder
	for _, segment := range p.Segments {
		for _, slot := range segment.Slots {
			line.WriteByte(".FSMU"[slot])
		}
		line.WriteByte('|')
	}
	return line.String()
}

func pictureOf(t testing.TB, r *timeline.Ring[page]) timeline.Picture {
	t.Helper()
	pictures, err := r.Pictures(ctx, 2000)
	if err != nil || len(pictures) != 1 {
		t.Fatal(len(pictures), "pictures,", err)
	}
	return pictures[0]
}

// filled returns the number of filled slots in the pictures of r.
func filled[T any](t testing.TB, r *timeline.Ring[T]) (n int) {
	t.Helper()
	pictures, err := r.Pictures(ctx, 2000)
	must(t, err)
	for _, p := range pictures {
		n += strings.Count(drawn(p), "F")
	}
	return n
}

func wantPicture(t testing.TB, what string, want string, got timeline.Picture) {
	t.Helper()
	if d := cmp.Diff(want, drawn(got)); d != "" {
		t.Errorf("%s: mismatch (-want +got):\n%s", what, d)
	}
}

func TestRing_Pictures_ShowWhatEachSlotHolds(t *testing.T) {
	eachStore(t, func(t *testing.T, s kv.Store) {
		p := closing(t, openRing(s, timeline.Shape{Size: 8, Segment: 4}))
		wantPicture(t, "nothing", "....|....|....|", pictureOf(t, p.newest))
		p.createMany(t, "p", 6)
		wantPicture(t, "six, and no number 0", ".FFF|FFF.|....|", pictureOf(t, p.newest))
		p.edit(t, "p1", func(p *page) { p.Body = "moves to 7" })
		must(t, p.Delete(ctx, "p3"))
		wantPicture(t, "one moved and one deleted", ".FSF|SFFF|....|", pictureOf(t, p.newest))
		if _, err := kv.One(ctx, s, kv.OpIncrement("t:Page:Newest:#n", 1)); err != nil {
			t.Fatal(err)
		}
		got := pictureOf(t, p.newest)
		wantPicture(t, "a number was handed out and not used", ".FSF|SFFF|M...|", got)
		entries := 0
		for i, segment := range got.Segments {
			r, _ := kv.One(ctx, s, kv.OpGet(segment.Key))
			if len(r.Value) != segment.Bytes || segment.Key != fmt.Sprint("t:Page:Newest:#s", i) {
				t.Errorf("%s has %d bytes, and the picture says %d", segment.Key, len(r.Value), segment.Bytes)
			}
			entries += segment.Entries
		}
		if entries != 7 {
			t.Errorf("the segments have %d entries, want 7", entries)
		}
		if got.Head != 8 || got.Newest != 2 {
			t.Errorf("the head is %d in segment %d, want 8 in 2", got.Head, got.Newest)
		}
		p.createMany(t, "q", 6)
		got = pictureOf(t, p.newest)
		wantPicture(t, "the ring has come around", "FFF.|...F|MFFF|", got)
		firsts := []int64{got.Segments[0].First, got.Segments[1].First, got.Segments[2].First}
		if d := cmp.Diff([]int64{12, 4, 8}, firsts); d != "" {
			t.Errorf("first numbers: mismatch (-want +got):\n%s", d)
		}
	})
}

func TestRing_Pictures_TakeThreeTripsAndWriteNothing(t *testing.T) {
	mem := memkv.New(memkv.Options{})
	p := closing(t, openRing(plain{mem}, timeline.Shape{}))
	rng := rand.New(rand.NewPCG(1, 1))
	fillRing(t, p, rng, 1500, 20)
	var wrote atomic.Int64
	s := &broken{Store: plain{mem}, refuses: func(op kv.Op) bool {
		if op.Kind.Writes() {
			wrote.Add(1)
		}
		return false
	}}
	other := closing(t, openRing(s, timeline.Shape{}))
	for _, want := range []int{4, 3} {
		c := cost(t, func(p *pages) error { _, err := p.newest.Pictures(ctx, 2000); return err }, other)
		if c.Trips != want {
			t.Errorf("a picture of a full ring: %v, want %d trips", c, want)
		}
	}
	if err := other.db.Flush(ctx); err != nil || wrote.Load() > 0 {
		t.Errorf("a picture has written %d times, %v", wrote.Load(), err)
	}
}

func TestRing_Pictures_ReadNoMoreRecordsThanTheLimit(t *testing.T) {
	p := closing(t, openRing(plain{memkv.New(memkv.Options{})}, timeline.Shape{Size: 8, Segment: 4}))
	p.createMany(t, "p", 6)
	must(t, p.Delete(ctx, "p0"))
	must(t, p.Delete(ctx, "p4"))
	for limit, want := range map[int]string{-1: ".UUU|UUU.|....|", 0: ".UUU|UUU.|....|", 2: ".UUU|USF.|....|", 9: ".SFF|FSF.|....|"} {
		pictures, err := p.newest.Pictures(ctx, limit)
		must(t, err)
		wantPicture(t, fmt.Sprint("limit ", limit), want, pictures[0])
	}
}
