package memcachekv

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

func adds(name string, n int) (ops []kv.Op) {
	for i := range n {
		ops = append(ops, kv.OpAdd(fmt.Sprint(name, i), []byte("v")))
	}
	return ops
}

func TestBatch_AServerReadsItsWritesAndGetsAtOnce(t *testing.T) {
	f, s := inUse(t, Options{})
	before := f.Reads.Load()
	ops := append(adds("a", 10), kv.OpGet("k"), kv.OpDelete("a0"), kv.OpGet("absent"), kv.OpAppend("k", []byte("+")))
	must(t, s.Do(t.Context(), ops))
	if reads := f.Reads.Load() - before; reads > 2 {
		t.Errorf("the server has read %d times for one trip", reads)
	}
	if peak := f.Peak.Load(); peak != 1 {
		t.Errorf("%d connections, want one", peak)
	}
	if got := string(one(t, t.Context(), s, kv.OpGet("k")).Value); got != "v+" {
		t.Errorf("the value is %q, want v+", got)
	}
	one(t, t.Context(), s, kv.OpGet("a0"), kv.ErrNotFound)
}

func TestBatch_WhereTheConnectionEndsHalfway_OnlyWhatHasNoAnswerIsUnclear(t *testing.T) {
	f, s := inUse(t, Options{})
	f.Left.Store(4)
	ops := append(adds("a", 6), kv.OpGet("k"))
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
			ops := append(adds("a", 2), kv.OpGet("k"))
			s.Do(t.Context(), ops)
			for i, want := range []error{first, kv.ErrUnclear, kv.ErrUnavailable} {
				if err := ops[i].Result.Err; !errors.Is(err, want) || want == kv.ErrUnavailable && errors.Is(err, kv.ErrUnclear) {
					t.Errorf("%v %s ended in %v, want %v", ops[i].Kind, ops[i].Key, err, want)
				}
			}
			for range 3 {
				if got := string(one(t, t.Context(), s, kv.OpGet("k")).Value); got != "v" {
					t.Errorf("the value is %q afterwards, want v", got)
				}
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
			if got := string(one(t, t.Context(), s, kv.OpGet("k")).Value); got != "v" {
				t.Errorf("the value is %q afterwards, want v", got)
			}
		})
	}
}

func TestBatch_ToASilentServer_EndsWithTheContext(t *testing.T) {
	for end, begin := range ending(t, 200*time.Millisecond) {
		f, s := inUse(t, Options{Timeout: time.Minute})
		f.Mute.Store(true)
		ops := append(adds("a", 600), kv.OpGet("k"))
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
			if err := ops[i].Result.Err; !errors.Is(err, want) {
				t.Errorf("op %d, %v %s, ended in %v, want %v", i, ops[i].Kind, ops[i].Key, err, want)
			}
		}
		if got := string(ops[7].Result.Value); got != "old" {
			t.Errorf("the value is %.20q, want old", got)
		}
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
		if err := ops[i].Result.Err; !errors.Is(err, want) {
			t.Errorf("op %d ended in %v, want %v", i, err, want)
		}
	}
	for _, key := range []string{"k", "l"} {
		if got := string(one(t, ctx, s, kv.OpGet(key)).Value); got != largest {
			t.Errorf("%s is %s, want %s", key, got, largest)
		}
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
		if len(r.Value) != 2000+i {
			t.Errorf("%s has %d bytes, want %d", keys[i], len(r.Value), 2000+i)
		}
	}
}
