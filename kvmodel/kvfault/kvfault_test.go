package kvfault_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvfault"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

var ctx = context.Background()

func appends(s kv.Store) (ops []kv.Op, first, second error) {
	for c := 'a'; c <= 'f'; c++ {
		ops = append(ops, kv.OpAppend("k", []byte(string(c))))
	}
	return ops, s.Do(ctx, ops[:3]), s.Do(ctx, ops[3:])
}

func TestFaulty_TheNthOpAndNoOther(t *testing.T) {
	for _, c := range []struct {
		fault kvfault.Fault
		err   error
		done  bool
	}{
		{kvfault.Unsent, kv.ErrUnavailable, false},
		{kvfault.Lost, kv.ErrUnclear, false},
		{kvfault.Mute, kv.ErrUnclear, true},
		{kvfault.Late, kv.ErrUnclear, true},
		{kvfault.Full, kv.ErrUnavailable, false},
		{kvfault.None, nil, true},
	} {
		for n := 1; n <= 6; n++ {
			mem := memkv.New(memkv.Options{})
			_, _ = kv.One(ctx, mem, kv.OpSet("k", nil))
			ops, first, second := appends(kvfault.Faulty(mem, n, c.fault))
			faultless := 0
			for i, op := range ops {
				switch {
				case i == n-1 && !errors.Is(op.Result.Err, c.err):
					t.Errorf("fault %d on op %d: it ended in %v, want %v", c.fault, n, op.Result.Err, c.err)
				case i != n-1 && op.Result.Err != nil:
					t.Errorf("fault %d on op %d: op %d ended in %v", c.fault, n, i+1, op.Result.Err)
				case i != n-1:
					faultless++
				}
			}
			if failed := map[bool]error{true: first, false: second}[n <= 3]; !errors.Is(failed, c.err) {
				t.Errorf("fault %d on op %d: Do returned %v, want %v", c.fault, n, failed, c.err)
			}
			r, _ := kv.One(ctx, mem, kv.OpGet("k"))
			if want := map[bool]int{true: 6, false: 5}[c.done]; len(r.Value) != want || faultless != 5 {
				t.Errorf("fault %d on op %d: the value is %q and %d others were fine", c.fault, n, r.Value, faultless)
			}
		}
	}
}

func TestFaulty_AGetIsNeverUnclear(t *testing.T) {
	for _, fault := range []kvfault.Fault{kvfault.Unsent, kvfault.Lost, kvfault.Mute} {
		_, err := kv.One(ctx, kvfault.Faulty(memkv.New(memkv.Options{}), 1, fault), kv.OpGet("k"))
		if !errors.Is(err, kv.ErrUnavailable) || errors.Is(err, kv.ErrUnclear) {
			t.Errorf("fault %d: %v, want ErrUnavailable", fault, err)
		}
	}
}

func TestFaulty_CountsOnlyWhatIsSent(t *testing.T) {
	s := kvfault.Faulty(memkv.New(memkv.Options{}), 2, kvfault.Unsent)
	ops := []kv.Op{kv.OpGet("bad key"), kv.OpSet("a", nil), kv.OpGet(""), kv.OpSet("b", nil), kv.OpSet("c", nil)}
	_ = s.Do(ctx, ops)
	var got []string
	for i := range ops {
		got = append(got, fmt.Sprint(errors.Is(ops[i].Result.Err, kv.ErrBadKey), errors.Is(ops[i].Result.Err, kv.ErrUnavailable)))
	}
	want := []string{"true false", "false false", "true false", "false true", "false false"}
	proof.NoDiff(t, cmp.Diff(want, got), "bad key and unavailable")
}

// commits reports ops on the key "record".
func commits(op kv.Op) bool { return op.Key == "record" }

func ExampleKilled() {
	store := memkv.New(memkv.Options{})
	process := kvfault.Killed(store, commits)
	fmt.Println(process.Do(ctx, []kv.Op{kv.OpSet("entry", nil), kv.OpSet("record", nil)}) != nil)
	_, entry := kv.One(ctx, store, kv.OpGet("entry"))
	_, record := kv.One(ctx, store, kv.OpGet("record"))
	fmt.Println(entry, errors.Is(record, kv.ErrNotFound))
	// Output:
	// true
	// <nil> true
}

func ExampleSingleKeys() {
	store := memkv.New(memkv.Options{})
	fmt.Println(kv.PowersOf(store).Atomic != nil, kv.PowersOf(kvfault.SingleKeys(store)).Atomic != nil)
	// Output: true false
}

func TestKilled_DoesNothingAfterTheOpAndUndoesItsTransaction(t *testing.T) {
	ops := []kv.Op{kv.OpSet("before", nil), kv.OpSet("record", nil), kv.OpSet("behind", nil)}
	for what, test := range map[string]struct {
		store kv.Store
		want  string
		do    func(s kv.Store) error
	}{
		"ordered":   {memkv.New(memkv.Options{}), "before", func(s kv.Store) error { return s.Do(ctx, ops) }},
		"unordered": {kvfault.SingleKeys(memkv.New(memkv.Options{})), "before behind", func(s kv.Store) error { return s.Do(ctx, ops) }},
		"transaction": {memkv.New(memkv.Options{}), "", func(s kv.Store) error {
			return kv.PowersOf(s).Atomic(ctx, func(s kv.Store) error { return s.Do(ctx, ops) })
		}},
	} {
		process := kvfault.Killed(test.store, commits)
		proof.Is(t, test.do(process), kv.ErrUnavailable)
		if _, err := kv.One(ctx, process, kv.OpSet("later", nil)); !errors.Is(err, kv.ErrUnavailable) {
			t.Errorf("%s, later: want no answer, got %v", what, err)
		}
		var there []string
		for _, key := range []string{"before", "record", "behind", "later"} {
			if _, err := kv.One(ctx, test.store, kv.OpGet(key)); err == nil {
				there = append(there, key)
			}
		}
		proof.Equal(t, strings.Join(there, " "), test.want, "%s", what)
	}
}
