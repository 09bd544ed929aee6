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

// item is the value of a key. Its encoding in the log is a mark, 8 bytes of version, 8 bytes of
// expiry unless the mark says that it never expires, 4 bytes of checksum and the value; numbers are
// big-endian. The checksum covers the key and everything else.
type item struct {
	value   []byte
	own     bool // value is this item's own memory
	stays   bool // value is not changed or reused, as in a table
	version kv.Version
	expires int64 // nanoseconds since 1970; 0: never

	damaged error // the other fields are unknown; version is made up
}

// The mark of an item is 0xe4 with this bit.
const (
	itemMark   = 0xe4
	isLasting  = 1
	versionEnd = 1 + 8
	expiryEnd  = versionEnd + 8
	sumSize    = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode encodes it, with more at the end of its value.
func (it *item) encode(key string, more []byte) []byte {
	buf := make([]byte, versionEnd, expiryEnd+sumSize+len(it.value)+len(more))
	buf[0] = itemMark
	binary.BigEndian.PutUint64(buf[1:], uint64(it.version))
	if it.expires == 0 {
		buf[0] |= isLasting
	} else {
		buf = binary.BigEndian.AppendUint64(buf, uint64(it.expires))
	}
	head := len(buf)
	buf = append(append(append(buf, make([]byte, sumSize)...), it.value...), more...)
	sum := crc32.Update(sumOf(bytesOf(key), buf[:head]), castagnoli, buf[head+sumSize:])
	binary.BigEndian.PutUint32(buf[head:], sum)
	return buf
}

// bytesOf returns the bytes of key. They must not be changed.
func bytesOf(key string) []byte { return unsafe.Slice(unsafe.StringData(key), len(key)) }

func sumOf(key, head []byte) uint32 {
	return crc32.Update(crc32.Update(0, castagnoli, key), castagnoli, head)
}

// decode returns the item in buf. The value shares buf's memory.
func decode(key, buf []byte) item {
	end := versionEnd
	if len(buf) > 0 && buf[0]&isLasting == 0 {
		end = expiryEnd
	}
	if len(buf) < end+sumSize || buf[0]&^isLasting != itemMark {
		return damagedItem(key, buf, "it is not an item")
	}
	it := item{version: kv.Version(binary.BigEndian.Uint64(buf[1:])), value: buf[end+sumSize:]}
	if binary.BigEndian.Uint32(buf[end:]) != crc32.Update(sumOf(key, buf[:end]), castagnoli, it.value) {
		return damagedItem(key, buf, "its sum does not fit")
	}
	if end == expiryEnd {
		it.expires = int64(binary.BigEndian.Uint64(buf[versionEnd:]))
	}
	return it
}

// take returns the value as memory of the caller's own, or shared.
func (it *item) take(shared bool) []byte {
	if it.own || shared && it.stays {
		return it.value
	}
	return append([]byte{}, it.value...)
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
