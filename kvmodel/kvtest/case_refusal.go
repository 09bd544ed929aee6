package kvtest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
)

// refusalCases are ops that must not be sent.
func refusalCases() []Case {
	over := big(kvmodel.MaxValue + 1)
	cases := []Case{
		{"too-large/set", "a Set past the limit is ErrTooLarge and the old value survives", 0, func(f *fixture) {
			f.ok(kvmodel.OpSet("k", []byte("old")))
			f.refused(kvmodel.OpSet("k", over), kvmodel.ErrTooLarge)
			f.holds("k", "old")
		}},
		{"too-large/set-far", "a Set far past the limit is ErrTooLarge and the old value survives", 0, func(f *fixture) {
			f.ok(kvmodel.OpSet("k", []byte("old")))
			f.refused(kvmodel.OpSet("k", big(4<<20)), kvmodel.ErrTooLarge)
		}},
		{"too-large/set-over-full", "a Set past the limit leaves an old value of the largest size", 0, func(f *fixture) {
			f.ok(kvmodel.OpSet("k", over[1:]))
			f.refused(kvmodel.OpSet("k", over), kvmodel.ErrTooLarge)
		}},
		{"too-large/add", "an Add past the limit is ErrTooLarge and creates nothing", 0, func(f *fixture) {
			f.refused(kvmodel.OpAdd("k", over), kvmodel.ErrTooLarge)
		}},
		{"too-large/swap", "a CompareAndSwap past the limit is ErrTooLarge and the old value survives", 0, func(f *fixture) {
			f.ok(kvmodel.OpSet("k", []byte("old")))
			f.refused(kvmodel.OpSwap("k", f.version("k"), over), kvmodel.ErrTooLarge)
		}},
		{"too-large/append", "an Append of more than a value can be is ErrTooLarge and the old value survives", 0, func(f *fixture) {
			f.ok(kvmodel.OpSet("k", []byte("old")))
			f.refused(kvmodel.OpAppend("k", over), kvmodel.ErrTooLarge)
		}},
		{"too-large/among-good", "an op past the limit does not keep the others of its trip from being done", 0, func(f *fixture) {
			ops := f.do(kvmodel.OpSet("a", []byte("1")), kvmodel.OpSet("b", over), kvmodel.OpSet("c", []byte("3")))
			if !endsIn(ops[1].Result.Err, kvmodel.ErrTooLarge) {
				f.Errorf("the large one ended in %v", ops[1].Result.Err)
			}
			f.holds("a", "1")
			f.absent("b")
			f.holds("c", "3")
		}},
	}
	for _, op := range []kvmodel.Op{kvmodel.OpSet("k", nil), kvmodel.OpAdd("other", nil), kvmodel.OpSwap("k", 0, nil)} {
		cases = append(cases,
			badOp("ttl-negative/"+op.Kind.String(), "a negative TTL is ErrBadOp", op.For(-time.Second)),
			badOp("ttl-too-long/"+op.Kind.String(), "a TTL past MaxTTL is ErrBadOp", op.For(kvmodel.MaxTTL+1)))
	}
	for _, op := range []kvmodel.Op{
		kvmodel.OpGet("k"), kvmodel.OpDelete("k"), kvmodel.OpDrop("k", 0), kvmodel.OpAppend("k", nil), kvmodel.OpIncrement("k", 1),
	} {
		cases = append(cases, badOp("ttl-misplaced/"+op.Kind.String(), "a TTL on an op that takes none is ErrBadOp", op.For(time.Hour)))
	}
	for _, op := range []kvmodel.Op{
		kvmodel.OpGet("k"), kvmodel.OpSet("k", nil), kvmodel.OpAdd("other", nil), kvmodel.OpSwap("k", 0, nil),
		kvmodel.OpDelete("k"), kvmodel.OpDrop("k", 0), kvmodel.OpIncrement("k", 1),
	} {
		op.Unless = []byte("SEAL")
		cases = append(cases, badOp("unless-misplaced/"+op.Kind.String(), "Unless on anything but an Append is ErrBadOp", op))
	}
	for _, kind := range []kvmodel.Kind{0, kvmodel.Increment + 1, 255} {
		cases = append(cases, badOp(fmt.Sprintf("unknown-kind/%d", kind), "a kind that the contract does not have is ErrBadOp",
			kvmodel.Op{Kind: kind, Key: "k"}))
	}
	return append(cases,
		Case{"zero-version/swap", "a CompareAndSwap with the zero version is ErrBadOp", 0, func(f *fixture) {
			f.ok(kvmodel.OpSet("k", []byte("v")))
			f.refused(kvmodel.OpSwap("k", 0, []byte("new")), kvmodel.ErrBadOp)
			f.refused(kvmodel.OpSwap("absent", 0, []byte("new")), kvmodel.ErrBadOp)
		}},
		Case{"zero-version/drop", "a CompareAndDelete with the zero version is ErrBadOp", 0, func(f *fixture) {
			f.ok(kvmodel.OpSet("k", []byte("v")))
			f.refused(kvmodel.OpDrop("k", 0), kvmodel.ErrBadOp)
			f.refused(kvmodel.OpDrop("absent", 0), kvmodel.ErrBadOp)
		}})
}

// badOp is a case in which op makes no sense. Where it compares, it gets the
// version that would let it through.
func badOp(name, rule string, op kvmodel.Op) Case {
	return Case{"bad-op/" + name, rule, 0, func(f *fixture) {
		f.ok(kvmodel.OpSet("k", []byte("7")))
		if op.Kind == kvmodel.CompareAndSwap || op.Kind == kvmodel.CompareAndDelete {
			op.Version = f.version("k")
		}
		f.refused(op, kvmodel.ErrBadOp)
	}}
}

// keyCases are the keys that every store takes, and those that none does.
func keyCases() []Case {
	cases := []Case{
		{"key/case-sensitive", "keys that differ in case are different", 0, func(f *fixture) { f.differ("key", "Key", "KEY") }},
		{"key/punctuation", "every printable byte of ASCII but blank and braces is good in a key", 0, func(f *fixture) {
			f.differ(strings.Split(printable(), "")...)
			f.differ(printable())
		}},
		{"key/made-by-classes", "the keys that classes make are good", 0, func(f *fixture) {
			c := kvmodel.NewClass("c", 2)
			f.differ(c.Key("a:b", "c"), c.Key("a", "b:c"), c.Key("", "abc"), c.Key("abc", ""), c.Key("é {}", "\x00\r\n"),
				c.Key(strings.Repeat("a", 500), "b")+"#0", c.Key(strings.Repeat("a", 500), "c")+"#0")
		}},
		{"key/look-alikes", "keys that look like commands, numbers or patterns are keys", 0, func(f *fixture) {
			f.differ("get", "END", "0", "-1", "00", "*", "?", "[a]", "a*", "\\r\\n", "..", "../a", "/", "a/b", "%41", "A", "noreply", "nil")
		}},
		{"key/prefixes", "a key that is the beginning of another is another key", 0, func(f *fixture) {
			f.differ("a", "aa", "aaa", "aaa:", "aaa:a")
		}},
		{"key/longest", "a key of MaxKey bytes is good, and its last byte counts", 0, func(f *fixture) {
			n := kvmodel.MaxKey - f.maker.Prefix
			f.differ(strings.Repeat("k", n), strings.Repeat("k", n-1)+"l", strings.Repeat("k", n-1))
		}},
		{"key/bad-among-good", "a bad key does not keep the other ops of its trip from being done", 0, func(f *fixture) {
			ops := f.do(kvmodel.OpSet("a", []byte("1")), kvmodel.OpSet("b c", []byte("2")), kvmodel.OpSet("", nil), kvmodel.OpSet("d", []byte("4")))
			for _, i := range []int{1, 2} {
				if !endsIn(ops[i].Result.Err, kvmodel.ErrBadKey) {
					f.Errorf("%s ended in %v, want ErrBadKey", show(ops[i]), ops[i].Result.Err)
				}
			}
			f.holds("a", "1")
			f.holds("d", "4")
		}},
	}
	for _, bad := range []struct{ name, key string }{
		{"empty", ""}, {"blank", "a b"}, {"only-blank", " "}, {"tab", "a\tb"}, {"zero-byte", "a\x00b"}, {"line-end", "a\r\nb"},
		{"command", "a\r\nflush_all\r\n"}, {"escape", "a\x1bb"}, {"delete", "a\x7fb"}, {"open-brace", "{a"}, {"close-brace", "a}"},
		{"hash-tag", "{a}b"}, {"non-ascii", "é"}, {"not-utf-8", "a\xff"}, {"0x80", "\x80"},
		{"too-long", strings.Repeat("k", kvmodel.MaxKey+1)}, {"far-too-long", strings.Repeat("k", 100_000)},
	} {
		cases = append(cases, Case{"bad-key/" + bad.name, "ops of every kind with such a key are ErrBadKey, and nothing else suffers", 0,
			func(f *fixture) { f.badKey(bad.key) }})
	}
	return cases
}

// printable returns all bytes that are good in a key.
func printable() string {
	var b strings.Builder
	for c := byte('!'); c < 0x7f; c++ {
		if c != '{' && c != '}' {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// differ wants keys to be good and to be keys of different items.
func (f *fixture) differ(keys ...string) {
	f.Helper()
	for i, key := range keys {
		f.ok(kvmodel.OpAdd(key, []byte{byte(i)}))
	}
	for i, key := range keys {
		f.holds(key, string([]byte{byte(i)}))
		f.ok(kvmodel.OpDelete(key))
	}
}

// badKey wants ops of every kind on key to be refused, and the store to be
// well afterwards.
func (f *fixture) badKey(key string) {
	f.Helper()
	f.ok(kvmodel.OpSet("good", []byte("v")))
	version := f.version("good")
	for _, op := range []kvmodel.Op{
		kvmodel.OpGet(key), kvmodel.OpSet(key, nil), kvmodel.OpAdd(key, nil), kvmodel.OpSwap(key, version, nil),
		kvmodel.OpDelete(key), kvmodel.OpDrop(key, version), kvmodel.OpAppend(key, nil), kvmodel.OpIncrement(key, 1),
	} {
		f.answer(op, kvmodel.ErrBadKey)
	}
	f.holds("good", "v")
}

// valueCases are values that must come back as they were given.
func valueCases() []Case {
	var all bytes.Buffer
	for c := range 256 {
		all.WriteByte(byte(c))
	}
	var cases []Case
	for _, v := range []struct{ name, value string }{
		{"empty", ""}, {"one-zero-byte", "\x00"}, {"all-bytes", all.String()}, {"not-utf-8", "\xff\xfe\x80"}, {"line-end", "\r\n"},
		{"line-ends-inside", "a\r\nb\r\n"}, {"memcached-end", "END\r\n"}, {"memcached-value", "VALUE k 0 1\r\nx\r\nEND\r\n"},
		{"memcached-stored", "STORED\r\n"}, {"redis-bulk", "$-1\r\n"}, {"redis-error", "-ERR no\r\n"}, {"blanks", "  "},
		{"number", "12345"}, {"number-and-blanks", "9  "}, {"leading-zeros", "0009"}, {"negative", "-5"},
		{"64-KiB", string(big(64 << 10))}, {"largest", string(big(kvmodel.MaxValue))},
		{"largest-of-line-ends", strings.Repeat("\r\n", kvmodel.MaxValue/2)},
	} {
		cases = append(cases, Case{"value/" + v.name, "every store keeps any bytes as they are, however they are written", 0,
			func(f *fixture) { f.keeps(v.value) }})
	}
	return cases
}

// keeps wants value to come back from each kind of op that stores.
func (f *fixture) keeps(value string) {
	f.Helper()
	half := len(value) / 2
	f.ok(kvmodel.OpSet("set", []byte(value)), kvmodel.OpAdd("add", []byte(value)),
		kvmodel.OpSet("swap", []byte("old")), kvmodel.OpSet("append", []byte(value[:half])))
	f.ok(kvmodel.OpSwap("swap", f.version("swap"), []byte(value)), kvmodel.OpAppend("append", []byte(value[half:])))
	for _, key := range []string{"set", "add", "swap", "append"} {
		f.holds(key, value)
	}
	for _, op := range f.do(kvmodel.OpGet("set"), kvmodel.OpGet("none"), kvmodel.OpGet("append")) {
		if errors.Is(op.Result.Err, kvmodel.ErrNotFound) != (op.Key == "none") || op.Key != "none" && string(op.Result.Value) != value {
			f.Errorf("in one trip %q is %s", op.Key, showResult(op.Result))
		}
	}
}
