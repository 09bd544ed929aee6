package kvtest

import (
	"strings"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

var appendCases = []Case{
	leaves("append/present", "an Append adds the bytes to the end", "abcd",
		kv.OpSet("k", []byte("ab")), kv.OpAppend("k", []byte("cd"))),
	refuses("append/absent", "an Append to an absent key is ErrNotStored and creates nothing",
		kv.ErrNotStored, kv.OpAppend("k", []byte("v"))),
	refuses("append/nothing-to-absent", "also an Append of no bytes to an absent key is ErrNotStored",
		kv.ErrNotStored, kv.OpAppend("k", nil)),
	leaves("append/to-empty", "an Append to an empty value stores the bytes", "v",
		kv.OpSet("k", nil), kv.OpAppend("k", []byte("v"))),
	leaves("append/nothing", "an Append of no bytes succeeds and leaves the value", "v",
		kv.OpSet("k", []byte("v")), kv.OpAppend("k", nil), kv.OpAppend("k", []byte{})),
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
	refuses("append/after-delete", "an Append to a deleted item is ErrNotStored and brings nothing back",
		kv.ErrNotStored, kv.OpAppend("k", []byte("v")), kv.OpSet("k", []byte("v")), kv.OpDelete("k")),
	{"append/far-too-full", "no engine's own limit lets a value grow to 1 MiB: an Append that far is ErrNotStored and leaves the value", 0, func(f *fixture) {
		f.ok(kv.OpSet("k", big(kv.MaxValue)))
		f.refused(kv.OpAppend("k", big(8<<10)), kv.ErrNotStored)
		f.refused(kv.OpAppend("k", big(kv.MaxValue)), kv.ErrNotStored)
	}},
}

var unlessCases = []Case{
	leaves("unless/open", "an Append with Unless adds the bytes where the value ends otherwise", "abcd",
		kv.OpSet("k", []byte("ab")), appendUnless("k", "cd", "SEAL")).and(unless),
	refuses("unless/sealed", "an Append is ErrSealed where the value ends with Unless, and leaves it alone",
		kv.ErrSealed, appendUnless("k", "cd", "SEAL"), kv.OpSet("k", []byte("abSEAL"))).and(unless),
	refuses("unless/whole-value", "a value that is nothing but the seal is sealed",
		kv.ErrSealed, appendUnless("k", "cd", "SEAL"), kv.OpSet("k", []byte("SEAL"))).and(unless),
	leaves("unless/not-at-the-end", "a seal that is not at the end of the value seals nothing", "SEALabcd",
		kv.OpSet("k", []byte("SEALab")), appendUnless("k", "cd", "SEAL")).and(unless),
	leaves("unless/longer-than-value", "a value shorter than the seal is not sealed, an empty one neither", "EAL!",
		kv.OpSet("k", nil), appendUnless("k", "EAL", "SEAL"), appendUnless("k", "!", "SEAL")).and(unless),
	refuses("unless/sealing", "an Append may write the seal, and then the value is sealed",
		kv.ErrSealed, appendUnless("k", "SEAL", "SEAL"), kv.OpSet("k", []byte("ab")), appendUnless("k", "SEAL", "SEAL")).and(unless),
	refuses("unless/in-pieces", "a seal that two Appends wrote together is a seal",
		kv.ErrSealed, appendUnless("k", "b", "SEAL"), kv.OpSet("k", []byte("a")), appendUnless("k", "SE", "SEAL"), appendUnless("k", "AL", "SEAL")).and(unless),
	leaves("unless/plain-append", "an Append without Unless goes to a sealed value", "SEALx",
		kv.OpSet("k", []byte("SEAL")), kv.OpAppend("k", []byte("x"))).and(unless),
	{"unless/any-bytes", "a seal may hold any bytes, and they are compared as they are", unless, func(f *fixture) {
		seal := "\x00\xff%.*[\r\n"
		f.ok(kv.OpSet("k", []byte("a"+seal)), kv.OpSet("open", []byte("a%\x00\xffxxx[\r\n")))
		f.refused(appendUnless("k", "b", seal), kv.ErrSealed)
		f.ok(appendUnless("open", "b", seal))
	}},
	refuses("unless/absent", "an Append with Unless to an absent key is ErrNotStored",
		kv.ErrNotStored, appendUnless("k", "v", "SEAL")).and(unless),
	{"unless/full", "an Append with Unless to a full value is ErrNotStored", unless, func(f *fixture) {
		f.ok(kv.OpSet("k", big(kv.MaxValue)))
		f.refused(appendUnless("k", "v", "SEAL"), kv.ErrNotStored)
	}},
	refuses("unless/no-power", "a store that cannot test and append at once refuses Unless as ErrBadOp and appends nothing",
		kv.ErrBadOp, appendUnless("k", "cd", "SEAL"), kv.OpSet("k", []byte("ab"))).and(noUnless),
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
