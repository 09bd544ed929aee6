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

// item is the value of a key. Its encoding is a mark, 8 bytes of version, 8 bytes of expiry unless
// the mark says that it never expires, 4 bytes of checksum and the value; numbers are big-endian.
// The checksum covers the key and everything else. A packed value is its length, a varint, and a
// block: see pack.go.
type item struct {
	value   []byte
	packed  bool // value is packed
	own     bool // value is this item's own memory
	stays   bool // value is not changed or reused, as in a table
	version kv.Version
	expires int64 // nanoseconds since 1970; 0: never

	damaged error // the other fields are unknown; version is made up
}

// The mark of an item is 0xe4 with these bits.
const (
	itemMark    = 0xe4
	isLasting   = 1
	isPacked    = 2
	itemFlags   = isLasting | isPacked
	versionEnd  = 1 + 8
	expiryEnd   = versionEnd + 8
	sumSize     = 4
	leastPacked = 32 // A shorter value is not worth the time.
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode encodes it, with more at the end of its value, which then must not be packed.
func (it *item) encode(key string, more []byte) []byte {
	buf := make([]byte, versionEnd, expiryEnd+sumSize+len(it.value)+len(more))
	buf[0] = itemMark
	binary.BigEndian.PutUint64(buf[1:], uint64(it.version))
	if it.expires == 0 {
		buf[0] |= isLasting
	} else {
		buf = binary.BigEndian.AppendUint64(buf, uint64(it.expires))
	}
	if it.packed {
		buf[0] |= isPacked
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

// decode returns the item in buf, perhaps packed. The value shares buf's memory.
func decode(key, buf []byte) item {
	end := versionEnd
	if len(buf) > 0 && buf[0]&isLasting == 0 {
		end = expiryEnd
	}
	if len(buf) < end+sumSize || buf[0]&^itemFlags != itemMark {
		return damagedItem(key, buf, "it is not an item")
	}
	it := item{version: kv.Version(binary.BigEndian.Uint64(buf[1:])), value: buf[end+sumSize:], packed: buf[0]&isPacked != 0}
	if binary.BigEndian.Uint32(buf[end:]) != crc32.Update(sumOf(key, buf[:end]), castagnoli, it.value) {
		return damagedItem(key, buf, "its sum does not fit")
	}
	if end == expiryEnd {
		it.expires = int64(binary.BigEndian.Uint64(buf[versionEnd:]))
	}
	return it
}

// pack packs the value with p if that saves an eighth of it, and reports whether it did.
func (it *item) pack(p *packer, key []byte) bool {
	if it.packed || it.damaged != nil || len(it.value) < leastPacked {
		return false
	}
	packed := p.pack(binary.AppendUvarint(p.room[:0], uint64(len(it.value))), key, it.value)
	p.room = packed
	if len(packed) > len(it.value)-len(it.value)/8 {
		return false
	}
	it.value, it.packed = packed, true
	return true
}

// unpack returns it with a plain value.
func (it item) unpack(key []byte) item {
	if !it.packed {
		return it
	}
	n, size := binary.Uvarint(it.value)
	if size > 0 && n <= kv.MaxValue {
		var ok bool
		if it.value, ok = unpack(key, it.value[size:], int(n)); ok {
			it.packed, it.own = false, true
			return it
		}
	}
	return damagedItem(key, nil, "it cannot be unpacked")
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
