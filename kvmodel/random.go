package kvmodel

import (
	"crypto/rand"
	"encoding/binary"
	"time"
)

// All chance comes from crypto/rand, so that a simulation can seed it.

// randomNumber returns a number that nobody else has.
func randomNumber() uint64 {
	var b [8]byte
	// It never fails: the runtime ends the program rather.
	_, _ = rand.Read(b[:])
	return binary.BigEndian.Uint64(b[:])
}

// jitter returns a duration from 0 to limit.
func jitter(limit time.Duration) time.Duration {
	return time.Duration(randomNumber() % uint64(limit+1))
}
