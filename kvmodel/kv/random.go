package kv

import (
	"crypto/rand"
	"encoding/binary"
	"time"
)

// All chance comes from crypto/rand, so that a simulation can seed it.

// randomNumber returns a number that nobody else has.
func Random() uint64 {
	var b [8]byte
	// It never fails: the runtime ends the program rather.
	_, _ = rand.Read(b[:])
	return binary.BigEndian.Uint64(b[:])
}

// jitter returns a duration from 0 to limit.
func Jitter(limit time.Duration) time.Duration {
	return time.Duration(Random() % uint64(limit+1))
}

const idAlphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// NewID returns a random id of 26 characters that sorts by the time now: 48
// bits of milliseconds, then 80 random ones.
func NewID(now time.Time) string {
	var b [16]byte
	// It never fails: the runtime ends the program rather.
	_, _ = rand.Read(b[6:])
	ms := uint64(now.UnixMilli())
	for i := range 6 {
		b[i] = byte(ms >> (40 - 8*i))
	}
	var id [26]byte
	// 130 bits hold the 128, the first two being 0.
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
