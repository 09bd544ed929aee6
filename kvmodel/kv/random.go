package kv

import (
	"crypto/rand"
	"encoding/binary"
	"strings"
	"time"
)

// All randomness comes from crypto/rand, which a simulation can seed.

// RandomBytes returns n random bytes.
func RandomBytes(n int) []byte {
	b := make([]byte, n)
	// Read never fails: the runtime ends the program instead.
	_, _ = rand.Read(b)
	return b
}

// Random returns a random 64-bit number, different in every call.
func Random() uint64 { return binary.BigEndian.Uint64(RandomBytes(8)) }

// RandomName returns 26 random characters that fit in a key.
func RandomName() string { return nameEncoding.EncodeToString(RandomBytes(16)) }

const idAlphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// NewID returns a random id of 26 characters that sorts by the time now: 48 bits of milliseconds,
// then 80 random bits.
func NewID(now time.Time) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], uint64(now.UnixMilli())<<16)
	copy(b[6:], RandomBytes(10))
	var id [26]byte
	// 26 characters hold 130 bits: two zero bits and the 128.
	var acc uint32
	bits, at := 2, 0
	for _, c := range b {
		acc = acc<<8 | uint32(c)
		bits += 8
		for bits >= 5 {
			bits -= 5
			id[at] = idAlphabet[acc>>bits&31]
			at++
		}
	}
	return string(id[:])
}

// IsID reports whether text has the form of an id from NewID.
func IsID(text string) bool {
	return len(text) == 26 && text[0] <= '7' && strings.Trim(text, idAlphabet) == ""
}
