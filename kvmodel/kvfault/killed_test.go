package kvfault_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvfault"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

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
		if err := test.do(process); !errors.Is(err, kv.ErrUnavailable) {
			t.Errorf("%s: want the process killed, got %v", what, err)
		}
		if _, err := kv.One(ctx, process, kv.OpSet("later", nil)); !errors.Is(err, kv.ErrUnavailable) {
			t.Errorf("%s, later: want no answer, got %v", what, err)
		}
		var there []string
		for _, key := range []string{"before", "record", "behind", "later"} {
			if _, err := kv.One(ctx, test.store, kv.OpGet(key)); err == nil {
				there = append(there, key)
			}
		}
		if got := strings.Join(there, " "); got != test.want {
			t.Errorf("%s: want %q in the store, got %q", what, test.want, got)
		}
	}
}
