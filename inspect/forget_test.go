package inspect

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/wire"
)

// packedAs returns v in msgpack.
func packedAs(t *testing.T, v any) []byte {
	t.Helper()
	data, err := msgpack.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// mail returns a text of n bytes.
func mail(n int) string { return ("jane.q@" + strings.Repeat("example-", n/8+1))[:n-1] + "g" }

func TestStands_AWordOfAnyLengthIsFoundInWhatIsStored(t *testing.T) {
	for n := 8; n <= 70_000; n += 1 + n/600*61 {
		word := mail(n)
		for name, value := range map[string][]byte{
			"a field":                  packedAs(t, map[string]any{"A": word}),
			"the beginning of a field": packedAs(t, map[string]any{"A": word + ", and others, " + strings.Repeat("x ", 40)}),
			"the end of a field":       append(packedAs(t, strings.Repeat("x ", 40)+"of "+word), '7'),
			"a key of a map":           packedAs(t, map[string]any{word: 7}),
			"a place of a tombstone":   (&envelope.Envelope{Deleted: true, Lost: []envelope.Touched{{Index: "ByMail", Places: []string{word}}}}).Encode(nil),
			"an id among ids":          wire.AppendTexts(nil, []string{"a", word, strings.Repeat("b", 50)}),
			"an edge among ids":        wire.AppendTexts(nil, []string{"a", word + ":book", "book:" + word, strings.Repeat("b", 50)}),
			"an edge that ends in it":  wire.AppendTexts(nil, []string{"a", "book:" + word, strings.Repeat("b", 50)}),
		} {
			if n > 2048 && strings.Contains(name, "ids") {
				continue // No id is as long.
			}
			if !stands(value, word) {
				t.Fatalf("%s, of %d bytes, is not found", name, n)
			}
		}
	}
}

func TestStands_WhatFollowsAFieldDoesNotMatter(t *testing.T) {
	for n := 8; n <= 300; n++ {
		for after := range 128 {
			if value := append(packedAs(t, mail(n)), byte(after)); !stands(value, mail(n)) {
				t.Fatalf("a field of %d bytes before %#x is not found", n, after)
			}
		}
	}
}

func TestStands_AnEntryOfATimelineIsFoundWhateverItsTime(t *testing.T) {
	for _, at := range []uint64{946_684_800_000, 1_700_000_000_000, 1_790_000_000_000, 2_200_000_000_000} {
		for n := 8; n <= 300; n++ {
			var ring []byte
			for _, id := range []string{mail(n) + ":book", mail(n + 1), strings.Repeat("b", 50)} {
				entry := append(binary.AppendUvarint(binary.AppendUvarint(nil, 7<<40), at), id...)
				ring = append(binary.AppendUvarint(ring, uint64(len(entry))), entry...)
			}
			if !stands(ring, mail(n)) || !stands(ring, mail(n+1)) {
				t.Fatalf("an id of %d bytes is not found among entries of the time %d", n, at)
			}
		}
	}
}

func TestStands_APartOfAWordIsNoWord(t *testing.T) {
	text := "In 1977 Joanne wrote 17:30 on page 277; " + strings.Repeat("she wrote on. ", 20)
	for _, word := range []string{"7", "ann", "Joann", "77"} {
		for name, value := range map[string][]byte{
			"a text":  []byte(text),
			"a field": packedAs(t, map[string]any{"A": text, "B": 7}),
			"an id":   wire.AppendTexts(nil, []string{"Joanne", "177:277", "x" + fmt.Sprint(1977)}),
		} {
			if stands(value, word) {
				t.Errorf("%q is found in %s, %q", word, name, value)
			}
		}
	}
	if !stands([]byte("7"), "7") || !stands(packedAs(t, "17:7"), "7") || !stands([]byte("n:Page:Views:7"), "7") {
		t.Error("7 is not found where it is a word")
	}
}
