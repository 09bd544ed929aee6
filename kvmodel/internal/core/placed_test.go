package core

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// counting is an index whose places name the record, here a number, and the number of calls so far.
type counting struct {
	plug.Index
	asked *int
}

func (c counting) Places(v plug.Record) []string {
	*c.asked++
	return []string{fmt.Sprintf("%v, asked %d", v, *c.asked)}
}

func TestPlaced_PlacesAreThoseOfTheRecordWithItsCounters(t *testing.T) {
	asked := 0
	p := &Placed{Index: counting{asked: &asked}, At: 1}
	kept := &keptRecord{places: make([]atomic.Pointer[keptPlaces], 2)}
	at := func(counter kv.Version, decoded any) []kv.Result {
		return []kv.Result{{Decoded: decoded, Version: 7}, {Version: counter}}
	}
	for _, c := range []struct {
		what    string
		v       int
		results []kv.Result
		want    string
	}{
		{"the first look", 1, at(3, kept), "1, asked 1"},
		{"the same", 1, at(3, kept), "1, asked 1"},
		{"another number of its counter", 2, at(4, kept), "2, asked 2"},
		{"no counter any more", 0, at(0, kept), "0, asked 3"},
		{"the same again", 0, at(0, kept), "0, asked 3"},
		{"a record that is not kept", 0, at(0, nil), "0, asked 4"},
		{"one that was kept before the index was there", 0, at(0, new(keptRecord)), "0, asked 5"},
	} {
		if diff := cmp.Diff([]string{c.want}, p.places(c.v, c.results)); diff != "" {
			t.Errorf("%s: mismatch (-want +got):\n%s", c.what, diff)
		}
	}
}
