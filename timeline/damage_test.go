package timeline

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func appends(n int) (data []byte, entries []entry) {
	for i := range n {
		e := entry{stamp: int64(i + 1), at: 1700000000000 + int64(i), body: fmt.Appendf(nil, "p%d", i)}
		entries = append(entries, e)
		data = append(data, seal(e.encode(nil))...)
	}
	return data, entries
}

var plainEntries = cmp.AllowUnexported(entry{})

func TestEntries_AnyBitThatChangesIsNoticedAndTheRestGoesOn(t *testing.T) {
	data, entries := appends(6)
	for bit := range 8 * len(data) {
		changed := slices.Clone(data)
		changed[bit/8] ^= 1 << (bit % 8)
		got := decodeEntries(changed)
		rest := withoutLost(got)
		for _, e := range rest {
			if !slices.ContainsFunc(entries, func(want entry) bool { return cmp.Equal(want, e, plainEntries) }) {
				t.Errorf("bit %d: read %v, which was never written", bit, e)
			}
		}
		if len(rest) < len(entries) && !isDamaged(got) || len(rest) < len(entries)-2 {
			t.Errorf("bit %d: %d of %d entries, damaged: %v", bit, len(rest), len(entries), isDamaged(got))
		}
	}
}

func TestEntries_WithoutASumAreDamaged(t *testing.T) {
	data, want := appends(4)
	data = want[0].encode(data)
	if got := decodeEntries(data); !isDamaged(got) || !cmp.Equal(want, withoutLost(got), plainEntries) {
		t.Errorf("%v, want the first four and damage", got)
	}
}

func TestEntries_WhatIsLostStaysLostWhenTheKeyIsWrittenAgain(t *testing.T) {
	data, _ := appends(4)
	data[len(data)/2] ^= 1
	once := decodeEntries(data)
	if d := cmp.Diff(once, decodeEntries(encodeAll(once)), plainEntries); d != "" || !isDamaged(once) {
		t.Errorf("damaged: %v (-want +got):\n%s", isDamaged(once), d)
	}
}
