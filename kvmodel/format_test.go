package kvmodel

import (
	"encoding/hex"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

var unexported = cmp.Options{
	cmp.AllowUnexported(envelope{}, try{}, mark{}, touched{}, line{}, journalState{}),
	cmpopts.EquateEmpty(),
}

var (
	liveForm = envelope{
		model: 2, rev: 1_760_000_000_001, expires: 1_760_000_060_000,
		tries: []try{{1_760_000_000_000, 0x0102030405060708}, {1_760_000_000_001, 0xfffefdfcfbfaf9f8}},
		marks: []mark{{"Newest", []byte{7, 0}}},
		body:  []byte("body"),
	}
	deletedForm = envelope{
		model: 1, rev: 300, deleted: true,
		tries: []try{{300, 1}},
		lost:  []touched{{"BySlug", []string{"home", "a%2Fb"}}},
	}
	lineForm = line{
		model: "Page", id: "p1", rev: 300, created: true,
		touched: []touched{{"BySlug", []string{"home"}}, {"ByTags", []string{"go", "kv"}}},
	}
	headForm = journalState{lowest: 3, highest: 200, tick: 1000, shapes: []string{"Page=0a1b", "User=ff"}}
)

func TestFormat_WhatIsStoredReadsAsItAlwaysDid(t *testing.T) {
	for name, form := range map[string]struct {
		golden string // hex, in the parts of the form
		encode func() []byte
		decode func([]byte) (any, error)
		want   any
	}{
		"live record": {
			// format, state; model version; rev; expiry; tries: back, nonce; marks: index, value; lost; body
			golden: "e101 02 8180b3c19c33 e0d4b6c19c33 02 010102030405060708 00fffefdfcfbfaf9f8 01064e6577657374020700 00 626f6479",
			encode: func() []byte { return liveForm.encode(nil) },
			decode: func(b []byte) (any, error) { e, err := decodeEnvelope(b); return *e, err },
			want:   liveForm,
		},
		"deleted record": {
			golden: "e102 01 ac02 00 01 000000000000000001 00 0106 4279536c7567 02 04 686f6d65 05 6125324662",
			encode: func() []byte { return deletedForm.encode(nil) },
			decode: func(b []byte) (any, error) { e, err := decodeEnvelope(b); return *e, err },
			want:   deletedForm,
		},
		"journal line": {
			// length; model; id; rev; created; touched: index, places
			golden: "27 0450616765 027031 ac02 01 02 064279536c7567 01 04686f6d65 0642795461677302 02676f 026b76",
			encode: func() []byte { return lineForm.encode(nil) },
			decode: func(b []byte) (any, error) { ls, err := decodeLines(b); return ls, err },
			want:   []line{lineForm},
		},
		"journal head": {
			// lowest; highest; tick; shapes
			golden: "03 c801 e807 02 09 506167653d30613162 07 557365723d6666",
			encode: func() []byte {
				return encodeHead(headForm)
			},
			decode: func(b []byte) (any, error) { s, err := decodeHead(b); return s, err },
			want:   headForm,
		},
		"chunk of ids, built item": {
			golden: "02 7031 03 613a62",
			encode: func() []byte { return encodeTexts([]string{"p1", "a:b"}) },
			decode: func(b []byte) (any, error) { ids, err := decodeIDs(b); return ids, err },
			want:   []string{"p1", "a:b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			golden, err := hex.DecodeString(strings.ReplaceAll(form.golden, " ", ""))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(hex.EncodeToString(golden), hex.EncodeToString(form.encode())); diff != "" {
				t.Errorf("encoded (-want +got)\n%s", diff)
			}
			got, err := form.decode(golden)
			if diff := cmp.Diff(form.want, got, unexported); err != nil || diff != "" {
				t.Errorf("decoded: %v (-want +got)\n%s", err, diff)
			}
		})
	}
}

func TestEnvelope_CutAnywhereBeforeItsBodyIsCorrupt(t *testing.T) {
	for _, e := range []envelope{liveForm, deletedForm} {
		e.body = nil
		data := e.encode(nil)
		for n := range len(data) {
			if got, err := decodeEnvelope(data[:n]); !errors.Is(err, ErrCorrupt) {
				t.Errorf("the first %d of %d bytes: got %+v, %v; want ErrCorrupt", n, len(data), got, err)
			}
		}
	}
}

func TestLine_CutAnywhereIsCorruptAndTheLinesBeforeItAreKept(t *testing.T) {
	first := lineForm.encode(nil)
	data := lineForm.encode(first)
	for n := len(first) + 1; n < len(data); n++ {
		got, err := decodeLines(data[:n])
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("cut at %d of %d: %v; want ErrCorrupt", n, len(data), err)
		}
		if diff := cmp.Diff([]line{lineForm}, got, unexported); diff != "" {
			t.Errorf("cut at %d of %d: lines (-want +got)\n%s", n, len(data), diff)
		}
	}
}

func TestHead_CutAnywhereIsCorrupt(t *testing.T) {
	data := encodeHead(headForm)
	for n := range len(data) {
		if got, err := decodeHead(data[:n]); !errors.Is(err, ErrCorrupt) {
			t.Errorf("the first %d of %d bytes: got %+v, %v; want ErrCorrupt", n, len(data), got, err)
		}
	}
}

// hostile are stored bytes that claim more than there is.
func hostile() map[string][]byte {
	many := []byte{0xff, 0xff, 0xff, 0xff, 0x0f}
	front := []byte{envelopeFormat, stateLive, 1, 1, 0}
	join := func(parts ...[]byte) (all []byte) {
		for _, part := range parts {
			all = append(all, part...)
		}
		return all
	}
	zeros := make([]byte, 1<<20)
	return map[string][]byte{
		"many tries":            join(front, many, zeros),
		"many marks":            join(front, []byte{0}, many, zeros),
		"marks of nothing":      join(front, []byte{0}, []byte{0x80, 0x80, 0x10}, zeros),
		"indexes of nothing":    join(front, []byte{0, 0}, []byte{0x80, 0x80, 0x10}, zeros),
		"places of nothing":     join(front, []byte{0, 0, 1, 1, 'x'}, []byte{0x80, 0x80, 0x20}, zeros),
		"a long text":           join(front, []byte{0, 1}, many, zeros),
		"a rev past the limit":  {envelopeFormat, stateLive, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0},
		"a number past 64 bits": join([]byte{envelopeFormat, stateLive}, []byte(strings.Repeat("\xff", 11))),
		"a try before rev 0":    join(front, []byte{1, 2}, zeros[:8], []byte{0, 0}),
		"another format":        {envelopeFormat + 1, stateLive, 1, 1, 0, 0, 0, 0},
		"no state":              {envelopeFormat, 0, 1, 1, 0, 0, 0, 0},
	}
}

func TestEnvelope_HostileBytesAreCorruptAndCostNoMemory(t *testing.T) {
	for name, data := range hostile() {
		t.Run(name, func(t *testing.T) {
			var err error
			took := allocated(func() { _, err = decodeEnvelope(data) })
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("got %v, want ErrCorrupt", err)
			}
			if limit := memoryLimit(data); took > limit {
				t.Errorf("%d bytes of input took %d bytes of memory, at most %d", len(data), took, limit)
			}
		})
	}
}

// memoryLimit is what reading data may cost.
func memoryLimit(data []byte) uint64 { return 16*uint64(len(data)) + 32<<10 }

// allocated returns how many bytes f took, those it gave back among them.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestLine_OfATypicalChangeIsAtMost100Bytes(t *testing.T) {
	l := line{
		model: "Story", id: kv.NewID(time.Now()), rev: uint64(time.Now().UnixMilli()), created: true,
		touched: []touched{
			{"BySlug", []string{"a-typical-slug-of-an-article"}},
			{"ByTags", []string{"golang"}},
		},
	}
	size := len(l.encode(nil))
	t.Logf("a line for a slug and a tag: %d bytes", size)
	if size > 100 {
		t.Errorf("%d bytes, want at most 100", size)
	}
}

func FuzzEnvelope(f *testing.F) {
	f.Add(liveForm.encode(nil))
	f.Add(deletedForm.encode(nil))
	for _, data := range hostile() {
		f.Add(data[:min(len(data), 64)])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var e *envelope
		var err error
		took := allocated(func() { e, err = decodeEnvelope(data) })
		if took > memoryLimit(data) {
			t.Errorf("%d bytes of input took %d bytes of memory", len(data), took)
		}
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("got %v, want ErrCorrupt", err)
			}
			return
		}
		again, err := decodeEnvelope(e.encode(nil))
		if diff := cmp.Diff(e, again, unexported); err != nil || diff != "" {
			t.Errorf("read, written and read again: %v (-want +got)\n%s", err, diff)
		}
	})
}

func FuzzLine(f *testing.F) {
	f.Add(lineForm.encode(lineForm.encode(nil)))
	f.Add([]byte{5, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		lines, err := decodeLines(data)
		if err != nil && !errors.Is(err, ErrCorrupt) {
			t.Errorf("got %v, want ErrCorrupt", err)
		}
		var b []byte
		for _, l := range lines {
			b = l.encode(b)
		}
		again, err := decodeLines(b)
		if diff := cmp.Diff(lines, again, unexported); err != nil || diff != "" {
			t.Errorf("read, written and read again: %v (-want +got)\n%s", err, diff)
		}
	})
}

func FuzzHead(f *testing.F) {
	f.Add(encodeHead(headForm))
	f.Add([]byte{0, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := decodeHead(data)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("got %v, want ErrCorrupt", err)
			}
			return
		}
		if n := s.highest - s.lowest; n < 0 || n > maxSegments {
			t.Errorf("a head of %d segments is taken for one", n)
		}
	})
}

func FuzzCursor(f *testing.F) {
	f.Add("Page.Newest", []byte("place"), Cursor("Page.Newest", []byte("place")))
	f.Add("", []byte{}, "")
	f.Fuzz(func(t *testing.T, listing string, place []byte, cursor string) {
		if got, err := ParseCursor(listing, Cursor(listing, place)); err != nil || string(got) != string(place) {
			t.Errorf("place %q came back as %q, %v", place, got, err)
		}
		if _, err := ParseCursor(listing, cursor); err != nil && !errors.Is(err, ErrBadCursor) {
			t.Errorf("got %v, want ErrBadCursor", err)
		}
	})
}
