package boltkv

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"unsafe"

	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/codec"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// item is the value of a key. Its encoding is a mark, 8 bytes of version, 8 bytes of expiry, 4
// bytes of checksum and the value; numbers are big-endian. The checksum covers the key and
// everything else.
type item struct {
	value   []byte
	version kv.Version
	expires int64 // nanoseconds since 1970; 0: never

	damaged error // the other fields are unknown; version is made up
}

const (
	itemMark   = 0xe4
	itemHeader = 1 + 8 + 8 + 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode encodes it, with more at the end of its value.
func (it *item) encode(key string, more []byte) []byte {
	buf := make([]byte, itemHeader, itemHeader+len(it.value)+len(more))
	buf[0] = itemMark
	binary.BigEndian.PutUint64(buf[1:], uint64(it.version))
	binary.BigEndian.PutUint64(buf[9:], uint64(it.expires))
	buf = append(append(buf, it.value...), more...)
	binary.BigEndian.PutUint32(buf[17:], sumOf(bytesOf(key), buf))
	return buf
}

// bytesOf returns the bytes of key. They must not be changed.
func bytesOf(key string) []byte { return unsafe.Slice(unsafe.StringData(key), len(key)) }

func sumOf(key, buf []byte) uint32 {
	sum := crc32.Update(0, castagnoli, key)
	sum = crc32.Update(sum, castagnoli, buf[:17])
	return crc32.Update(sum, castagnoli, buf[itemHeader:])
}

// decode returns the item in buf. The value shares buf's memory.
func decode(key, buf []byte) item {
	if len(buf) < itemHeader || buf[0] != itemMark || binary.BigEndian.Uint32(buf[17:]) != sumOf(key, buf) {
		return damagedItem(key, buf, "its sum does not fit")
	}
	return item{
		version: kv.Version(binary.BigEndian.Uint64(buf[1:])),
		expires: int64(binary.BigEndian.Uint64(buf[9:])),
		value:   buf[itemHeader:],
	}
}

// damagedItem makes up a version, with which a reader can replace the item.
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
