package kvtest

import (
	"strings"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

var appendCases = []Case{
	{"append/present", "an Append adds the bytes to the end", 0, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("ab")), kv.OpAppend("k", []byte("cd")))
		f.holds("k", "abcd")
	}},
	{"append/absent", "an Append to an absent key is ErrNotStored and creates nothing", 0, func(f *fixture) {
		f.refused(kv.OpAppend("k", []byte("v")), kv.ErrNotStored)
		f.absent("k")
	}},
	{"append/nothing-to-absent", "also an Append of no bytes to an absent key is ErrNotStored", 0, func(f *fixture) {
		f.refused(kv.OpAppend("k", nil), kv.ErrNotStored)
	}},
	{"append/to-empty", "an Append to an empty value stores the bytes", 0, func(f *fixture) {
		f.ok(kv.OpSet("k", nil), kv.OpAppend("k", []byte("v")))
		f.holds("k", "v")
	}},
	{"append/nothing", "an Append of no bytes succeeds and leaves the value", 0, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("v")), kv.OpAppend("k", nil), kv.OpAppend("k", []byte{}))
		f.holds("k", "v")
	}},
	{"append/many", "a hundred Appends are all there, in their order", 0, func(f *fixture) {
		f.ok(kv.OpSet("k", nil))
		var want strings.Builder
		for i := range 100 {
			piece := []byte{byte(i), '\n'}
			want.Write(piece)
			f.ok(kv.OpAppend("k", piece))
		}
		f.holds("k", want.String())
	}},
	{"append/just-fits", "an Append may fill a value to the last byte of the limit", 0, func(f *fixture) {
		f.ok(kv.OpSet("k", big(kv.MaxValue-3)), kv.OpAppend("k", []byte("end")))
		f.holds("k", string(big(kv.MaxValue-3))+"end")
	}},
	{"append/full", "an Append past the limit by one byte is ErrNotStored and leaves the value", exact, func(f *fixture) {
		f.ok(kv.OpSet("k", big(kv.MaxValue-3)))
		f.refused(kv.OpAppend("k", []byte("end!")), kv.ErrNotStored)
	}},
	{"append/full-then-less", "after a refused Append a smaller one still fits", exact, func(f *fixture) {
		f.ok(kv.OpSet("k", big(kv.MaxValue-3)))
		f.answer(kv.OpAppend("k", []byte("end!")), kv.ErrNotStored)
		f.ok(kv.OpAppend("k", []byte("end")))
		f.answer(kv.OpAppend("k", []byte("!")), kv.ErrNotStored)
		f.holds("k", string(big(kv.MaxValue-3))+"end")
	}},
	{"append/half-and-half", "two halves of the limit make one full value, and nothing more fits", exact, func(f *fixture) {
		half := big(kv.MaxValue / 2)
		f.ok(kv.OpSet("k", half), kv.OpAppend("k", half))
		f.refused(kv.OpAppend("k", []byte("x")), kv.ErrNotStored)
	}},
	{"append/to-number", "an Append to a number adds digits, and the whole is a number again", 0, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("1")), kv.OpAppend("k", []byte("5")))
		f.number(kv.OpIncrement("k", 1), 16)
	}},
	{"append/after-swap", "an Append goes to the value a CompareAndSwap has stored", 0, func(f *fixture) {
		f.ok(kv.OpSwap("k", f.put("k", "old"), []byte("new")), kv.OpAppend("k", []byte("+")))
		f.holds("k", "new+")
	}},
	{"append/after-delete", "an Append to a deleted item is ErrNotStored and brings nothing back", 0, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("v")), kv.OpDelete("k"))
		f.refused(kv.OpAppend("k", []byte("v")), kv.ErrNotStored)
	}},
	{"append/far-too-full", "no engine's own limit lets a value grow to 1 MiB: an Append that far is ErrNotStored and leaves the value", 0, func(f *fixture) {
		f.ok(kv.OpSet("k", big(kv.MaxValue)))
		f.refused(kv.OpAppend("k", big(8<<10)), kv.ErrNotStored)
		f.refused(kv.OpAppend("k", big(kv.MaxValue)), kv.ErrNotStored)
	}},
}

var unlessCases = []Case{
	{"unless/open", "an Append with Unless adds the bytes where the value ends otherwise", unless, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("ab")), appendUnless("k", "cd", "SEAL"))
		f.holds("k", "abcd")
	}},
	{"unless/sealed", "an Append is ErrSealed where the value ends with Unless, and leaves it alone", unless, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("abSEAL")))
		f.refused(appendUnless("k", "cd", "SEAL"), kv.ErrSealed)
		f.holds("k", "abSEAL")
	}},
	{"unless/whole-value", "a value that is nothing but the seal is sealed", unless, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("SEAL")))
		f.refused(appendUnless("k", "cd", "SEAL"), kv.ErrSealed)
	}},
	{"unless/not-at-the-end", "a seal that is not at the end of the value seals nothing", unless, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("SEALab")), appendUnless("k", "cd", "SEAL"))
		f.holds("k", "SEALabcd")
	}},
	{"unless/longer-than-value", "a value shorter than the seal is not sealed, an empty one neither", unless, func(f *fixture) {
		f.ok(kv.OpSet("k", nil), appendUnless("k", "EAL", "SEAL"), appendUnless("k", "!", "SEAL"))
		f.holds("k", "EAL!")
	}},
	{"unless/sealing", "an Append may write the seal, and then the value is sealed", unless, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("ab")), appendUnless("k", "SEAL", "SEAL"))
		f.refused(appendUnless("k", "SEAL", "SEAL"), kv.ErrSealed)
		f.holds("k", "abSEAL")
	}},
	{"unless/in-pieces", "a seal that two Appends wrote together is a seal", unless, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("a")), appendUnless("k", "SE", "SEAL"), appendUnless("k", "AL", "SEAL"))
		f.refused(appendUnless("k", "b", "SEAL"), kv.ErrSealed)
	}},
	{"unless/plain-append", "an Append without Unless goes to a sealed value", unless, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("SEAL")), kv.OpAppend("k", []byte("x")))
		f.holds("k", "SEALx")
	}},
	{"unless/any-bytes", "a seal may hold any bytes, and they are compared as they are", unless, func(f *fixture) {
		seal := "\x00\xff%.*[\r\n"
		f.ok(kv.OpSet("k", []byte("a"+seal)), kv.OpSet("open", []byte("a%\x00\xffxxx[\r\n")))
		f.refused(appendUnless("k", "b", seal), kv.ErrSealed)
		f.ok(appendUnless("open", "b", seal))
	}},
	{"unless/absent", "an Append with Unless to an absent key is ErrNotStored", unless, func(f *fixture) {
		f.refused(appendUnless("k", "v", "SEAL"), kv.ErrNotStored)
	}},
	{"unless/full", "an Append with Unless to a full value is ErrNotStored", unless, func(f *fixture) {
		f.ok(kv.OpSet("k", big(kv.MaxValue)))
		f.refused(appendUnless("k", "v", "SEAL"), kv.ErrNotStored)
	}},
	{"unless/no-power", "a store that cannot test and append at once refuses Unless as ErrBadOp and appends nothing", noUnless, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("ab")))
		f.refused(appendUnless("k", "cd", "SEAL"), kv.ErrBadOp)
	}},
	{"unless/empty", "an empty Unless is no condition, on any store", 0, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("ab")))
		op := kv.OpAppend("k", []byte("cd"))
		op.Unless = []byte{}
		f.ok(op)
		f.holds("k", "abcd")
	}},
}

func appendUnless(key, value, seal string) kv.Op {
	op := kv.OpAppend(key, []byte(value))
	op.Unless = []byte(seal)
	return op
}
