package kvtest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ringtree/ringtree/internal/optest"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func refusalCases() []Case {
	over := big(kv.MaxValue + 1)
	cases := []Case{
		{"too-large/set", "a Set past the limit is ErrTooLarge and the old value survives", 0, func(f *fixture) {
			f.ok(kv.OpSet("k", []byte("old")))
			f.refused(kv.OpSet("k", over), kv.ErrTooLarge)
			f.holds("k", "old")
		}},
		{"too-large/set-far", "a Set far past the limit is ErrTooLarge and the old value survives", 0, func(f *fixture) {
			f.ok(kv.OpSet("k", []byte("old")))
			f.refused(kv.OpSet("k", big(4<<20)), kv.ErrTooLarge)
		}},
		{"too-large/set-over-full", "a Set past the limit leaves an old value of the largest size", 0, func(f *fixture) {
			f.ok(kv.OpSet("k", over[1:]))
			f.refused(kv.OpSet("k", over), kv.ErrTooLarge)
		}},
		{"too-large/add", "an Add past the limit is ErrTooLarge and creates nothing", 0, func(f *fixture) {
			f.refused(kv.OpAdd("k", over), kv.ErrTooLarge)
		}},
		{"too-large/swap", "a CompareAndSwap past the limit is ErrTooLarge and the old value survives", 0, func(f *fixture) {
			f.refused(kv.OpSwap("k", f.put("k", "old"), over), kv.ErrTooLarge)
		}},
		{"too-large/append", "an Append of more than a value can be is ErrTooLarge and the old value survives", 0, func(f *fixture) {
			f.ok(kv.OpSet("k", []byte("old")))
			f.refused(kv.OpAppend("k", over), kv.ErrTooLarge)
		}},
		{"too-large/among-good", "an op past the limit does not keep the others of its trip from being done", 0, func(f *fixture) {
			ops := f.do(kv.OpSet("a", []byte("1")), kv.OpSet("b", over), kv.OpSet("c", []byte("3")))
			f.ended(ops[1], kv.ErrTooLarge)
			f.holds("a", "1")
			f.absent("b")
			f.holds("c", "3")
		}},
	}
	for _, op := range []kv.Op{kv.OpSet("k", nil), kv.OpAdd("other", nil), kv.OpSwap("k", 0, nil)} {
		cases = append(cases,
			badOp("ttl-negative/"+op.Kind.String(), "a negative TTL is ErrBadOp", op.For(-time.Second)),
			badOp("ttl-too-long/"+op.Kind.String(), "a TTL past MaxTTL is ErrBadOp", op.For(kv.MaxTTL+1)))
	}
	for _, op := range []kv.Op{
		kv.OpGet("k"), kv.OpDelete("k"), kv.OpDrop("k", 0), kv.OpAppend("k", nil), kv.OpIncrement("k", 1),
	} {
		cases = append(cases, badOp("ttl-misplaced/"+op.Kind.String(), "a TTL on an op that takes none is ErrBadOp", op.For(time.Hour)))
	}
	for _, op := range []kv.Op{
		kv.OpGet("k"), kv.OpSet("k", nil), kv.OpAdd("other", nil), kv.OpSwap("k", 0, nil),
		kv.OpDelete("k"), kv.OpDrop("k", 0), kv.OpIncrement("k", 1),
	} {
		op.Unless = []byte("SEAL")
		cases = append(cases, badOp("unless-misplaced/"+op.Kind.String(), "Unless on anything but an Append is ErrBadOp", op))
	}
	for _, kind := range []kv.Kind{0, kv.Increment + 1, 255} {
		cases = append(cases, badOp(fmt.Sprintf("unknown-kind/%d", kind), "a kind that the contract does not have is ErrBadOp",
			kv.Op{Kind: kind, Key: "k"}))
	}
	return append(cases,
		Case{"zero-version/swap", "a CompareAndSwap with the zero version is ErrBadOp", 0, func(f *fixture) {
			f.ok(kv.OpSet("k", []byte("v")))
			f.refused(kv.OpSwap("k", 0, []byte("new")), kv.ErrBadOp)
			f.refused(kv.OpSwap("absent", 0, []byte("new")), kv.ErrBadOp)
		}},
		Case{"zero-version/drop", "a CompareAndDelete with the zero version is ErrBadOp", 0, func(f *fixture) {
			f.ok(kv.OpSet("k", []byte("v")))
			f.refused(kv.OpDrop("k", 0), kv.ErrBadOp)
			f.refused(kv.OpDrop("absent", 0), kv.ErrBadOp)
		}})
}

// badOp is a case of an op that is invalid even if it compares with the right version.
func badOp(name, rule string, op kv.Op) Case {
	return Case{"bad-op/" + name, rule, 0, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("7")))
		if op.Kind == kv.CompareAndSwap || op.Kind == kv.CompareAndDelete {
			op.Version = f.version("k")
		}
		f.refused(op, kv.ErrBadOp)
	}}
}

func keyCases() []Case {
	cases := []Case{
		{"key/case-sensitive", "keys that differ in case are different", 0, func(f *fixture) { f.differ("key", "Key", "KEY") }},
		{"key/punctuation", "every printable byte of ASCII but blank and braces is good in a key", 0, func(f *fixture) {
			f.differ(strings.Split(printable(), "")...)
			f.differ(printable())
		}},
		{"key/made-by-classes", "the keys that classes make are good", 0, func(f *fixture) {
			c := kv.NewClass("c", 2)
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
			n := kv.MaxKey - f.maker.Prefix
			f.differ(strings.Repeat("k", n), strings.Repeat("k", n-1)+"l", strings.Repeat("k", n-1))
		}},
		{"key/bad-among-good", "a bad key does not keep the other ops of its trip from being done", 0, func(f *fixture) {
			ops := f.do(kv.OpSet("a", []byte("1")), kv.OpSet("b c", []byte("2")), kv.OpSet("", nil), kv.OpSet("d", []byte("4")))
			f.ended(ops[1], kv.ErrBadKey)
			f.ended(ops[2], kv.ErrBadKey)
			f.holds("a", "1")
			f.holds("d", "4")
		}},
	}
	for _, bad := range []struct{ name, key string }{
		{"empty", ""}, {"blank", "a b"}, {"only-blank", " "}, {"tab", "a\tb"}, {"zero-byte", "a\x00b"}, {"line-end", "a\r\nb"},
		{"command", "a\r\nflush_all\r\n"}, {"escape", "a\x1bb"}, {"delete", "a\x7fb"}, {"open-brace", "{a"}, {"close-brace", "a}"},
		{"hash-tag", "{a}b"}, {"non-ascii", "é"}, {"not-utf-8", "a\xff"}, {"0x80", "\x80"},
		{"too-long", strings.Repeat("k", kv.MaxKey+1)}, {"far-too-long", strings.Repeat("k", 100_000)},
	} {
		cases = append(cases, Case{"bad-key/" + bad.name, "ops of every kind with such a key are ErrBadKey, and nothing else suffers", 0,
			func(f *fixture) { f.badKey(bad.key) }})
	}
	return cases
}

func printable() string {
	var b strings.Builder
	for c := byte('!'); c < 0x7f; c++ {
		if c != '{' && c != '}' {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func (f *fixture) differ(keys ...string) {
	f.Helper()
	for i, key := range keys {
		f.ok(kv.OpAdd(key, []byte{byte(i)}))
	}
	for i, key := range keys {
		f.holds(key, string([]byte{byte(i)}))
		f.ok(kv.OpDelete(key))
	}
}

func (f *fixture) badKey(key string) {
	f.Helper()
	version := f.put("good", "v")
	for _, op := range []kv.Op{
		kv.OpGet(key), kv.OpSet(key, nil), kv.OpAdd(key, nil), kv.OpSwap(key, version, nil),
		kv.OpDelete(key), kv.OpDrop(key, version), kv.OpAppend(key, nil), kv.OpIncrement(key, 1),
	} {
		f.answer(op, kv.ErrBadKey)
	}
	f.holds("good", "v")
}

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
		{"64-KiB", string(big(64 << 10))}, {"largest", string(big(kv.MaxValue))},
		{"largest-of-line-ends", strings.Repeat("\r\n", kv.MaxValue/2)},
	} {
		cases = append(cases, Case{"value/" + v.name, "every store keeps any bytes as they are, however they are written", 0,
			func(f *fixture) { f.keeps(v.value) }})
	}
	return cases
}

func (f *fixture) keeps(value string) {
	f.Helper()
	half := len(value) / 2
	f.ok(kv.OpSet("set", []byte(value)), kv.OpAdd("add", []byte(value)),
		kv.OpSet("swap", []byte("old")), kv.OpSet("append", []byte(value[:half])))
	f.ok(kv.OpSwap("swap", f.version("swap"), []byte(value)), kv.OpAppend("append", []byte(value[half:])))
	for _, key := range []string{"set", "add", "swap", "append"} {
		f.holds(key, value)
	}
	for _, op := range f.do(kv.OpGet("set"), kv.OpGet("none"), kv.OpGet("append")) {
		if errors.Is(op.Result.Err, kv.ErrNotFound) != (op.Key == "none") || op.Key != "none" && string(op.Result.Value) != value {
			f.Errorf("in one trip %q is %s", op.Key, optest.ShowItem(op.Result))
		}
	}
}
