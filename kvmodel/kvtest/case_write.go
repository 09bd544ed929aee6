package kvtest

import (
	"errors"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
)

var getCases = []Case{
	{"get/absent", "a Get of an absent key is ErrNotFound, and that is an answer: Do returns nil", 0, func(f *fixture) {
		f.absent("k")
	}},
	{"get/present", "a Get answers the value and a version that is not zero", 0, func(f *fixture) {
		f.ok(kvmodel.OpSet("k", []byte("v")))
		f.holds("k", "v")
	}},
	{"get/changes-nothing", "a Get changes neither value nor version", 0, func(f *fixture) {
		f.ok(kvmodel.OpSet("k", []byte("v")))
		first := f.version("k")
		if again := f.version("k"); again != first {
			f.Errorf("two gets of one state gave the versions %d and %d", first, again)
		}
	}},
	{"get/nil-value", "a nil value is stored as an empty one, and a value that is read is never nil", 0, func(f *fixture) {
		f.ok(kvmodel.OpSet("k", nil))
		f.holds("k", "")
	}},
}

var setCases = []Case{
	{"set/absent", "a Set of an absent key stores the value", 0, func(f *fixture) {
		f.ok(kvmodel.OpSet("k", []byte("v")))
		f.holds("k", "v")
	}},
	{"set/present", "a Set stores the value whatever was there", 0, func(f *fixture) {
		f.ok(kvmodel.OpSet("k", []byte("a long old value")), kvmodel.OpSet("k", []byte("new")))
		f.holds("k", "new")
	}},
	{"set/empty-over-full", "a Set to the empty value leaves an empty item, not an absent key", 0, func(f *fixture) {
		f.ok(kvmodel.OpSet("k", []byte("old")), kvmodel.OpSet("k", []byte{}))
		f.holds("k", "")
		f.refused(kvmodel.OpAdd("k", []byte("new")), kvmodel.ErrExists)
	}},
	{"set/other-keys", "a Set touches no key but its own", 0, func(f *fixture) {
		f.ok(kvmodel.OpSet("a", []byte("1")), kvmodel.OpSet("ab", []byte("2")), kvmodel.OpSet("b", []byte("3")))
		version := f.version("ab")
		f.ok(kvmodel.OpSet("a", []byte("changed")))
		f.holds("ab", "2")
		f.holds("b", "3")
		if f.version("ab") != version {
			f.Errorf("the version of another key changed")
		}
	}},
}

var addCases = []Case{
	{"add/absent", "an Add stores the value where the key is absent", 0, func(f *fixture) {
		f.ok(kvmodel.OpAdd("k", []byte("v")))
		f.holds("k", "v")
	}},
	{"add/present", "an Add of a key that is present is ErrExists and leaves the item alone", 0, func(f *fixture) {
		f.ok(kvmodel.OpSet("k", []byte("old")))
		f.refused(kvmodel.OpAdd("k", []byte("new")), kvmodel.ErrExists)
		f.holds("k", "old")
	}},
	{"add/twice", "of two Adds the second is ErrExists", 0, func(f *fixture) {
		f.ok(kvmodel.OpAdd("k", []byte("first")))
		f.refused(kvmodel.OpAdd("k", []byte("second")), kvmodel.ErrExists)
		f.holds("k", "first")
	}},
	{"add/same-value", "an Add of the value that is there already is ErrExists all the same", 0, func(f *fixture) {
		f.ok(kvmodel.OpAdd("k", []byte("v")))
		f.refused(kvmodel.OpAdd("k", []byte("v")), kvmodel.ErrExists)
	}},
	{"add/empty-is-present", "an empty value is present: an Add finds it", 0, func(f *fixture) {
		f.ok(kvmodel.OpAdd("k", nil))
		f.holds("k", "")
		f.refused(kvmodel.OpAdd("k", []byte("v")), kvmodel.ErrExists)
	}},
	{"add/after-delete", "an Add stores the value after the item was deleted", 0, func(f *fixture) {
		f.ok(kvmodel.OpAdd("k", []byte("1")), kvmodel.OpDelete("k"), kvmodel.OpAdd("k", []byte("2")))
		f.holds("k", "2")
	}},
	{"add/after-drop", "an Add stores the value after a CompareAndDelete removed the item", 0, func(f *fixture) {
		f.ok(kvmodel.OpAdd("k", []byte("1")))
		f.ok(kvmodel.OpDrop("k", f.version("k")), kvmodel.OpAdd("k", []byte("2")))
		f.holds("k", "2")
	}},
}

var swapCases = []Case{
	{"swap/unchanged", "a CompareAndSwap stores the value if the item still has the version", 0, func(f *fixture) {
		f.ok(kvmodel.OpSet("k", []byte("old")))
		f.ok(kvmodel.OpSwap("k", f.version("k"), []byte("new")))
		f.holds("k", "new")
	}},
	{"swap/absent", "a CompareAndSwap of an absent key is ErrNotFound and creates nothing", 0, func(f *fixture) {
		f.ok(kvmodel.OpSet("k", []byte("v")))
		version := f.version("k")
		f.ok(kvmodel.OpDelete("k"))
		f.refused(kvmodel.OpSwap("k", version, []byte("new")), kvmodel.ErrNotFound)
		f.absent("k")
	}},
	{"swap/stale", "a CompareAndSwap with a stale version is ErrConflict and leaves the item alone", 0, func(f *fixture) {
		f.ok(kvmodel.OpSet("k", []byte("1")))
		stale := f.version("k")
		f.ok(kvmodel.OpSet("k", []byte("2")))
		f.refused(kvmodel.OpSwap("k", stale, []byte("3")), kvmodel.ErrConflict)
		f.holds("k", "2")
	}},
	{"swap/twice", "a version is good for one CompareAndSwap: the second one is ErrConflict", 0, func(f *fixture) {
		f.ok(kvmodel.OpSet("k", []byte("1")))
		version := f.version("k")
		f.ok(kvmodel.OpSwap("k", version, []byte("2")))
		f.refused(kvmodel.OpSwap("k", version, []byte("3")), kvmodel.ErrConflict)
	}},
	{"swap/same-value", "a CompareAndSwap to the same value is a change: the version is new", 0, func(f *fixture) {
		f.ok(kvmodel.OpSet("k", []byte("v")))
		version := f.version("k")
		f.ok(kvmodel.OpSwap("k", version, []byte("v")))
		f.refused(kvmodel.OpSwap("k", version, []byte("v")), kvmodel.ErrConflict)
	}},
	{"swap/empty", "a CompareAndSwap to the empty value leaves an empty item", 0, func(f *fixture) {
		f.ok(kvmodel.OpSet("k", []byte("v")))
		f.ok(kvmodel.OpSwap("k", f.version("k"), nil))
		f.holds("k", "")
	}},
	{"swap/of-empty", "an empty item has a version to compare with", 0, func(f *fixture) {
		f.ok(kvmodel.OpSet("k", nil))
		f.ok(kvmodel.OpSwap("k", f.version("k"), []byte("v")))
		f.holds("k", "v")
	}},
	{"swap/many", "each of a hundred CompareAndSwaps with a fresh version succeeds", 0, func(f *fixture) {
		f.ok(kvmodel.OpSet("k", nil))
		for i := range 100 {
			f.ok(kvmodel.OpSwap("k", f.version("k"), []byte{byte(i)}))
		}
		f.holds("k", "c")
	}},
}

var deleteCases = []Case{
	{"delete/present", "a Delete removes the item", 0, func(f *fixture) {
		f.ok(kvmodel.OpSet("k", []byte("v")), kvmodel.OpDelete("k"))
		f.absent("k")
	}},
	{"delete/absent", "a Delete of an absent key is ErrNotFound", 0, func(f *fixture) {
		f.refused(kvmodel.OpDelete("k"), kvmodel.ErrNotFound)
	}},
	{"delete/twice", "of two Deletes the second is ErrNotFound", 0, func(f *fixture) {
		f.ok(kvmodel.OpSet("k", []byte("v")), kvmodel.OpDelete("k"))
		f.refused(kvmodel.OpDelete("k"), kvmodel.ErrNotFound)
	}},
	{"delete/empty", "a Delete removes an empty item too", 0, func(f *fixture) {
		f.ok(kvmodel.OpSet("k", nil), kvmodel.OpDelete("k"))
		f.absent("k")
	}},
	{"delete/other-keys", "a Delete touches no key but its own", 0, func(f *fixture) {
		f.ok(kvmodel.OpSet("a", []byte("1")), kvmodel.OpSet("ab", []byte("2")), kvmodel.OpDelete("a"))
		f.holds("ab", "2")
	}},
}

var dropCases = []Case{
	{"drop/unchanged", "a CompareAndDelete removes the item if it still has the version", 0, func(f *fixture) {
		f.ok(kvmodel.OpSet("k", []byte("v")))
		f.ok(kvmodel.OpDrop("k", f.version("k")))
		f.absent("k")
	}},
	{"drop/absent", "a CompareAndDelete of an absent key is ErrNotFound", 0, func(f *fixture) {
		f.ok(kvmodel.OpSet("k", []byte("v")))
		version := f.version("k")
		f.ok(kvmodel.OpDelete("k"))
		f.refused(kvmodel.OpDrop("k", version), kvmodel.ErrNotFound)
	}},
	{"drop/stale", "a CompareAndDelete with a stale version is ErrConflict and leaves the item alone", 0, func(f *fixture) {
		f.ok(kvmodel.OpSet("k", []byte("1")))
		stale := f.version("k")
		f.ok(kvmodel.OpSet("k", []byte("2")))
		f.refused(kvmodel.OpDrop("k", stale), kvmodel.ErrConflict)
		f.holds("k", "2")
	}},
	{"drop/twice", "of two CompareAndDeletes the second is ErrNotFound", 0, func(f *fixture) {
		f.ok(kvmodel.OpSet("k", []byte("v")))
		version := f.version("k")
		f.ok(kvmodel.OpDrop("k", version))
		f.refused(kvmodel.OpDrop("k", version), kvmodel.ErrNotFound)
	}},
	{"drop/empty", "a CompareAndDelete removes an empty item too", 0, func(f *fixture) {
		f.ok(kvmodel.OpSet("k", nil))
		f.ok(kvmodel.OpDrop("k", f.version("k")))
		f.absent("k")
	}},
	{"drop/leaves-nothing", "after a CompareAndDelete the key is as if it had never been", 0, func(f *fixture) {
		f.ok(kvmodel.OpSet("k", []byte("7")))
		f.ok(kvmodel.OpDrop("k", f.version("k")))
		f.refused(kvmodel.OpAppend("k", []byte("8")), kvmodel.ErrNotStored)
		f.refused(kvmodel.OpIncrement("k", 1), kvmodel.ErrNotFound)
		f.refused(kvmodel.OpDelete("k"), kvmodel.ErrNotFound)
		f.ok(kvmodel.OpAdd("k", []byte("9")))
		f.holds("k", "9")
	}},
}

var versionCases = []Case{
	changes("set", "a Set gives the item a new version", func(f *fixture) { f.ok(kvmodel.OpSet("k", []byte("8"))) }),
	changes("set-same-value", "a Set of the same value gives the item a new version", func(f *fixture) { f.ok(kvmodel.OpSet("k", []byte("7"))) }),
	changes("append", "an Append gives the item a new version", func(f *fixture) { f.ok(kvmodel.OpAppend("k", []byte("8"))) }),
	changes("increment", "an Increment gives the item a new version", func(f *fixture) { f.ok(kvmodel.OpIncrement("k", 1)) }),
	changes("decrement", "an Increment by less than zero gives the item a new version", func(f *fixture) { f.ok(kvmodel.OpIncrement("k", -1)) }),
	changes("re-add", "an item deleted and added again with the same value has a version it never had before", func(f *fixture) {
		f.ok(kvmodel.OpDelete("k"), kvmodel.OpAdd("k", []byte("7")))
	}),
	changes("drop-and-set", "an item removed by a CompareAndDelete and set again has a version it never had before", func(f *fixture) {
		f.ok(kvmodel.OpDrop("k", f.version("k")), kvmodel.OpSet("k", []byte("7")))
	}),
	changes("there-and-back", "a value that went and came back has a version it never had before", func(f *fixture) {
		f.ok(kvmodel.OpSet("k", []byte("8")), kvmodel.OpSet("k", []byte("7")))
	}),
	changes("add-after-expiry", "an item that expired and was added again has a version it never had before", func(f *fixture) {
		f.ok(kvmodel.OpSet("k", []byte("7")).For(shortly))
		f.pass(shortly + slack + 100*time.Millisecond)
		f.ok(kvmodel.OpAdd("k", []byte("7")))
	}).and(sleeps),
	{"version/refused-write", "a write that is refused leaves the version good", exact, func(f *fixture) {
		f.ok(kvmodel.OpSet("k", []byte("v")))
		version := f.version("k")
		f.answer(kvmodel.OpAdd("k", nil), kvmodel.ErrExists)
		f.answer(kvmodel.OpIncrement("k", 1), kvmodel.ErrNotNumber)
		f.answer(kvmodel.OpAppend("k", make([]byte, kvmodel.MaxValue)), kvmodel.ErrNotStored)
		f.answer(kvmodel.OpSwap("k", ^version, nil), kvmodel.ErrConflict)
		f.ok(kvmodel.OpSwap("k", version, []byte("new")))
	}},
	{"version/never-twice", "no version of a key comes twice in two hundred changes of every kind", 0, func(f *fixture) {
		seen := make(map[kvmodel.Version]int)
		for i := range 200 {
			f.ok(changeInTurn(f, i)...)
			r := f.do(kvmodel.OpGet("k"))[0].Result
			if errors.Is(r.Err, kvmodel.ErrNotFound) {
				continue
			}
			if before, ok := seen[r.Version]; ok {
				f.Fatalf("version %d came after change %d and again after change %d", r.Version, before, i)
			}
			seen[r.Version] = i
		}
	}},
	{"version/made-up", "a version that no Get answered is ErrConflict", 0, func(f *fixture) {
		f.ok(kvmodel.OpSet("k", []byte("v")))
		version := f.version("k")
		for _, other := range []kvmodel.Version{version + 1, version ^ 1<<63, ^kvmodel.Version(0)} {
			f.refused(kvmodel.OpSwap("k", other, []byte("new")), kvmodel.ErrConflict)
			f.refused(kvmodel.OpDrop("k", other), kvmodel.ErrConflict)
		}
	}},
	{"version/many-gets", "the versions that one trip with many Gets answers are good", 0, func(f *fixture) {
		keys := []string{"a", "b", "c"}
		for _, key := range keys {
			f.ok(kvmodel.OpSet(key, []byte(key)))
		}
		gets := f.do(kvmodel.OpGet("a"), kvmodel.OpGet("b"), kvmodel.OpGet("c"))
		for i, key := range keys {
			f.ok(kvmodel.OpSwap(key, gets[i].Result.Version, []byte("new")))
		}
	}},
}

// changes is a case in which change turns a version of key k, which holds 7,
// stale.
func changes(name, rule string, change func(*fixture)) Case {
	return Case{"version/" + name, rule, 0, func(f *fixture) {
		f.ok(kvmodel.OpSet("k", []byte("7")))
		stale := f.version("k")
		change(f)
		if f.version("k") == stale {
			f.Errorf("the version is still %d", stale)
		}
		f.refused(kvmodel.OpSwap("k", stale, []byte("new")), kvmodel.ErrConflict)
		f.refused(kvmodel.OpDrop("k", stale), kvmodel.ErrConflict)
	}}
}

// and returns the case with more needs.
func (c Case) and(more need) Case {
	c.needs |= more
	return c
}

// changeInTurn returns the i-th of changes of key k that go round.
func changeInTurn(f *fixture, i int) []kvmodel.Op {
	switch i % 6 {
	case 0:
		return []kvmodel.Op{kvmodel.OpAdd("k", []byte("1"))}
	case 1:
		return []kvmodel.Op{kvmodel.OpIncrement("k", 1)}
	case 2:
		return []kvmodel.Op{kvmodel.OpAppend("k", []byte("0"))}
	case 3:
		return []kvmodel.Op{kvmodel.OpSet("k", []byte("1"))}
	case 4:
		return []kvmodel.Op{kvmodel.OpSwap("k", f.version("k"), []byte("1"))}
	default:
		return []kvmodel.Op{kvmodel.OpDelete("k")}
	}
}
