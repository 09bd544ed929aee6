package kvtest

import (
	"errors"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

var getCases = []Case{
	{"get/absent", "a Get of an absent key is ErrNotFound, and that is an answer: Do returns nil", 0, func(f *fixture) {
		f.absent("k")
	}},
	leaves("get/present", "a Get answers the value and a version that is not zero", "v",
		kv.OpSet("k", []byte("v"))),
	{"get/changes-nothing", "a Get changes neither value nor version", 0, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("v")))
		first := f.version("k")
		if again := f.version("k"); again != first {
			f.Errorf("two gets of one state gave the versions %d and %d", first, again)
		}
	}},
	leaves("get/nil-value", "a nil value is stored as an empty one, and a value that is read is never nil", "",
		kv.OpSet("k", nil)),
}

var setCases = []Case{
	leaves("set/absent", "a Set of an absent key stores the value", "v",
		kv.OpSet("k", []byte("v"))),
	leaves("set/present", "a Set stores the value whatever was there", "new",
		kv.OpSet("k", []byte("a long old value")), kv.OpSet("k", []byte("new"))),
	{"set/empty-over-full", "a Set to the empty value leaves an empty item, not an absent key", 0, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("old")), kv.OpSet("k", []byte{}))
		f.holds("k", "")
		f.refused(kv.OpAdd("k", []byte("new")), kv.ErrExists)
	}},
	{"set/other-keys", "a Set touches no key but its own", 0, func(f *fixture) {
		f.ok(kv.OpSet("a", []byte("1")), kv.OpSet("ab", []byte("2")), kv.OpSet("b", []byte("3")))
		version := f.version("ab")
		f.ok(kv.OpSet("a", []byte("changed")))
		f.holds("ab", "2")
		f.holds("b", "3")
		if f.version("ab") != version {
			f.Errorf("the version of another key changed")
		}
	}},
}

var addCases = []Case{
	leaves("add/absent", "an Add stores the value where the key is absent", "v",
		kv.OpAdd("k", []byte("v"))),
	refuses("add/present", "an Add of a key that is present is ErrExists and leaves the item alone",
		kv.ErrExists, kv.OpAdd("k", []byte("new")), kv.OpSet("k", []byte("old"))),
	refuses("add/twice", "of two Adds the second is ErrExists",
		kv.ErrExists, kv.OpAdd("k", []byte("second")), kv.OpAdd("k", []byte("first"))),
	refuses("add/same-value", "an Add of the value that is there already is ErrExists all the same",
		kv.ErrExists, kv.OpAdd("k", []byte("v")), kv.OpAdd("k", []byte("v"))),
	{"add/empty-is-present", "an empty value is present: an Add finds it", 0, func(f *fixture) {
		f.ok(kv.OpAdd("k", nil))
		f.holds("k", "")
		f.refused(kv.OpAdd("k", []byte("v")), kv.ErrExists)
	}},
	leaves("add/after-delete", "an Add stores the value after the item was deleted", "2",
		kv.OpAdd("k", []byte("1")), kv.OpDelete("k"), kv.OpAdd("k", []byte("2"))),
	{"add/after-drop", "an Add stores the value after a CompareAndDelete removed the item", 0, func(f *fixture) {
		f.ok(kv.OpAdd("k", []byte("1")))
		f.ok(kv.OpDrop("k", f.version("k")), kv.OpAdd("k", []byte("2")))
		f.holds("k", "2")
	}},
}

var swapCases = []Case{
	{"swap/unchanged", "a CompareAndSwap stores the value if the item still has the version", 0, func(f *fixture) {
		f.ok(kv.OpSwap("k", f.put("k", "old"), []byte("new")))
		f.holds("k", "new")
	}},
	{"swap/absent", "a CompareAndSwap of an absent key is ErrNotFound and creates nothing", 0, func(f *fixture) {
		version := f.put("k", "v")
		f.ok(kv.OpDelete("k"))
		f.refused(kv.OpSwap("k", version, []byte("new")), kv.ErrNotFound)
	}},
	{"swap/stale", "a CompareAndSwap with a stale version is ErrConflict and leaves the item alone", 0, func(f *fixture) {
		stale := f.put("k", "1")
		f.ok(kv.OpSet("k", []byte("2")))
		f.refused(kv.OpSwap("k", stale, []byte("3")), kv.ErrConflict)
	}},
	{"swap/twice", "a version is good for one CompareAndSwap: the second one is ErrConflict", 0, func(f *fixture) {
		version := f.put("k", "1")
		f.ok(kv.OpSwap("k", version, []byte("2")))
		f.refused(kv.OpSwap("k", version, []byte("3")), kv.ErrConflict)
	}},
	{"swap/same-value", "a CompareAndSwap to the same value is a change: the version is new", 0, func(f *fixture) {
		version := f.put("k", "v")
		f.ok(kv.OpSwap("k", version, []byte("v")))
		f.refused(kv.OpSwap("k", version, []byte("v")), kv.ErrConflict)
	}},
	{"swap/empty", "a CompareAndSwap to the empty value leaves an empty item", 0, func(f *fixture) {
		f.ok(kv.OpSwap("k", f.put("k", "v"), nil))
		f.holds("k", "")
	}},
	{"swap/of-empty", "an empty item has a version to compare with", 0, func(f *fixture) {
		f.ok(kv.OpSet("k", nil))
		f.ok(kv.OpSwap("k", f.version("k"), []byte("v")))
		f.holds("k", "v")
	}},
	{"swap/many", "each of a hundred CompareAndSwaps with a fresh version succeeds", 0, func(f *fixture) {
		f.ok(kv.OpSet("k", nil))
		for i := range 100 {
			f.ok(kv.OpSwap("k", f.version("k"), []byte{byte(i)}))
		}
		f.holds("k", "c")
	}},
}

var deleteCases = []Case{
	{"delete/present", "a Delete removes the item", 0, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("v")), kv.OpDelete("k"))
		f.absent("k")
	}},
	refuses("delete/absent", "a Delete of an absent key is ErrNotFound",
		kv.ErrNotFound, kv.OpDelete("k")),
	refuses("delete/twice", "of two Deletes the second is ErrNotFound",
		kv.ErrNotFound, kv.OpDelete("k"), kv.OpSet("k", []byte("v")), kv.OpDelete("k")),
	{"delete/empty", "a Delete removes an empty item too", 0, func(f *fixture) {
		f.ok(kv.OpSet("k", nil), kv.OpDelete("k"))
		f.absent("k")
	}},
	{"delete/other-keys", "a Delete touches no key but its own", 0, func(f *fixture) {
		f.ok(kv.OpSet("a", []byte("1")), kv.OpSet("ab", []byte("2")), kv.OpDelete("a"))
		f.holds("ab", "2")
	}},
}

var dropCases = []Case{
	{"drop/unchanged", "a CompareAndDelete removes the item if it still has the version", 0, func(f *fixture) {
		f.ok(kv.OpDrop("k", f.put("k", "v")))
		f.absent("k")
	}},
	{"drop/absent", "a CompareAndDelete of an absent key is ErrNotFound", 0, func(f *fixture) {
		version := f.put("k", "v")
		f.ok(kv.OpDelete("k"))
		f.refused(kv.OpDrop("k", version), kv.ErrNotFound)
	}},
	{"drop/stale", "a CompareAndDelete with a stale version is ErrConflict and leaves the item alone", 0, func(f *fixture) {
		stale := f.put("k", "1")
		f.ok(kv.OpSet("k", []byte("2")))
		f.refused(kv.OpDrop("k", stale), kv.ErrConflict)
	}},
	{"drop/twice", "of two CompareAndDeletes the second is ErrNotFound", 0, func(f *fixture) {
		version := f.put("k", "v")
		f.ok(kv.OpDrop("k", version))
		f.refused(kv.OpDrop("k", version), kv.ErrNotFound)
	}},
	{"drop/empty", "a CompareAndDelete removes an empty item too", 0, func(f *fixture) {
		f.ok(kv.OpSet("k", nil))
		f.ok(kv.OpDrop("k", f.version("k")))
		f.absent("k")
	}},
	{"drop/leaves-nothing", "after a CompareAndDelete the key is as if it had never been", 0, func(f *fixture) {
		f.ok(kv.OpDrop("k", f.put("k", "7")))
		f.refused(kv.OpAppend("k", []byte("8")), kv.ErrNotStored)
		f.refused(kv.OpIncrement("k", 1), kv.ErrNotFound)
		f.refused(kv.OpDelete("k"), kv.ErrNotFound)
		f.ok(kv.OpAdd("k", []byte("9")))
		f.holds("k", "9")
	}},
}

var versionCases = []Case{
	changes("set", "a Set gives the item a new version", func(f *fixture) { f.ok(kv.OpSet("k", []byte("8"))) }),
	changes("set-same-value", "a Set of the same value gives the item a new version", func(f *fixture) { f.ok(kv.OpSet("k", []byte("7"))) }),
	changes("append", "an Append gives the item a new version", func(f *fixture) { f.ok(kv.OpAppend("k", []byte("8"))) }),
	changes("increment", "an Increment gives the item a new version", func(f *fixture) { f.ok(kv.OpIncrement("k", 1)) }),
	changes("decrement", "an Increment by less than zero gives the item a new version", func(f *fixture) { f.ok(kv.OpIncrement("k", -1)) }),
	changes("re-add", "an item deleted and added again with the same value has a version it never had before", func(f *fixture) {
		f.ok(kv.OpDelete("k"), kv.OpAdd("k", []byte("7")))
	}),
	changes("drop-and-set", "an item removed by a CompareAndDelete and set again has a version it never had before", func(f *fixture) {
		f.ok(kv.OpDrop("k", f.version("k")), kv.OpSet("k", []byte("7")))
	}),
	changes("there-and-back", "a value that went and came back has a version it never had before", func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("8")), kv.OpSet("k", []byte("7")))
	}),
	changes("add-after-expiry", "an item that expired and was added again has a version it never had before", func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("7")).For(shortly))
		f.pass(shortly + slack + 100*time.Millisecond)
		f.ok(kv.OpAdd("k", []byte("7")))
	}).and(sleeps),
	{"version/refused-write", "a write that is refused leaves the version good", exact, func(f *fixture) {
		version := f.put("k", "v")
		f.answer(kv.OpAdd("k", nil), kv.ErrExists)
		f.answer(kv.OpIncrement("k", 1), kv.ErrNotNumber)
		f.answer(kv.OpAppend("k", make([]byte, kv.MaxValue)), kv.ErrNotStored)
		f.answer(kv.OpSwap("k", ^version, nil), kv.ErrConflict)
		f.ok(kv.OpSwap("k", version, []byte("new")))
	}},
	{"version/never-twice", "no version of a key comes twice in two hundred changes of every kind", 0, func(f *fixture) {
		seen := make(map[kv.Version]int)
		for i := range 200 {
			f.ok(changeInTurn(f, i)...)
			r := f.do(kv.OpGet("k"))[0].Result
			if errors.Is(r.Err, kv.ErrNotFound) {
				continue
			}
			if before, ok := seen[r.Version]; ok {
				f.Fatalf("version %d came after change %d and again after change %d", r.Version, before, i)
			}
			seen[r.Version] = i
		}
	}},
	{"version/made-up", "a version that no Get answered is ErrConflict", 0, func(f *fixture) {
		version := f.put("k", "v")
		for _, other := range []kv.Version{version + 1, version ^ 1<<63, ^kv.Version(0)} {
			f.refused(kv.OpSwap("k", other, []byte("new")), kv.ErrConflict)
			f.refused(kv.OpDrop("k", other), kv.ErrConflict)
		}
	}},
	{"version/many-gets", "the versions that one trip with many Gets answers are good", 0, func(f *fixture) {
		keys := []string{"a", "b", "c"}
		for _, key := range keys {
			f.ok(kv.OpSet(key, []byte(key)))
		}
		gets := f.do(kv.OpGet("a"), kv.OpGet("b"), kv.OpGet("c"))
		for i, key := range keys {
			f.ok(kv.OpSwap(key, gets[i].Result.Version, []byte("new")))
		}
	}},
}

// changes is a case in which change makes the version of key k stale.
func changes(name, rule string, change func(*fixture)) Case {
	return Case{"version/" + name, rule, 0, func(f *fixture) {
		stale := f.put("k", "7")
		change(f)
		if f.version("k") == stale {
			f.Errorf("the version is still %d", stale)
		}
		f.refused(kv.OpSwap("k", stale, []byte("new")), kv.ErrConflict)
		f.refused(kv.OpDrop("k", stale), kv.ErrConflict)
	}}
}

func changeInTurn(f *fixture, i int) []kv.Op {
	switch i % 6 {
	case 0:
		return []kv.Op{kv.OpAdd("k", []byte("1"))}
	case 1:
		return []kv.Op{kv.OpIncrement("k", 1)}
	case 2:
		return []kv.Op{kv.OpAppend("k", []byte("0"))}
	case 3:
		return []kv.Op{kv.OpSet("k", []byte("1"))}
	case 4:
		return []kv.Op{kv.OpSwap("k", f.version("k"), []byte("1"))}
	default:
		return []kv.Op{kv.OpDelete("k")}
	}
}
