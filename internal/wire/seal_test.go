package wire

import (
	"bytes"
	"errors"
	"testing"

	"github.com/ringtree/ringtree/kvmodel/codec"
)

func TestUnseal_MendsAnyOneBit(t *testing.T) {
	body := []byte("what is sealed")
	sealed := Seal(bytes.Clone(body))
	for at := range 8 * len(sealed) {
		data := bytes.Clone(sealed)
		data[at/8] ^= 1 << (at % 8)
		if got, err := Unseal(data); err != nil || !bytes.Equal(got, body) {
			t.Errorf("bit %d: got %q, %v; want %q", at, got, err, body)
		}
	}
}

func TestUnseal_SaysSoIfMoreHasChanged(t *testing.T) {
	data := Seal([]byte("what is sealed"))
	data[2] ^= 0x11
	if _, err := Unseal(data); !errors.Is(err, codec.ErrCorrupt) {
		t.Errorf("got %v, want an ErrCorrupt", err)
	}
}

func TestUnseal_WhatHasNoSealIsDamaged(t *testing.T) {
	for _, data := range []string{"", "short", "what nothing has sealed"} {
		if _, err := Unseal([]byte(data)); !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("%q: got %v, want an ErrCorrupt", data, err)
		}
	}
}
