package memcachekv_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memcachekv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// answers are the sentinels that are compared; the text around them differs.
var answers = []error{
	kv.ErrNotFound, kv.ErrExists, kv.ErrConflict, kv.ErrNotStored, kv.ErrNotNumber,
	kv.ErrUnavailable, kv.ErrUnclear, kv.ErrLost, kv.ErrBadOp,
}

func TestMemcached_RandomOperations_AnswerAsInMemory(t *testing.T) {
	bothWays(t, func(t *testing.T, opts memcachekv.Options) {
		servers := []string{memcached(t).Addr, memcached(t).Addr}
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 0))
		pick := func(texts ...string) string { return texts[random.IntN(len(texts))] }
		stores := [2]kv.Store{memkv.New(memkv.Options{}), open(t, opts, servers...)}
		versions := [2]map[string]kv.Version{{}, {}}
		for i := range 20_000 {
			op := kv.Op{Kind: kv.Kind(1 + random.IntN(int(kv.Increment))), Key: pick("a", "b", "c", "d")}
			switch op.Kind {
			case kv.Set, kv.Add, kv.CompareAndSwap:
				op.Value = []byte(pick("", "0", "9", "10", "0100", "9 ", " 9", "+5", "abc", "\x00\r\n", "4611686018427387905"))
			case kv.Append:
				// The package comment says what may be appended to a number.
				op.Value = []byte(pick("", " ", " 5"))
				if op.Key > "b" {
					op.Value = []byte(pick("", " ", "0", "x", "\r\n", "\x00", "+1"))
				}
			case kv.Increment:
				op.Key = pick("a", "b")
				op.Delta = random.Int64N(200) - 100
			}
			var got [2]kv.Result
			for s := range stores {
				op.Version = 0
				if op.Kind == kv.CompareAndSwap || op.Kind == kv.CompareAndDelete {
					op.Version = versions[s][op.Key]
				}
				got[s], _ = kv.One(t.Context(), stores[s], op)
				if op.Kind == kv.Get && got[s].Err == nil {
					versions[s][op.Key] = got[s].Version
				}
			}
			if string(got[0].Value) != string(got[1].Value) || got[0].Number != got[1].Number || !alike(got[0].Err, got[1].Err) {
				t.Fatalf("operation %d, %v %q value %q delta %d:\nin memory %q, %d, %v\nmemcached %q, %d, %v", i, op.Kind, op.Key,
					op.Value, op.Delta, got[0].Value, got[0].Number, got[0].Err, got[1].Value, got[1].Number, got[1].Err)
			}
		}
	})
}

// alike reports whether two errors are the same answer.
func alike(a, b error) bool {
	if a == nil || b == nil {
		return a == b
	}
	for _, answer := range answers {
		if errors.Is(a, answer) != errors.Is(b, answer) {
			return false
		}
	}
	return true
}
