package boltkv

import (
	"bytes"
	"testing"
)

func TestItem_ReadsAsItWasAndEveryFlippedBitIsNoticed(t *testing.T) {
	for _, it := range []item{{version: 1 << 60, value: []byte("value")}, {version: 7, expires: 1 << 60}} {
		buf := it.encode("key", nil)
		if got := decode([]byte("key"), buf); got.damaged != nil || got.version != it.version || got.expires != it.expires || string(got.value) != string(it.value) {
			t.Errorf("got %+v, want %+v", got, it)
		}
		if got := decode([]byte("kez"), buf); got.damaged == nil {
			t.Errorf("%x is read under another key", buf)
		}
		for i := range len(buf) * 8 {
			flipped := bytes.Clone(buf)
			flipped[i/8] ^= 1 << (i % 8)
			if got := decode([]byte("key"), flipped); got.damaged == nil {
				t.Errorf("bit %d of %x flipped: %+v", i, buf, got)
			}
		}
		for n := range buf {
			if got := decode([]byte("key"), buf[:n]); got.damaged == nil {
				t.Errorf("the first %d bytes of %x: %+v", n, buf, got)
			}
		}
	}
}
