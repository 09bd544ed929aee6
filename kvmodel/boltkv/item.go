package boltkv

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/codec"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// item is the value of a key. Its encoding is a mark, 8 bytes of version, 8 bytes of expiry unless
// the mark says that it never expires, 4 bytes of checksum and the value; numbers are big-endian.
// The checksum covers the key and everything else.
type item struct {
	value   []byte
	version kv.Version
	expires int64 // nanoseconds since 1970; 0 means never

	damaged error // not nil: the other fields are unknown, and version is made up
}

const (
	expiringMark = 0xe4
	lastingMark  = 0xe5

	versionEnd = 1 + 8
	expiryEnd  = versionEnd + 8
	sumSize    = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (it *item) encode(key string) []byte {
	buf := make([]byte, versionEnd, expiryEnd+sumSize+len(it.value))
	buf[0] = lastingMark
	binary.BigEndian.PutUint64(buf[1:], uint64(it.version))
	if it.expires != 0 {
		buf[0] = expiringMark
		buf = binary.BigEndian.AppendUint64(buf, uint64(it.expires))
	}
	sum := crc32.Update(sumOf(key, buf), castagnoli, it.value)
	return append(binary.BigEndian.AppendUint32(buf, sum), it.value...)
}

func sumOf[K string | []byte](key K, head []byte) uint32 {
	return crc32.Update(crc32.Update(0, castagnoli, []byte(key)), castagnoli, head)
}

// decode returns the item in buf. The value shares buf's memory.
func decode(key, buf []byte) item {
	head := headOf(buf)
	if head == nil {
		return damagedItem(key, buf, "it is no item")
	}
	value := buf[len(head)+sumSize:]
	if binary.BigEndian.Uint32(buf[len(head):]) != crc32.Update(sumOf(key, head), castagnoli, value) {
		return damagedItem(key, buf, "its sum does not fit")
	}
	it := item{version: kv.Version(binary.BigEndian.Uint64(head[1:])), value: value}
	if len(head) == expiryEnd {
		it.expires = int64(binary.BigEndian.Uint64(head[versionEnd:]))
	}
	return it
}

// headOf returns the part of an encoded item before its checksum, nil if it is cut off or has
// another mark.
func headOf(buf []byte) []byte {
	switch {
	case len(buf) >= versionEnd+sumSize && buf[0] == lastingMark:
		return buf[:versionEnd]
	case len(buf) >= expiryEnd+sumSize && buf[0] == expiringMark:
		return buf[:expiryEnd]
	}
	return nil
}

// damagedItem returns a placeholder for a damaged item. Its version is made up, so that a reader
// can replace it.
func damagedItem(key, buf []byte, what string) item {
	version := kv.Version(1<<63 | uint64(crc32.Checksum(buf, castagnoli)))
	return item{version: version, damaged: wire.Corrupt(string(key), fmt.Errorf("%w: %s", codec.ErrCorrupt, what))}
}

func (it *item) hasExpired(now int64) bool { return it.expires != 0 && it.expires <= now }

func expiryKey(expires int64, key []byte) []byte {
	buf := make([]byte, 0, 8+len(key))
	buf = binary.BigEndian.AppendUint64(buf, uint64(expires))
	return append(buf, key...)
}

func splitExpiryKey(buf []byte) (expires int64, key []byte) {
	return int64(binary.BigEndian.Uint64(buf)), buf[8:]
}
