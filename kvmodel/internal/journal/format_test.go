package journal

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/kvmodel/codec"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

var unexported = cmp.Options{
	cmp.AllowUnexported(Line{}, head{}),
	cmpopts.EquateEmpty(),
}

var (
	lineForm = Line{
		Model: "Page", ID: "p1", Rev: 300, Created: true,
		Touched: []envelope.Touched{{Index: "BySlug", Places: []string{"home"}}, {Index: "ByTags", Places: []string{"go", "kv"}}},
	}
	runsForm = head{lowest: 3, highest: 200, tick: 1000, shapes: []string{"Page=0a1b"}, origin: Origin{"web=1", 4121, "a3 19", time.Unix(1795308910, 0)}}
	headForm = head{lowest: 3, highest: 200, tick: 1000, shapes: []string{"Page=0a1b", "User=ff"}}
)

func TestFormat_WhatIsStoredReadsAsItAlwaysDid(t *testing.T) {
	deletion := Line{Model: "Page", ID: "p1"}
	for name, form := range map[string]struct {
		golden string // hex, in the parts of the form
		encode func() []byte
		decode func([]byte) (any, error)
		want   any
	}{
		"journal line": {
			// mark; length; model; id; rev; created; touched: index, places; the sum
			golden: "f5 27 0450616765 027031 ac02 01 02 064279536c7567 01 04686f6d65 0642795461677302 02676f 026b76 b3b0ebcb",
			encode: func() []byte { return lineForm.encode(nil) },
			decode: func(b []byte) (any, error) { ls, err := decodeLines(b); return ls, err },
			want:   []Line{lineForm},
		},
		"journal line of a deletion": {
			// mark; length; model; id; rev; not created; nothing is touched; the sum
			golden: "f5 0b 0450616765 027031 00 00 00 56a72160",
			encode: func() []byte { return deletion.encode(nil) },
			decode: func(b []byte) (any, error) { ls, err := decodeLines(b); return ls, err },
			want:   []Line{deletion},
		},
		"journal head": {
			// twice: mark; length; lowest; highest; tick; shapes; the sum
			golden: strings.Repeat("f5 18 03 c801 e807 02 09 506167653d30613162 07 557365723d6666 7cbcca02", 2),
			encode: func() []byte { return headForm.encode() },
			decode: func(b []byte) (any, error) { s, err := decodeHead(b); return s, err },
			want:   headForm,
		},
		"journal head with the origin of its process": {
			// twice: mark; length; lowest; highest; tick; a shape; runs HOST PID TIME RELEASE; the sum
			golden: strings.Repeat("f5 33 03 c801 e807 02 09 506167653d30613162 "+
				"22 72756e7320 776562253344 31 20 34313231 20 31373935333038393130 20 61332b3139 6ee6a229", 2),
			encode: func() []byte { return runsForm.encode() },
			decode: func(b []byte) (any, error) { s, err := decodeHead(b); return s, err },
			want:   runsForm,
		},
	} {
		t.Run(name, func(t *testing.T) {
			golden, err := hex.DecodeString(strings.ReplaceAll(form.golden, " ", ""))
			must(t, err)
			proof.NoDiff(t, cmp.Diff(hex.EncodeToString(golden), hex.EncodeToString(form.encode())), "encoded")
			got, err := form.decode(golden)
			proof.Is(t, err, nil)
			proof.NoDiff(t, cmp.Diff(form.want, got, unexported), "decoded")
		})
	}
}

var deletedForm, noteForm = Line{Model: "Page", ID: "p1"}, Line{Model: "views", Touched: []envelope.Touched{{Index: "views", Places: []string{"a", "b"}}}}

func segment(lines ...Line) (data []byte) {
	for _, l := range lines {
		data = l.encode(data)
	}
	return data
}

func TestLines_AnyFlippedBitCostsOneLineAndIsNamed(t *testing.T) {
	lines := []Line{deletedForm, lineForm, noteForm, {Model: "Page", ID: "p2", Rev: 7, Touched: lineForm.Touched}, deletedForm}
	want, err := decodeLines(segment(lines...))
	if err != nil || len(want) != len(lines) {
		t.Fatalf("%d lines, %v", len(want), err)
	}
	for at := range 8 * len(segment(lines...)) {
		data := segment(lines...)
		data[at/8] ^= 1 << (at % 8)
		got, err := decodeLines(data)
		if len(got) != len(want)-1 || !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("bit %d: %d lines of %d, %v", at, len(got), len(want), err)
		}
	}
}

func TestLines_TheOthersOfADamagedOneAreRead(t *testing.T) {
	other := Line{Model: "Page", ID: "p2", Rev: 8, Touched: lineForm.Touched}
	for name, at := range map[string][]int{"its length": {0}, "its id": {8, 9}, "all of it": {0, 1, 2, 3, 4, 5, 6, 7, 8}} {
		data := segment(lineForm, other)
		for _, at := range at {
			data[at] ^= 0x55
		}
		got, err := decodeLines(data)
		if !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("%s: got %v, want an ErrCorrupt", name, err)
		}
		proof.NoDiff(t, cmp.Diff([]Line{other}, got, unexported), "%s: lines", name)
	}
}

func TestLine_CutAnywhereIsCorruptAndTheLinesBeforeItAreKept(t *testing.T) {
	first := lineForm.encode(nil)
	data := lineForm.encode(first)
	for n := len(first) + 1; n < len(data); n++ {
		got, err := decodeLines(data[:n])
		if !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("cut at %d of %d: %v; want ErrCorrupt", n, len(data), err)
		}
		proof.NoDiff(t, cmp.Diff([]Line{lineForm}, got, unexported), "cut at %d of %d: lines", n, len(data))
	}
}

func TestHead_CutBeforeItsSecondCopyIsCorrupt(t *testing.T) {
	data := headForm.encode()
	for n := range len(data) / 2 {
		if got, err := decodeHead(data[:n]); !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("the first %d of %d bytes: got %+v, %v; want ErrCorrupt", n, len(data), got, err)
		}
	}
}

func TestLine_OfATypicalChangeIsAtMost100Bytes(t *testing.T) {
	l := Line{
		Model: "Story", ID: kv.NewID(time.Now()), Rev: uint64(time.Now().UnixMilli()), Created: true,
		Touched: []envelope.Touched{
			{Index: "BySlug", Places: []string{"a-typical-slug-of-an-article"}},
			{Index: "ByTags", Places: []string{"golang"}},
		},
	}
	size := len(l.encode(nil))
	t.Logf("a line for a slug and a tag: %d bytes", size)
	if size > 100 {
		t.Errorf("%d bytes, want at most 100", size)
	}
}

func FuzzLine(f *testing.F) {
	f.Add(lineForm.encode(lineForm.encode(nil)))
	f.Add([]byte{5, 0, 0, 0, 0, 0})
	damaged := lineForm.encode(nil)
	damaged[4] ^= 4
	f.Add(lineForm.encode(damaged))
	f.Fuzz(func(t *testing.T, data []byte) {
		lines, err := decodeLines(data)
		if err != nil && !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("got %v, want ErrCorrupt", err)
		}
		// A line that repeats the line before it is read once, but not after a damaged one.
		lines = slices.CompactFunc(lines, func(a, b Line) bool { return cmp.Equal(a, b, unexported) })
		var b []byte
		for _, l := range lines {
			b = l.encode(b)
		}
		again, err := decodeLines(b)
		proof.Is(t, err, nil)
		proof.NoDiff(t, cmp.Diff(lines, again, unexported), "read, written and read again")
	})
}

func FuzzHead(f *testing.F) {
	f.Add(headForm.encode())
	f.Add([]byte{0, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := decodeHead(data)
		if err != nil {
			proof.Is(t, err, codec.ErrCorrupt)
			return
		}
		if n := s.highest - s.lowest; n < 0 || n > maxSegments {
			t.Errorf("a head of %d segments is taken for one", n)
		}
	})
}

func TestMerge_LeavesOneLineForEachRecord(t *testing.T) {
	places := func(index string, places ...string) envelope.Touched {
		return envelope.Touched{Index: index, Places: places}
	}
	got := Merge([]Line{
		{Model: "Note", ID: "a", Rev: 7, Touched: []envelope.Touched{places("ByTag", "x"), places("ByDay", "1")}},
		{Model: "Note", ID: "b", Rev: FenceAlways},
		{Model: "Work", ID: "a", Rev: 8},
		{Model: "Note", ID: "a", Rev: 5, Created: true, Touched: []envelope.Touched{places("ByTag", "y", "x")}},
		{Model: "Note", ID: "a", Rev: FenceAlways, Touched: []envelope.Touched{places("ByTag", "z")}},
		{Model: "Note", ID: "b", Rev: FenceAlways},
	})
	want := []Line{
		{Model: "Note", ID: "a", Rev: 7, Created: true, Touched: []envelope.Touched{places("ByTag", "x", "y"), places("ByDay", "1")}},
		{Model: "Note", ID: "b", Rev: FenceAlways},
		{Model: "Work", ID: "a", Rev: 8},
		{Model: "Note", ID: "a", Rev: FenceAlways, Touched: []envelope.Touched{places("ByTag", "z")}},
	}
	proof.NoDiff(t, cmp.Diff(want, got, unexported), "mismatch")
}

// Changes with abandoned work stay incomplete while the process lives.
func TestJournal_LeavesOneWithVeryManyIncompleteSegmentsToRepair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, s, closed := t.Context(), memkv.New(memkv.Options{}), make(chan struct{})
		j := New(Config{Store: s, Now: time.Now, Closed: closed, Failed: func(err error) { t.Error(err) }, Shapes: func() []string { return nil }, Begin: unobserved})
		must(t, j.Ready(ctx))
		segments := func() int {
			j.mu.Lock()
			defer j.mu.Unlock()
			return len(j.segments)
		}
		first, most := j.Process(), 0
		for range 2 * keptSegments {
			must(t, j.Ready(ctx))
			proof.Done(t)(j.Append(ctx, s, Line{Model: "Page", ID: "p1", Rev: 1}))
			time.Sleep(times.Tick)
			if most = max(most, segments()); j.Process() != first {
				break
			}
		}
		if j.Process() == first || most > keptSegments+2 || j.OpenLines() > 0 {
			t.Errorf("%d segments at most, and %d lines are open; want at most %d, and then another journal", most, j.OpenLines(), keptSegments)
		}
		left, err := Read(ctx, s, first)
		if err != nil || len(left.Lines) < keptSegments {
			t.Errorf("%d lines are left for repair, %v", len(left.Lines), err)
		}
		close(closed)
		synctest.Wait()
	})
}

func unobserved(ctx context.Context) (context.Context, func()) { return ctx, func() {} }

var must = proof.Must

func TestJournal_TheFirstHeadSaysWhereItsProcessRuns(t *testing.T) {
	s, want := memkv.New(memkv.Options{}), Origin{"web-1", 4121, "a3f19c2", time.Unix(1795308910, 0).UTC()}
	j := New(Config{Store: s, Now: time.Now, Origin: want, Shapes: func() []string { return nil }, Begin: unobserved})
	must(t, j.Ready(t.Context()))
	others, err := Others(t.Context(), s, func(string) bool { return false }, nil)
	if err != nil || len(others) != 1 || others[0].Origin != want {
		t.Errorf("want %+v, got %+v, %v", want, others, err)
	}
}

func TestJournal_AProcessReadsBeforeItWrites(t *testing.T) {
	var trips [][]string
	s := kv.Trace(memkv.New(memkv.Options{}), func(_ context.Context, trip kv.Trip) {
		var kinds []string
		for _, op := range trip.Ops {
			kinds = append(kinds, op.Kind.String())
		}
		trips = append(trips, kinds)
	})
	j := New(Config{Store: s, Now: time.Now, Shapes: func() []string { return nil }, Begin: unobserved})
	must(t, j.Ready(t.Context()))
	want := [][]string{{"get"}, {"add", "set"}, {"add"}}
	if !slices.EqualFunc(trips, want, slices.Equal) {
		t.Errorf("the ops of each trip are %q, want %q", trips, want)
	}
}

var started = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestOrigin_IsCalledByWhatIsKnown(t *testing.T) {
	for _, test := range []struct {
		want   string
		origin Origin
		after  time.Duration
	}{
		{"web-1 pid 4121 (release a3f19c2, since 3 h)", Origin{"web-1", 4121, "a3f19c2", started}, 3*time.Hour + 59*time.Minute},
		{"web-1 pid 4121 (since 9 d)", Origin{"web-1", 4121, "", started}, 9*24*time.Hour + time.Hour},
		{"pid 7 (release v1, since 1 min)", Origin{"", 7, "v1", started}, time.Minute},
		{"web-1 pid 7 (since 0 s)", Origin{"web-1", 7, "", started}, -time.Hour},
		{"THENAME", Origin{}, time.Hour},
	} {
		proof.Equal(t, test.origin.Called("THENAME", started.Add(test.after)), test.want, "called")
	}
}

func TestOrigin_TextReadsBackAndIsNoShape(t *testing.T) {
	for _, want := range []Origin{
		{"web-1", 4121, "a3f19c2", started}, {"", 1, "", started}, {"a b=c", 2, "release 1 = 2 %", started},
	} {
		got, ok := readOrigin(want.text())
		if !ok || got.Since.Unix() != want.Since.Unix() || got.Host != want.Host || got.PID != want.PID || got.Release != want.Release {
			t.Errorf("want %+v, got %+v, %v of %q", want, got, ok, want.text())
		}
		c := Copy{head: head{shapes: []string{want.text()}}}
		if models := c.Models(); len(models) > 0 {
			t.Errorf("%q is taken for the shape of %q", want.text(), models)
		}
	}
	for _, text := range []string{"Page=0a1b", "handles Page", "runs", "runs ", "runs a b c d", "runs a 1 2", "runs a 1 2 3 4", "runs %zz 1 2 x"} {
		if o, ok := readOrigin(text); ok {
			t.Errorf("%q is taken for %+v", text, o)
		}
	}
}

func TestOrigin_TakesFewBytes(t *testing.T) {
	o := Origin{"web-1.example.org", 4121, "a3f19c2", started}
	if n := len(head{origin: o}.encode()) - len(head{}.encode()); n > 128 {
		t.Errorf("%d bytes, want at most 128", n)
	}
}

func TestHead_OneThatIsBeingRemovedHasNoTick(t *testing.T) {
	ctx, s := t.Context(), memkv.New(memkv.Options{})
	for _, test := range []struct{ tick, want uint64 }{{7, 7}, {closedTick, 0}} {
		_, err := kv.One(ctx, s, kv.OpSet(HeadKey("p"), head{tick: test.tick}.encode()))
		if err == nil {
			err = listProcess(ctx, s, "p", true)
		}
		must(t, err)
		others, err := Others(ctx, s, func(string) bool { return false }, nil)
		if err != nil || len(others) != 1 {
			t.Fatalf("%d others, %v", len(others), err)
		}
		c, err := Read(ctx, s, "p")
		if o := others[0]; err != nil || o.Damaged != nil || o.Tick != test.want || c.Tick != test.want {
			t.Errorf("a head at %d shows %d, and read whole %d, want %d: %v, %v", test.tick, o.Tick, c.Tick, test.want, o.Damaged, err)
		}
	}
}

func TestProcesses_AFlippedBitOfTheListIsMadeUpForAndTwoAreNamed(t *testing.T) {
	want := []string{kv.RandomName(), kv.RandomName(), kv.RandomName()}
	list := encodeProcesses(want)
	for at := range 8 * len(list) {
		data := bytes.Clone(list)
		data[at/8] ^= 1 << (at % 8)
		if got := decodeProcesses(data); !slices.Equal(got, want) {
			t.Errorf("bit %d: got %q, want %q", at, got, want)
		}
		data[(at/8+len(list)/2)%len(list)] ^= 1
		if got := decodeProcesses(data); len(got) != 1 || checkName(got[0]) == nil {
			t.Errorf("bit %d and another: got %q", at, got)
		}
	}
	if got := decodeProcesses(list); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
