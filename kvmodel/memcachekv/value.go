package memcachekv

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// guarded is the flag of an item whose value has one byte before it that is
// not its own.
const guarded = 1

// blanks are the bytes after which memcached takes digits for a whole number.
const blanks = " \t\n\v\f\r\x00"

// encode returns value as the server keeps it, with its flags. What memcached
// would count though it is no number of the contract, such as "9 " and "+5",
// has a guard before it, so that counting fails. So has the empty value, which
// could become such a thing by appending.
func encode(value []byte) ([]byte, uint32) {
	if !countable(value) {
		return value, 0
	}
	if _, err := kv.ParseNumber(value); err == nil {
		return value, 0
	}
	return append([]byte{'v'}, value...), guarded
}

// countable tells whether memcached would count value, or could after an
// append.
func countable(value []byte) bool {
	rest := bytes.TrimLeft(value, blanks)
	rest = bytes.TrimLeft(rest, "+-")
	rest = rest[digits(rest):]
	return len(rest) == 0 || strings.IndexByte(blanks, rest[0]) >= 0
}

// decode returns the value of an item. A number that has lost digits by
// counting is followed by blanks instead, which are not part of it.
func decode(stored []byte, flags uint32) []byte {
	if flags == guarded && len(stored) > 0 {
		return stored[1:]
	}
	n := digits(stored)
	if n == 0 || n == len(stored) || stored[n] != ' ' {
		return stored
	}
	return slices.Concat(stored[:n], bytes.TrimLeft(stored[n:], " "))
}

// looksPadded tells whether text behind digits would look like a number that
// has lost some.
func looksPadded(text []byte) bool {
	n := digits(text)
	return n < len(text) && text[n] == ' '
}

// isDigits tells whether text is nothing but digits, or nothing.
func isDigits(text []byte) bool { return digits(text) == len(text) }

// digits returns the number of digits that text begins with.
func digits(text []byte) int {
	n := 0
	for n < len(text) && '0' <= text[n] && text[n] <= '9' {
		n++
	}
	return n
}

// longest is the longest time memcached takes for one; more is a date.
const longest = 30 * 24 * 60 * 60

// expiry returns what memcached is told for an item that must be there until
// ttl has passed. Its clock ticks once a second, so one second more is needed
// in order not to be early. 0 is never.
func expiry(ttl time.Duration, now time.Time) int32 {
	if ttl == 0 {
		return 0
	}
	seconds := int64((ttl+time.Second-1)/time.Second) + 1
	if seconds <= longest {
		return int32(seconds)
	}
	date := now.Unix() + seconds
	if date > math.MaxInt32 {
		return 0
	}
	return int32(date)
}
