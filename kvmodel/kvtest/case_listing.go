package kvtest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

var listingCases = []Case{
	{"keys/begin", "Keys names every item whose key begins so, and none that does not", listing, func(f *fixture) {
		want := []string{"a:*"}
		f.ok(kv.OpSet("a:*", nil))
		for i := range 1500 {
			want = append(want, fmt.Sprintf("a:%d%%20#x", i))
		}
		for some := range slices.Chunk(want, 500) {
			var ops []kv.Op
			for _, key := range some {
				ops = append(ops, kv.OpSet(key, []byte("v")))
			}
			f.do(ops...)
		}
		f.ok(kv.OpSet("a", nil), kv.OpSet("ab:1", nil), kv.OpSet("b:a:1", nil), kv.OpSet("A:1", nil))
		slices.Sort(want)
		if diff := cmp.Diff(want, f.keys("a:")); diff != "" {
			f.Errorf("the keys that begin with a: (-want +got)\n%s", diff)
		}
		if diff := cmp.Diff([]string{"a:*"}, f.keys("a:*")); diff != "" {
			f.Errorf("the keys that begin with a:* (-want +got)\n%s", diff)
		}
	}},
	{"keys/gone", "Keys does not name an item that was deleted", listing, func(f *fixture) {
		f.ok(kv.OpSet("k", nil), kv.OpDelete("k"))
		if got := f.keys("k"); got != nil {
			f.Errorf("keys: %q, want none", got)
		}
	}},
	{"keys/stop", "an error of the function ends Keys, which returns it as it is", listing, func(f *fixture) {
		f.ok(kv.OpSet("k", nil))
		stop := errors.New("stop")
		if err := kv.PowersOf(f.store).Keys(f.ctx, "k", func([]string) error { return stop }); err != stop {
			f.Errorf("Keys returned %v, want the function's error", err)
		}
	}},
	{"keys/canceled", "Keys is ErrUnavailable if the context has ended", listing, func(f *fixture) {
		f.ok(kv.OpSet("k", nil))
		err := kv.PowersOf(f.store).Keys(f.canceled(), "k", func([]string) error { return nil })
		if !errors.Is(err, kv.ErrUnavailable) {
			f.Errorf("Keys under a context that has ended returned %v, want ErrUnavailable", err)
		}
	}},
}

// keys returns the keys of the store that begin with begin, each once.
func (f *fixture) keys(begin string) (all []string) {
	f.Helper()
	err := kv.PowersOf(f.store).Keys(f.ctx, begin, func(keys []string) error {
		all = append(all, keys...)
		return nil
	})
	if err != nil {
		f.Fatal(err)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
