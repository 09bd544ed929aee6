package memcachekv

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEncode_GuardsWhatMemcachedWouldCountButIsNoNumber(t *testing.T) {
	for value, want := range map[string]string{
		"":                     "v",
		"0":                    "0",
		"42":                   "42",
		"007":                  "007",
		"4611686018427387904":  "4611686018427387904",
		"4611686018427387905":  "v4611686018427387905",
		"18446744073709551615": "v18446744073709551615",
		"9 ":                   "v9 ",
		"9\x00":                "v9\x00",
		"9\n8":                 "v9\n8",
		" 9":                   "v 9",
		"+5":                   "v+5",
		"-0":                   "v-0",
		"+":                    "v+",
		"\t":                   "v\t",
		"+id@1":                "+id@1",
		"2026-04":              "2026-04",
		"v9":                   "v9",
		"page":                 "page",
	} {
		stored, flags := encode([]byte(value))
		if string(stored) != want {
			t.Errorf("%q is stored as %q, want %q", value, stored, want)
		}
		if got := string(decode(stored, flags)); got != value {
			t.Errorf("%q comes back as %q", value, got)
		}
	}
}

func TestDecode_DropsThePaddingOfANumberOnly(t *testing.T) {
	for stored, want := range map[string]string{
		"9 ":     "9",
		"0     ": "0",
		"9 0":    "90",
		"9  id":  "9id",
		"a 9 ":   "a 9 ",
		" ":      " ",
		"9\t":    "9\t",
	} {
		if got := string(decode([]byte(stored), 0)); got != want {
			t.Errorf("%q is read as %q, want %q", stored, got, want)
		}
	}
}

func TestExpiry_IsNeverEarlyAndAtMostTwoSecondsLate(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	const day = 24 * time.Hour
	for ttl, want := range map[time.Duration]int32{
		0:                             0,
		1:                             2,
		time.Second:                   2,
		1500 * time.Millisecond:       3,
		30*day - time.Second:          30 * 86_400,
		30*day - time.Second + 1:      1_800_000_000 + 30*86_400 + 1,
		31 * day:                      1_800_000_000 + 31*86_400 + 1,
		347_483_646 * time.Second:     1<<31 - 1,
		347_483_646*time.Second + 1:   0,
		347_483_647*time.Second + day: 0,
	} {
		if got := expiry(ttl, now); got != want {
			t.Errorf("expiry of %v is %d, want %d", ttl, got, want)
		}
	}
}

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
