package kvtest

import (
	"math"
	"strconv"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

const most = kv.MaxNumber

var incrementCases = []Case{
	refuses("increment/absent", "an Increment of an absent key is ErrNotFound and creates nothing",
		kv.ErrNotFound, kv.OpIncrement("k", 1)),
	sums("by-one", "an Increment answers the sum and stores it in decimal digits", "41", 1, 42),
	sums("by-many", "a delta may be any number", "1", 1_000_000, 1_000_001),
	sums("by-zero", "an Increment by zero answers the number that is there", "5", 0, 5),
	sums("from-zero", "zero is a number to count up from", "0", 1, 1),
	sums("down", "a negative delta takes away", "42", -2, 40),
	sums("to-zero", "a number can be taken down to zero", "42", -42, 0),
	sums("below-zero", "a sum that would be negative is zero", "42", -43, 0),
	sums("far-below-zero", "the largest negative delta leads to zero, not past it", "42", -most, 0),
	sums("zero-down", "zero taken down is zero", "0", -1, 0),
	sums("shorter", "a number that loses a digit reads without padding: 10-1 is \"9\"", "10", -1, 9),
	sums("much-shorter", "a number that loses many digits reads without padding", "1000000000", -999_999_999, 1),
	sums("longer", "a number may gain a digit", "999", 1, 1000),
	sums("past-float", "numbers beyond 2^53 are exact", "9007199254740993", 2, 9007199254740995),
	sums("past-32-bits", "numbers beyond 32 bits are exact, and so are deltas", "4294967295", 4294967296, 8589934591),
	sums("large-delta", "sums of deltas of 2^53 and more are exact", "1", 9007199254740992, 9007199254740993),
	sums("to-the-most", "a number can grow to MaxNumber", "0", most, most),
	sums("one-to-the-most", "the last step to MaxNumber is exact", strconv.Itoa(most-1), 1, most),
	sums("the-most-down", "MaxNumber can be taken down by one", strconv.Itoa(most), -1, most-1),
	sums("the-most-to-zero", "MaxNumber can be taken down to zero", strconv.Itoa(most), -most, 0),
	sums("the-most-by-zero", "MaxNumber stays under an Increment by zero", strconv.Itoa(most), 0, most),
	sums("leading-zeros", "leading zeros mean nothing, and are gone after the Increment", "007", 1, 8),

	notNumber("past-the-most", "a sum past MaxNumber is ErrNotNumber and leaves the number", strconv.Itoa(most), 1).and(exact),
	notNumber("far-past-the-most", "also two numbers near MaxNumber do not wrap round", strconv.Itoa(most), most).and(exact),
	notNumber("stored-past-the-most", "a stored number past MaxNumber is ErrNotNumber", strconv.Itoa(most+1), 1),
	notNumber("stored-past-the-most-down", "a stored number past MaxNumber is ErrNotNumber on the way down too", strconv.Itoa(most+1), -1),
	notNumber("stored-2^63", "2^63 is ErrNotNumber", "9223372036854775808", 1),
	notNumber("stored-2^64-1", "2^64-1 is ErrNotNumber and does not wrap to zero", "18446744073709551615", 1),
	notNumber("stored-2^64", "2^64 is ErrNotNumber", "18446744073709551616", 1),
	notNumber("stored-40-digits", "a number of forty digits is ErrNotNumber", "1234567890123456789012345678901234567890", 1),
	notNumber("empty", "the empty value is ErrNotNumber", "", 1),
	notNumber("word", "a word is ErrNotNumber", "abc", 1),
	notNumber("minus", "a value with a minus sign is ErrNotNumber", "-1", 1),
	notNumber("plus", "a value with a plus sign is ErrNotNumber", "+1", 1),
	notNumber("blank-before", "a blank before the digits is ErrNotNumber", " 1", 1),
	notNumber("blank-after", "a blank after the digits is ErrNotNumber: the suite wrote it, not the store", "1 ", 1),
	notNumber("line-end", "a line end after the digits is ErrNotNumber", "1\r\n", 1),
	notNumber("zero-byte", "a zero byte after the digits is ErrNotNumber", "1\x00", 1),
	notNumber("point", "a decimal point is ErrNotNumber", "1.5", 1),
	notNumber("exponent", "an exponent is ErrNotNumber", "1e3", 1),
	notNumber("hexadecimal", "hexadecimal digits are ErrNotNumber", "0x10", 1),
	notNumber("digits-then-word", "digits followed by a letter are ErrNotNumber", "12a", 1),
	notNumber("large-value", "a value of the largest size is ErrNotNumber", string(big(kv.MaxValue)), 1),

	{"increment/past-the-most", "a sum past MaxNumber is ErrNotNumber, however often it is tried, and the number stays", 0, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte(strconv.Itoa(most-1))))
		for range 3 {
			f.answer(kv.OpIncrement("k", 2), kv.ErrNotNumber)
			f.answer(kv.OpIncrement("k", most), kv.ErrNotNumber)
		}
		f.holds("k", strconv.Itoa(most-1))
		f.number(kv.OpIncrement("k", 1), most)
	}},
	leaves("increment/append-after-shorter", "an Append to a number that lost a digit goes right behind its last digit", "90",
		kv.OpSet("k", []byte("10")), kv.OpIncrement("k", -1), kv.OpAppend("k", []byte("0"))),
	{"increment/shorter-in-many", "a number that lost a digit reads without padding among many Gets too", 0, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("10")), kv.OpSet("l", []byte("100")),
			kv.OpIncrement("k", -1), kv.OpIncrement("l", -91))
		for _, op := range f.do(kv.OpGet("k"), kv.OpGet("l")) {
			if got := string(op.Result.Value); got != "9" {
				f.Errorf("%q holds %q, want 9", op.Key, got)
			}
		}
	}},
	{"increment/shorter-then-swap", "a number that lost a digit has a version to compare with", 0, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("10")), kv.OpIncrement("k", -1))
		f.ok(kv.OpSwap("k", f.version("k"), []byte("10")))
		f.number(kv.OpIncrement("k", -1), 9)
	}},
	{"increment/after-add-and-swap", "numbers that Add and CompareAndSwap stored can be incremented", 0, func(f *fixture) {
		f.ok(kv.OpAdd("k", []byte("1")))
		f.number(kv.OpIncrement("k", 1), 2)
		f.ok(kv.OpSwap("k", f.version("k"), []byte("10")))
		f.number(kv.OpIncrement("k", -1), 9)
	}},
	{"increment/up-and-down", "increments add up in both directions", 0, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("0")))
		for i := range int64(50) {
			f.number(kv.OpIncrement("k", 3), i+3)
			f.number(kv.OpIncrement("k", -2), i+1)
		}
	}},
	{"increment/delta-too-large", "a delta past MaxNumber in either direction is ErrBadOp", 0, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("1")))
		for _, delta := range []int64{most + 1, -most - 1, math.MaxInt64, math.MinInt64} {
			f.refused(kv.OpIncrement("k", delta), kv.ErrBadOp)
		}
	}},
}

func sums(name, rule, stored string, delta, want int64) Case {
	return Case{"increment/" + name, rule, 0, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte(stored)))
		f.number(kv.OpIncrement("k", delta), want)
		f.holds("k", strconv.FormatInt(want, 10))
	}}
}

func notNumber(name, rule, stored string, delta int64) Case {
	return Case{"not-number/" + name, rule, 0, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte(stored)))
		f.refused(kv.OpIncrement("k", delta), kv.ErrNotNumber)
	}}
}
