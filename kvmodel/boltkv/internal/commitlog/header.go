package commitlog

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

type Header struct {
	Store [16]byte
	Epoch uint64 // one higher than in the previous log
	First uint64 // number of its first record
}

// In a file the header has a block of its own, so that no write of a record touches its sector.
const (
	magic      = "ringtree log v1\n"
	headerSize = 64
	blockSize  = 4096
)

// encode returns h after magic, with random bytes and a checksum, which seeds those of the records.
func (h *Header) encode(magic string) []byte {
	buf := make([]byte, headerSize)
	copy(buf, magic)
	copy(buf[16:], h.Store[:])
	binary.BigEndian.PutUint64(buf[32:], h.Epoch)
	binary.BigEndian.PutUint64(buf[40:], h.First)
	_, _ = rand.Read(buf[48:60])
	binary.BigEndian.PutUint32(buf[60:], crc32.Checksum(buf[:60], castagnoli))
	return buf
}

func decodeHeader(buf []byte, magic string) (h Header, sum uint32, err error) {
	sum = binary.BigEndian.Uint32(buf[60:])
	switch {
	case string(buf[:len(magic)]) != magic:
		return h, 0, fmt.Errorf("%w: it does not begin with %q", ErrDamaged, magic)
	case sum != crc32.Checksum(buf[:60], castagnoli):
		return h, 0, fmt.Errorf("%w: the checksum of its header does not match", ErrDamaged)
	}
	copy(h.Store[:], buf[16:])
	h.Epoch = binary.BigEndian.Uint64(buf[32:])
	h.First = binary.BigEndian.Uint64(buf[40:])
	return h, sum, nil
}
