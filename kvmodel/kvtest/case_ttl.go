package kvtest

import (
	"time"

	"github.com/ringtree/ringtree/internal/optest"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

var ttlCases = []Case{
	expires("ttl/set", "an item Set with a TTL is there until it has passed, and gone two seconds later", shortly,
		kv.OpSet("k", []byte("v")).For(shortly)),
	expires("ttl/add", "an item added with a TTL is there until it has passed, and gone two seconds later", shortly,
		kv.OpAdd("k", []byte("v")).For(shortly)),
	{"ttl/swap", "a CompareAndSwap gives the item its own TTL", sleeps, func(f *fixture) {
		v := f.put("k", "v")
		f.expires("k", shortly, func() { f.ok(kv.OpSwap("k", v, []byte("w")).For(shortly)) })
	}},
	expires("ttl/longer", "a TTL of some seconds is kept to as well", 3*time.Second,
		kv.OpSet("k", []byte("v")).For(3*time.Second)),
	expires("ttl/not-whole-seconds", "a TTL need not be whole seconds: the item is not gone early", 1700*time.Millisecond,
		kv.OpSet("k", []byte("v")).For(1700*time.Millisecond)),
	{"ttl/smallest", "the smallest TTL is not taken for none", sleeps, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("v")).For(1))
		f.pass(slack + 100*time.Millisecond)
		f.absent("k")
	}},
	{"ttl/many", "a thousand items with a TTL all expire", sleeps, func(f *fixture) {
		var sets []kv.Op
		for i := range 1000 {
			sets = append(sets, kv.OpSet("k"+string(rune('a'+i/26%26))+string(rune('a'+i%26))+string(rune('a'+i/676)), []byte("v")).For(shortly))
		}
		f.do(sets...)
		f.pass(shortly + slack + 100*time.Millisecond)
		for i := range sets {
			sets[i] = kv.OpGet(sets[i].Key)
		}
		for _, op := range f.do(sets...) {
			if !optest.EndsIn(op.Result.Err, kv.ErrNotFound) {
				f.Fatalf("%q is %s", op.Key, optest.ShowItem(op.Result))
			}
		}
	}},
	expires("ttl/kept-by-append", "an Append leaves the expiry as it is", shortly,
		kv.OpSet("k", []byte("v")).For(shortly), kv.OpAppend("k", []byte("w"))),
	expires("ttl/kept-by-increment", "an Increment leaves the expiry as it is", shortly,
		kv.OpSet("k", []byte("1")).For(shortly), kv.OpIncrement("k", 1)),
	expires("ttl/kept-by-decrement", "an Increment by less than zero leaves the expiry as it is, also where a digit is lost", shortly,
		kv.OpSet("k", []byte("10")).For(shortly), kv.OpIncrement("k", -1)),
	{"ttl/kept-by-refusals", "a write that is refused leaves the expiry as it is", sleeps, func(f *fixture) {
		f.expires("k", shortly, func() {
			f.ok(kv.OpSet("k", []byte("v")).For(shortly))
			f.answer(kv.OpAdd("k", nil), kv.ErrExists)
			f.answer(kv.OpSwap("k", ^f.version("k"), nil), kv.ErrConflict)
			f.answer(kv.OpIncrement("k", 1), kv.ErrNotNumber)
		})
	}},
	{"ttl/none-given-by-append", "an Append and an Increment give no TTL to an item that has none", sleeps, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("1")), kv.OpAppend("k", []byte("0")), kv.OpIncrement("k", -1))
		f.pass(shortly + slack + 100*time.Millisecond)
		f.holds("k", "9")
	}},
	{"ttl/ended-by-set", "a Set without a TTL makes the item stay", sleeps, func(f *fixture) {
		f.stays(func() { f.ok(kv.OpSet("k", []byte("new"))) })
	}},
	{"ttl/ended-by-swap", "a CompareAndSwap without a TTL makes the item stay", sleeps, func(f *fixture) {
		f.stays(func() { f.ok(kv.OpSwap("k", f.version("k"), []byte("new"))) })
	}},
	{"ttl/ended-by-add", "an Add after a Delete starts without the old TTL", sleeps, func(f *fixture) {
		f.stays(func() { f.ok(kv.OpDelete("k"), kv.OpAdd("k", []byte("new"))) })
	}},
	{"ttl/made-longer", "a CompareAndSwap puts its TTL in the place of a shorter one", sleeps, func(f *fixture) {
		f.stays(func() { f.ok(kv.OpSwap("k", f.version("k"), []byte("new")).For(time.Hour)) })
	}},
	{"ttl/made-shorter", "a Set puts its TTL in the place of a longer one", sleeps, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("v")).For(time.Hour))
		f.expires("k", shortly, func() { f.ok(kv.OpSet("k", []byte("v")).For(shortly)) })
	}},
	{"ttl/over-30-days", "a TTL of more than 30 days is a duration, not a date long gone", 0, func(f *fixture) {
		f.longLived(31 * 24 * time.Hour)
	}},
	{"ttl/30-days", "a TTL of exactly 30 days is a duration", 0, func(f *fixture) { f.longLived(30 * 24 * time.Hour) }},
	{"ttl/longest", "a TTL of MaxTTL is good", 0, func(f *fixture) { f.longLived(kv.MaxTTL) }},

	{"expired/add", "an Add stores its value where an item has expired", sleeps, func(f *fixture) {
		f.expired()
		f.ok(kv.OpAdd("k", []byte("new")))
		f.holds("k", "new")
	}},
	{"expired/swap", "a CompareAndSwap of an expired item is ErrNotFound", sleeps, func(f *fixture) {
		f.refused(kv.OpSwap("k", f.expired(), []byte("new")), kv.ErrNotFound)
	}},
	{"expired/drop", "a CompareAndDelete of an expired item is ErrNotFound", sleeps, func(f *fixture) {
		f.refused(kv.OpDrop("k", f.expired()), kv.ErrNotFound)
	}},
	expiredRefuses("expired/delete", "a Delete of an expired item is ErrNotFound", kv.ErrNotFound, kv.OpDelete("k")),
	expiredRefuses("expired/append", "an Append to an expired item is ErrNotStored", kv.ErrNotStored, kv.OpAppend("k", []byte("8"))),
	expiredRefuses("expired/increment", "an Increment of an expired item is ErrNotFound", kv.ErrNotFound, kv.OpIncrement("k", 1)),
	{"expired/atomic", "what has expired is absent inside Atomic too", sleeps | atomically, func(f *fixture) {
		f.expired()
		f.atomic(nil, func(s kv.Store) error {
			return f.each(s, kv.OpAdd("k", []byte("new")))
		})
		f.holds("k", "new")
	}},
	{"expired/set-atomically", "an item that was stored with a TTL inside Atomic expires", sleeps | atomically, func(f *fixture) {
		f.expires("k", shortly, func() {
			f.atomic(nil, func(s kv.Store) error { return f.each(s, kv.OpSet("k", []byte("v")).For(shortly)) })
		})
	}},
	{"expired/reopened", "an item expires also while the store is closed", sleeps | kept, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("v")).For(shortly), kv.OpSet("long", []byte("v")).For(time.Hour))
		f.pass(shortly + slack + 100*time.Millisecond)
		f.reopen()
		f.absent("k")
		f.holds("long", "v")
	}},
}

func expires(name, rule string, ttl time.Duration, ops ...kv.Op) Case {
	return Case{name, rule, sleeps, func(f *fixture) { f.expires("k", ttl, func() { f.ok(ops...) }) }}
}

func expiredRefuses(name, rule string, want error, op kv.Op) Case {
	return Case{name, rule, sleeps, func(f *fixture) {
		f.expired()
		f.refused(op, want)
	}}
}

func (f *fixture) stays(change func()) {
	f.Helper()
	f.ok(kv.OpSet("k", []byte("v")).For(shortly))
	change()
	f.pass(shortly + slack + 100*time.Millisecond)
	f.answer(kv.OpGet("k"), nil)
}

func (f *fixture) expired() kv.Version {
	f.Helper()
	// Nothing reads k meanwhile, so a store that expires lazily still has it.
	f.ok(kv.OpSet("k", []byte("7")).For(shortly))
	version := f.version("k")
	f.pass(shortly + slack + 100*time.Millisecond)
	return version
}

func (f *fixture) longLived(ttl time.Duration) {
	f.Helper()
	f.ok(kv.OpSet("set", []byte("1")).For(ttl), kv.OpAdd("add", []byte("2")).For(ttl), kv.OpSet("swap", nil))
	f.ok(kv.OpSwap("swap", f.version("swap"), []byte("3")).For(ttl))
	keys := []string{"set", "add", "swap"}
	for _, key := range keys {
		f.answer(kv.OpGet(key), nil)
	}
	if f.maker.Advance == nil {
		return
	}
	f.maker.Advance(ttl - time.Minute)
	for _, key := range keys {
		f.answer(kv.OpGet(key), nil)
	}
	f.maker.Advance(time.Minute + slack)
	for _, key := range keys {
		f.absent(key)
	}
}
