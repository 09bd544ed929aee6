package kvtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

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

var walkingCases = []Case{
	{"walk/order", "Walk names each item whose key begins so once, in the order of their bytes", walking, func(f *fixture) {
		f.fill("a:", 2500)
		f.ok(kv.OpSet("a", nil), kv.OpSet("ab:1", nil), kv.OpSet("b:a:1", nil), kv.OpDelete("a:7"))
		if diff := cmp.Diff(f.keys("a:"), f.walk("a:", "")); diff != "" {
			f.Errorf("the keys that begin with a: (-want +got)\n%s", diff)
		}
	}},
	{"walk/after", "Walk goes on behind a key, also one that is gone or begins otherwise", walking, func(f *fixture) {
		f.fill("a:", 1200)
		f.ok(kv.OpDelete("a:500"), kv.OpSet("b:1", nil))
		all := f.keys("a:")
		for _, after := range []string{"a", "a:", "a:1", "a:500", "a:5000", "a:999", "b:1", "A", "~"} {
			want := slices.DeleteFunc(slices.Clone(all), func(key string) bool { return key <= after })
			if diff := cmp.Diff(want, f.walk("a:", after), cmpopts.EquateEmpty()); diff != "" {
				f.Errorf("the keys that begin with a: and come after %s (-want +got)\n%s", after, diff)
			}
		}
	}},
	{"walk/writes", "Walk misses no item that stays, while others come, change and go", walking, func(f *fixture) {
		f.fill("a:", 2500)
		stays := slices.DeleteFunc(f.keys("a:"), func(key string) bool { return strings.HasSuffix(key, "3") })
		var got []string
		err := kv.PowersOf(f.store).Walk(f.ctx, "a:", "", func(keys []string) error {
			for _, key := range keys {
				if got = append(got, key); len(got)%100 == 0 {
					f.ok(kv.OpSet(fmt.Sprint("a:new", len(got)), nil), kv.OpSet(key, []byte("w")), kv.OpSet("a:11", []byte("w")), kv.OpSet("a:998", []byte("w")))
					_ = f.store.Do(f.ctx, []kv.Op{kv.OpDelete(fmt.Sprintf("a:%d3", len(got)/100)), kv.OpDelete(fmt.Sprint("a:new", len(got)-100))})
				}
			}
			return nil
		})
		if err != nil || !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
			f.Errorf("Walk: %v, or its %d keys are not in order", err, len(got))
		}
		for _, key := range stays {
			if _, ok := slices.BinarySearch(got, key); !ok {
				f.Errorf("Walk has missed %s", key)
			}
		}
	}},
	{"walk/stop", "an error of the function ends Walk, which returns it as it is", walking, func(f *fixture) {
		f.ok(kv.OpSet("k", nil))
		stop := errors.New("stop")
		if err := kv.PowersOf(f.store).Walk(f.ctx, "k", "", func([]string) error { return stop }); err != stop {
			f.Errorf("Walk returned %v, want the function's error", err)
		}
	}},
	{"walk/canceled", "Walk is ErrUnavailable if the context has ended", walking, func(f *fixture) {
		f.ok(kv.OpSet("k", nil))
		err := kv.PowersOf(f.store).Walk(f.canceled(), "k", "", func([]string) error { return nil })
		if !errors.Is(err, kv.ErrUnavailable) {
			f.Errorf("Walk under a context that has ended returned %v, want ErrUnavailable", err)
		}
	}},
}

func (f *fixture) fill(begin string, n int) {
	f.Helper()
	var ops []kv.Op
	for i := range n {
		if ops = append(ops, kv.OpSet(fmt.Sprint(begin, i), []byte("v"))); len(ops) == 500 || i == n-1 {
			f.do(ops...)
			ops = nil
		}
	}
}

func (f *fixture) walk(begin, after string) (all []string) {
	f.Helper()
	err := kv.PowersOf(f.store).Walk(f.ctx, begin, after, func(keys []string) error {
		all = append(all, keys...)
		return nil
	})
	if err != nil {
		f.Fatal(err)
	}
	return all
}

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
