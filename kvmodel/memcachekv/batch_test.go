package memcachekv

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func adds(name string, n, size int) (ops []kv.Op) {
	for i := range n {
		ops = append(ops, kv.OpAdd(fmt.Sprint(name, i), make([]byte, size)))
	}
	return ops
}

func TestBatch_AServerReadsItsWritesAndGetsAtOnce(t *testing.T) {
	f, s := inUse(t, Options{})
	before := f.Reads.Load()
	ops := append(adds("a", 10, 1), kv.OpGet("k"), kv.OpDelete("a0"), kv.OpGet("absent"), kv.OpAppend("k", []byte("+")))
	must(t, s.Do(t.Context(), ops))
	if reads := f.Reads.Load() - before; reads > 2 {
		t.Errorf("the server has read %d times for one trip", reads)
	}
	proof.Equal(t, f.Peak.Load(), 1, "connections")
	proof.Equal(t, string(one(t, t.Context(), s, kv.OpGet("k")).Value), "v+", "the value")
	one(t, t.Context(), s, kv.OpGet("a0"), kv.ErrNotFound)
}

func TestBatch_WhereTheConnectionEndsHalfway_OnlyWhatHasNoAnswerIsUnclear(t *testing.T) {
	f, s := inUse(t, Options{})
	f.Left.Store(4)
	ops := append(adds("a", 6, 1), kv.OpGet("k"))
	s.Do(t.Context(), ops)
	for i, op := range ops[:6] {
		if err := op.Result.Err; i < 3 && err != nil || i >= 3 && !errors.Is(err, kv.ErrUnclear) {
			t.Errorf("add %d ended in %v", i, err)
		}
	}
	if r := ops[6].Result; r.Err != nil || string(r.Value) != "v" {
		t.Errorf("the get ended in %q, %v", r.Value, r.Err)
	}
}

func TestBatch_AnAnswerThatDoesNotFit_EndsTheConnection(t *testing.T) {
	for says, first := range map[string]error{
		"HD":                          kv.ErrUnclear,
		"ERROR":                       kv.ErrUnclear,
		"CLIENT_ERROR bad data chunk": kv.ErrUnavailable, // The value may be taken for commands.
		"END":                         kv.ErrUnclear,
	} {
		t.Run(says, func(t *testing.T) {
			f, s := inUse(t, Options{})
			f.Says.Store(says)
			ops := append(adds("a", 2, 1), kv.OpGet("k"))
			s.Do(t.Context(), ops)
			for i, want := range []error{first, kv.ErrUnclear, kv.ErrUnavailable} {
				if err := ops[i].Result.Err; !errors.Is(err, want) || want == kv.ErrUnavailable && errors.Is(err, kv.ErrUnclear) {
					t.Errorf("%v %s ended in %v, want %v", ops[i].Kind, ops[i].Key, err, want)
				}
			}
			for range 3 {
				proof.Equal(t, string(one(t, t.Context(), s, kv.OpGet("k")).Value), "v", "the value")
			}
		})
	}
}

func TestBatch_AnItemNobodyHasAskedFor_MakesAllGetsUnavailable(t *testing.T) {
	for _, says := range []string{
		"VALUE other 0 1 1\r\nv\r\nEND", "VALUE k 0 x 1\r\nv\r\nEND", "VALUE k 0 2147483648 1", "SERVER_ERROR out of memory",
	} {
		t.Run(says, func(t *testing.T) {
			f, s := inUse(t, Options{})
			f.Says.Store(says)
			results, err := kv.GetAll(t.Context(), s, "absent", "k")
			if !errors.Is(err, kv.ErrUnavailable) || !strings.Contains(err.Error(), "does not match the request") {
				t.Errorf("the gets ended in %v", err)
			}
			for _, r := range results {
				if !errors.Is(r.Err, kv.ErrUnavailable) {
					t.Errorf("a get ended in %q, %v", r.Value, r.Err)
				}
			}
			proof.Equal(t, string(one(t, t.Context(), s, kv.OpGet("k")).Value), "v", "the value")
		})
	}
}

func TestBatch_ToASilentServer_EndsWithTheContext(t *testing.T) {
	for end, begin := range ending(t, 200*time.Millisecond) {
		f, s := inUse(t, Options{Timeout: time.Minute})
		f.Mute.Store(true)
		ops := append(adds("a", 600, 1), kv.OpGet("k"))
		ctx := begin()
		within(t, 30*time.Second, func() { s.Do(ctx, ops) })
		for i, op := range ops {
			// The writes after the first 500 were not sent.
			want := kv.ErrUnclear
			if i >= 500 {
				want = kv.ErrUnavailable
			}
			if err := op.Result.Err; !errors.Is(err, want) || !errors.Is(err, end) {
				t.Fatalf("op %d ended in %v, want %v and %v", i, err, want, end)
			}
		}
	}
}

func TestBatch_AWriteThatIsRefused_LeavesTheOthers(t *testing.T) {
	bothWays(t, func(t *testing.T, opts Options) {
		s := open(t, opts, memcached(t, "-I", "512k").Addr)
		ctx := t.Context()
		one(t, ctx, s, kv.OpSet("k", []byte("old")))
		version := one(t, ctx, s, kv.OpGet("k")).Version
		large := make([]byte, 600_000)
		copy(large[1000:], "\r\ndelete k\r\n")
		one(t, ctx, s, kv.OpSet("k", large), kv.ErrTooLarge)
		one(t, ctx, s, kv.OpAppend("k", large), kv.ErrNotStored)
		ops := []kv.Op{
			kv.OpAdd("a", []byte("1")), kv.OpAdd("large", large), kv.OpSet("k", large), kv.OpSwap("k", version, large),
			kv.OpAppend("k", large), kv.OpIncrement("k", 1), kv.OpAdd("b", []byte("2")), kv.OpGet("k"),
		}
		s.Do(ctx, ops)
		for i, want := range []error{nil, kv.ErrTooLarge, kv.ErrTooLarge, kv.ErrTooLarge, kv.ErrNotStored, kv.ErrNotNumber, nil, nil} {
			proof.Is(t, ops[i].Result.Err, want)
		}
		proof.Equal(t, string(ops[7].Result.Value), "old", "the value")
	})
}

func TestBatch_IncrementsPastTheLargestNumber_AreTakenBack(t *testing.T) {
	s := open(t, Options{}, memcached(t).Addr)
	ctx := t.Context()
	largest := strconv.Itoa(kv.MaxNumber)
	one(t, ctx, s, kv.OpSet("k", []byte(largest)))
	one(t, ctx, s, kv.OpSet("l", []byte(largest)))
	ops := []kv.Op{kv.OpIncrement("k", 1), kv.OpIncrement("l", kv.MaxNumber), kv.OpAdd("m", nil)}
	must(t, s.Do(ctx, ops))
	for i, want := range []error{kv.ErrNotNumber, kv.ErrNotNumber, nil} {
		proof.Is(t, ops[i].Result.Err, want)
	}
	for _, key := range []string{"k", "l"} {
		proof.Equal(t, string(one(t, ctx, s, kv.OpGet(key)).Value), largest, "%s", key)
	}
}

func TestBatch_LargerThanAnyBuffer_IsCarriedOut(t *testing.T) {
	s := open(t, Options{}, memcached(t, "-m", "256").Addr)
	ctx := t.Context()
	var ops []kv.Op
	for i := range 3000 {
		ops = append(ops, kv.OpSet(fmt.Sprint("k", i), make([]byte, 2000+i)))
	}
	for range 2 { // The keys are absent at first, and then present.
		for i := range 20 {
			ops = append(ops, kv.OpSet(fmt.Sprint("l", i), make([]byte, kv.MaxValue)), kv.OpGet(fmt.Sprint("l", i)))
		}
		must(t, s.Do(ctx, ops))
		for i := range ops {
			if err := ops[i].Result.Err; err != nil && !errors.Is(err, kv.ErrNotFound) {
				t.Errorf("%v %s ended in %v", ops[i].Kind, ops[i].Key, err)
			}
		}
	}
	keys := make([]string, 3000)
	for i := range keys {
		keys[i] = fmt.Sprint("k", i)
	}
	results, err := kv.GetAll(ctx, s, keys...)
	must(t, err)
	for i, r := range results {
		proof.Equal(t, len(r.Value), 2000+i, "%s", keys[i])
	}
}

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
		proof.Equal(t, string(decode([]byte(stored), 0)), want, "%q is read", stored)
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
		proof.Equal(t, expiry(ttl, now), want, "expiry of %v", ttl)
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
		proof.Equal(t, after[i], "d:1", "key %d of %s", i, before[i])
	}
	if moved < keys*23/100 || moved > keys*27/100 {
		t.Errorf("%d of %d keys moved, want about a quarter", moved, keys)
	}
}

func TestPick_ServersInAnyOrder_PlaceAlike(t *testing.T) {
	proof.NoDiff(t, cmp.Diff(place("a:1", "b:1", "c:1"), place("c:1", "a:1", "b:1")), "placement")
}

// The counts stand for the whole placement: a version of this package must find
// the data where another version put it.
func TestPick_PlacesKeysWhereItAlwaysHas(t *testing.T) {
	want := map[string]int{"10.0.0.1:11211": 3340, "10.0.0.2:11211": 3317, "cache:11211": 3343}
	got := map[string]int{}
	for _, addr := range place("10.0.0.1:11211", "10.0.0.2:11211", "cache:11211") {
		got[addr]++
	}
	proof.NoDiff(t, cmp.Diff(want, got), "keys per server")
}
