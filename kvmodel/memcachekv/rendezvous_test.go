package memcachekv

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const keys = 10_000

// place returns the address of the server for each key.
func place(addrs ...string) []string {
	var servers []*server
	for _, addr := range addrs {
		servers = append(servers, newServer(addr, Options{}))
	}
	at := make([]string, keys)
	for i := range at {
		at[i] = pick(servers, "page:"+strconv.Itoa(i)).addr
	}
	return at
}

func TestPick_AFourthServer_TakesItsShareAndMovesNothingElse(t *testing.T) {
	before := place("a:1", "b:1", "c:1")
	after := place("a:1", "b:1", "c:1", "d:1")
	moved := 0
	for i := range before {
		if before[i] == after[i] {
			continue
		}
		moved++
		if after[i] != "d:1" {
			t.Errorf("key %d moved from %s to %s, neither of which is new", i, before[i], after[i])
		}
	}
	if moved < keys*23/100 || moved > keys*27/100 {
		t.Errorf("%d of %d keys moved, want about a quarter", moved, keys)
	}
}

func TestPick_ServersInAnyOrder_PlaceAlike(t *testing.T) {
	if diff := cmp.Diff(place("a:1", "b:1", "c:1"), place("c:1", "a:1", "b:1")); diff != "" {
		t.Errorf("placement mismatch (-want +got):\n%s", diff)
	}
}

// The counts stand for the whole placement: a version of this package must find
// the data where another version put it.
func TestPick_PlacesKeysWhereItAlwaysHas(t *testing.T) {
	want := map[string]int{"10.0.0.1:11211": 3340, "10.0.0.2:11211": 3317, "cache:11211": 3343}
	got := map[string]int{}
	for _, addr := range place("10.0.0.1:11211", "10.0.0.2:11211", "cache:11211") {
		got[addr]++
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys per server mismatch (-want +got):\n%s", diff)
	}
}
