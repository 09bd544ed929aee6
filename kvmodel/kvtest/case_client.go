package kvtest

import (
	"errors"
	"fmt"

	"github.com/ringtree/ringtree/internal/optest"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

var closeCases = []Case{
	{"close/twice", "a second Close does nothing and returns nil", 0, func(f *fixture) {
		for range 3 {
			f.close(f.store)
		}
	}},
	{"close/ops-later", "after Close ops of every kind are ErrUnavailable, and so is the error of Do", 0, func(f *fixture) {
		v := f.put("k", "7")
		f.close(f.store)
		ops := everyKind(v)
		if err := f.try(f.ctx, f.store, ops); !errors.Is(err, kv.ErrUnavailable) {
			f.Errorf("Do after Close returned %v, want ErrUnavailable", err)
		}
		for _, op := range ops {
			f.ended(op, kv.ErrUnavailable)
		}
	}},
	{"close/atomic-later", "after Close Atomic is ErrUnavailable and does not run its function", atomically, func(f *fixture) {
		powers := kv.PowersOf(f.store)
		f.close(f.store)
		err := powers.Atomic(f.ctx, func(kv.Store) error {
			f.Errorf("the function ran")
			return nil
		})
		if !errors.Is(err, kv.ErrUnavailable) {
			f.Errorf("Atomic after Close returned %v, want ErrUnavailable", err)
		}
	}},
	{"close/under-way", "a Close among ops that are under way leaves each of them answered, ErrUnavailable or ErrUnclear", 0, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("0")))
		f.together(8, 1, func(i, _ int) error {
			if i == 0 {
				return f.store.Close()
			}
			for {
				r, err := f.one(f.store, kv.OpIncrement("k", 1))
				switch {
				case err == nil && r.Number > 0:
				case errors.Is(err, kv.ErrUnavailable):
					return nil
				case !errors.Is(err, kv.ErrUnclear):
					return fmt.Errorf("the increment ended in %w, number %d", err, r.Number)
				}
			}
		})
	}},
}

var clientCases = []Case{
	{"clients/see-each-other", "what one client has written another one reads, at once", shared, func(f *fixture) {
		other := f.open()
		for i := range 20 {
			want := fmt.Sprint(i)
			f.ok(kv.OpSet("k", []byte(want)))
			r, err := f.one(other, kv.OpGet("k"))
			if err != nil || string(r.Value) != want {
				f.Fatalf("the other client reads %s, want %q", optest.ShowItem(r), want)
			}
		}
	}},
	{"clients/add", "an Add finds what another client has added", shared, func(f *fixture) {
		f.ok(kv.OpAdd("k", []byte("v")))
		if err := f.each(f.open(), kv.OpAdd("k", nil)); !optest.EndsIn(err, kv.ErrExists) {
			f.Errorf("the other client's add ended in %v, want ErrExists", err)
		}
	}},
	{"clients/stale", "a change by one client makes the version stale that another one read", shared, func(f *fixture) {
		stale := f.put("k", "1")
		if err := f.each(f.open(), kv.OpSet("k", []byte("1"))); err != nil {
			f.Fatal(err)
		}
		f.refused(kv.OpSwap("k", stale, nil), kv.ErrConflict)
		f.refused(kv.OpDrop("k", stale), kv.ErrConflict)
	}},
	{"clients/version-handed-over", "a version that one client read is good for a compare by another", shared, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("1")))
		if err := f.each(f.open(), kv.OpSwap("k", f.version("k"), []byte("2"))); err != nil {
			f.Fatal(err)
		}
		f.holds("k", "2")
	}},
	{"clients/close-one", "closing one client leaves the other one working", shared, func(f *fixture) {
		other := f.open()
		f.ok(kv.OpSet("k", []byte("v")))
		f.close(other)
		f.holds("k", "v")
		f.ok(kv.OpSet("k", []byte("w")))
	}},
	{"clients/apart", "stores of different names share nothing", shared, func(f *fixture) {
		other := f.maker.Open(f.TB, newName())
		defer other.Close()
		f.ok(kv.OpSet("k", []byte("v")))
		if err := f.each(other, kv.OpGet("k")); !optest.EndsIn(err, kv.ErrNotFound) {
			f.Errorf("another store's get ended in %v, want ErrNotFound", err)
		}
	}},

	{"kept/values", "values of every size and kind are there after the store was closed and opened again", kept, func(f *fixture) {
		values := map[string]string{"empty": "", "bytes": "\x00\xff\r\n", "large": string(big(kv.MaxValue)), "number": "42"}
		for key, value := range values {
			f.ok(kv.OpSet(key, []byte(value)))
		}
		f.reopen()
		for key, value := range values {
			f.holds(key, value)
		}
	}},
	{"kept/every-write", "what any kind of op has changed stays changed after the store was opened again", kept, func(f *fixture) {
		for _, key := range []string{"swap", "delete", "drop", "append", "incr"} {
			f.ok(kv.OpSet(key, []byte("10")))
		}
		f.do(kv.OpAdd("add", []byte("a")), kv.OpSwap("swap", f.version("swap"), []byte("s")), kv.OpDelete("delete"),
			kv.OpDrop("drop", f.version("drop")), kv.OpAppend("append", []byte("+")), kv.OpIncrement("incr", -1))
		f.reopen()
		for key, want := range map[string]string{"add": "a", "swap": "s", "append": "10+", "incr": "9"} {
			f.holds(key, want)
		}
		f.absent("delete")
		f.absent("drop")
	}},
	{"kept/version", "a version is as good after the store was opened again as before", kept, func(f *fixture) {
		f.ok(kv.OpSet("same", []byte("1")), kv.OpSet("changed", []byte("1")))
		same, changed := f.version("same"), f.version("changed")
		f.ok(kv.OpSet("changed", []byte("1")))
		f.reopen()
		f.refused(kv.OpSwap("changed", changed, nil), kv.ErrConflict)
		f.ok(kv.OpSwap("same", same, []byte("2")))
	}},
	{"kept/no-version-again", "an item deleted before and added after the store was opened again has a version it never had", kept, func(f *fixture) {
		stale := make(map[kv.Version]bool)
		for range 10 {
			f.ok(kv.OpSet("k", []byte("v")))
			stale[f.version("k")] = true
		}
		f.ok(kv.OpDelete("k"))
		f.reopen()
		for range 10 {
			f.ok(kv.OpSet("k", []byte("v")))
			if v := f.version("k"); stale[v] {
				f.Fatalf("version %d came again", v)
			}
		}
	}},
}
