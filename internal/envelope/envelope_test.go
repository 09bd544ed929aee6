package envelope

import (
	"encoding/hex"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ringtree/ringtree/internal/frame"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/codec"
)

var unexported = cmp.Options{cmp.AllowUnexported(Envelope{}), cmpopts.EquateEmpty()}

var (
	liveForm = Envelope{
		Model: 2, Rev: 1_760_000_000_001, Expires: 1_760_000_060_000,
		Body:  []byte("body"),
		tries: [keptTries]Try{{1_760_000_000_001, 0xfffefdfcfbfaf9f8}, {1_760_000_000_000, 0x0102030405060708}},
		marks: []byte("\x01\x06Newest\x02\x07\x00"),
	}
	deletedForm = Envelope{
		Model: 1, Rev: 300, Deleted: true,
		Lost:  []Touched{{"BySlug", []string{"home", "a%2Fb"}}},
		tries: [keptTries]Try{{300, 1}},
		marks: []byte{0},
	}
)

func TestFormat_WhatIsStoredReadsAsItAlwaysDid(t *testing.T) {
	for name, form := range map[string]struct {
		golden string // hex, in the parts of the form
		encode func() []byte
		decode func([]byte) (any, error)
		want   any
	}{
		"live record": {
			// format, state; model version; rev; expiry; tries: back, nonce; marks: index, value; lost; body; the sum
			golden: "e101 02 8180b3c19c33 e0d4b6c19c33 02 010102030405060708 00fffefdfcfbfaf9f8 01 064e6577657374020700 00 626f6479 6d51e482",
			encode: func() []byte { return liveForm.Encode(nil) },
			decode: func(b []byte) (any, error) { e, err := Decode(b); return *e, err },
			want:   liveForm,
		},
		"deleted record": {
			golden: "e102 01 ac02 00 01 000000000000000001 00 0106 4279536c7567 02 04 686f6d65 05 6125324662 03dfcdac",
			encode: func() []byte { return deletedForm.Encode(nil) },
			decode: func(b []byte) (any, error) { e, err := Decode(b); return *e, err },
			want:   deletedForm,
		},
	} {
		t.Run(name, func(t *testing.T) {
			proof.NoDiff(t, cmp.Diff(strings.ReplaceAll(form.golden, " ", ""), hex.EncodeToString(form.encode())), "encoded")
			data, err := hex.DecodeString(strings.ReplaceAll(form.golden, " ", ""))
			proof.Must(t, err)
			got, err := form.decode(data)
			proof.Is(t, err, nil)
			proof.NoDiff(t, cmp.Diff(form.want, got, unexported), "decoded")
		})
	}
}

func TestSum_EveryBitThatFlipsIsNoticed(t *testing.T) {
	for _, form := range []Envelope{liveForm, deletedForm} {
		data := form.Encode(nil)
		for i := range len(data) * 8 {
			flipped := slices.Clone(data)
			flipped[i/8] ^= 1 << (i % 8)
			if got, err := Decode(flipped); !errors.Is(err, codec.ErrCorrupt) {
				t.Errorf("bit %d of byte %d: %+v, %v; want ErrCorrupt", i%8, i/8, got, err)
			}
		}
	}
}

func TestEnvelope_CutAnywhereBeforeItsBodyIsCorrupt(t *testing.T) {
	for _, e := range []Envelope{liveForm, deletedForm} {
		e.Body = nil
		data := e.Encode(nil)
		for n := range len(data) {
			if got, err := Decode(data[:n]); !errors.Is(err, codec.ErrCorrupt) {
				t.Errorf("the first %d of %d bytes: got %+v, %v; want ErrCorrupt", n, len(data), got, err)
			}
		}
	}
}

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
			took := allocated(func() { _, err = Decode(frame.Whole(data)) })
			proof.Is(t, err, codec.ErrCorrupt)
			if limit := memoryLimit(data); took > limit {
				t.Errorf("%d bytes of input took %d bytes of memory, at most %d", len(data), took, limit)
			}
		})
	}
}

// memoryLimit is what reading data may cost.
func memoryLimit(data []byte) uint64 { return 16*uint64(len(data)) + 32<<10 }

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func FuzzEnvelope(f *testing.F) {
	f.Add(liveForm.Encode(nil))
	f.Add(deletedForm.Encode(nil))
	for _, data := range hostile() {
		f.Add(data[:min(len(data), 64)])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var e *Envelope
		var err error
		took := allocated(func() { e, err = Decode(data) })
		if took > memoryLimit(data) {
			t.Errorf("%d bytes of input took %d bytes of memory", len(data), took)
		}
		if err != nil {
			proof.Is(t, err, codec.ErrCorrupt)
			return
		}
		again, err := Decode(e.Encode(nil))
		proof.Is(t, err, nil)
		proof.NoDiff(t, cmp.Diff(e, again, unexported), "read, written and read again")
	})
}
