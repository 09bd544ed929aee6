package memcachekv

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

const guarded = 1

const blanks = " \t\n\v\f\r\x00"

// encode returns value as the server stores it. A guard precedes a value that memcached would
// increment although it is not a number, such as "9 " or "+5", and the empty value, which an append
// could turn into one.
func encode(value []byte) ([]byte, uint32) {
	if !numeric(value) {
		return value, 0
	}
	if _, err := kv.ParseNumber(value); err == nil {
		return value, 0
	}
	return append([]byte{'v'}, value...), guarded
}

// numeric reports whether memcached would increment value, or could after an append.
func numeric(value []byte) bool {
	rest := bytes.TrimLeft(value, blanks)
	rest = bytes.TrimLeft(rest, "+-")
	rest = rest[digits(rest):]
	return len(rest) == 0 || strings.IndexByte(blanks, rest[0]) >= 0
}

// decode removes the guard, and the blanks after a number that has lost digits by a decrement.
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

// looksPadded reports whether text, appended to digits, would look like padding.
func looksPadded(text []byte) bool {
	n := digits(text)
	return n < len(text) && text[n] == ' '
}

func isDigits(text []byte) bool { return digits(text) == len(text) }

func digits(text []byte) int {
	n := 0
	for n < len(text) && '0' <= text[n] && text[n] <= '9' {
		n++
	}
	return n
}

// longest is the longest duration in seconds: memcached takes a larger number for a date.
const longest = 30 * 24 * 60 * 60

// expiry makes memcached, whose clock ticks once a second, keep an item for at least ttl. 0 means
// forever.
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
