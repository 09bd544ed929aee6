package boltkv

import (
	"encoding/binary"
	"errors"
	"hash/crc32"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// The tree stores items in blocks, each under the key of its first item:
//
//	mark, 1 byte
//	checksum of the first key, the mark and the head, 4 bytes
//	length of the head, a varint
//	head, for each item:
//		unless it is the first one, the part of its key that the key before lacks: the number of
//		bytes they share, the number of others, and these
//		flags, 1 byte
//		version, a varint: the difference from the one before
//		expiry, 8 bytes, if it expires
//		checksum of its key and its plain value, 4 bytes
//		length of its value in the block, a varint
//	values
//
// A damaged value harms its own item, and if it is the first one, those packed with it. A damaged
// head is a damaged page.

const (
	blockMark = 0xe5
	headBegin = 1 + sumSize
	isPacked  = 2

	// blockSize is the largest size of a block in a page, unless it has one item. bbolt does not
	// split a page of up to four, so four must fit, even into the 90 % of a page that bbolt fills
	// when it compacts.
	blockSize   = 920
	blockHeader = 16 + headBegin + 2 // with the 16 bytes that bbolt adds
	itemHeader  = 14                 // about

	leastPacked = 16      // A shorter value is not worth the time.
	mostShared  = 2 << 10 // A larger first value is alone in its block.
)

var errBlock = errors.New("a block is damaged")

// entry is an item of a block.
type entry struct {
	key     []byte
	flags   byte
	version kv.Version
	expires int64
	sum     uint32
	stored  []byte // the value as in the block; nil: not packed yet
	plain   []byte // nil: not unpacked yet, or it cannot be
}

// newEntry returns the entry of it. A damaged item stays damaged.
func newEntry(key []byte, it item) entry {
	e := entry{key: key, version: it.version, expires: it.expires, plain: it.value}
	if e.plain == nil {
		e.plain = []byte{}
	}
	e.sum = sumOf(key, e.plain)
	if it.expires == 0 {
		e.flags = isLasting
	}
	if it.damaged != nil {
		e.sum = ^e.sum
	}
	return e
}

// unpack returns the plain value, or nil if it cannot be unpacked. A packed one is put into room if
// that is large enough.
func (e *entry) unpack(room, dictionary []byte) (plain []byte) {
	if e.flags&isPacked == 0 {
		return e.stored
	}
	if n, size := binary.Uvarint(e.stored); size > 0 && n <= kv.MaxValue {
		plain, _ = unpack(room, dictionary, e.stored[size:], int(n))
	}
	return plain
}

// pack sets the stored value: packed if that saves an eighth of it.
func (e *entry) pack(p *packer, b *block) {
	e.stored, e.flags = e.plain, e.flags&^isPacked
	if len(e.plain) < leastPacked {
		return
	}
	packed := p.pack(binary.AppendUvarint(b.free(), uint64(len(e.plain))), e.key, e.plain)
	if len(packed) <= len(e.plain)-len(e.plain)/8 {
		e.stored, e.flags = b.keep(packed), e.flags|isPacked
	}
}

// blockReader reads the entries of a block. It has their keys in room, so that it can stay on the
// stack.
type blockReader struct {
	entry
	at           int // entries read
	length       int // of the key
	first        entry
	head, values []byte
	room         [kv.MaxKey]byte
}

// open returns false if the head is damaged.
func (r *blockReader) open(first, buf []byte) bool {
	if len(buf) < headBegin || buf[0] != blockMark {
		return false
	}
	n, size := binary.Uvarint(buf[headBegin:])
	begin := headBegin + size
	if size <= 0 || n > uint64(len(buf)-begin) {
		return false
	}
	r.head, r.values = buf[begin:begin+int(n)], buf[begin+int(n):]
	r.at, r.version, r.first.key = 0, 0, first
	return binary.BigEndian.Uint32(buf[1:]) == headSum(first, buf[:begin], r.head)
}

func headSum(first, begin, head []byte) uint32 {
	sum := crc32.Update(sumOf(first, begin[:1]), castagnoli, begin[headBegin:])
	return crc32.Update(sum, castagnoli, head)
}

// must is open, and panics like bbolt on a damaged page.
func (r *blockReader) must(first, buf []byte) {
	if !r.open(first, buf) {
		panic(errBlock)
	}
}

func (r *blockReader) next() bool {
	if len(r.head) == 0 {
		return false
	}
	if r.at++; r.at == 1 {
		r.length = copy(r.room[:], r.first.key)
	} else {
		shared := int(r.number())
		r.length = shared + copy(r.room[shared:], r.bytes(r.number()))
	}
	r.flags = r.bytes(1)[0]
	more, size := binary.Varint(r.head)
	r.version, r.head = r.version+kv.Version(more), r.head[size:]
	r.expires = 0
	if r.flags&isLasting == 0 {
		r.expires = int64(binary.BigEndian.Uint64(r.bytes(8)))
	}
	r.sum = binary.BigEndian.Uint32(r.bytes(sumSize))
	n := r.number()
	r.stored, r.values, r.plain = r.values[:n:n], r.values[n:], nil
	if r.at == 1 {
		r.first.flags, r.first.stored = r.flags, r.stored
	}
	return true
}

// fullKey is valid until the next entry.
func (r *blockReader) fullKey() []byte { return r.room[:r.length] }

func (r *blockReader) number() uint64 {
	n, size := binary.Uvarint(r.head)
	r.head = r.head[size:]
	return n
}

func (r *blockReader) bytes(n uint64) (some []byte) {
	some, r.head = r.head[:n], r.head[n:]
	return some
}

// item returns the item of the current entry, whose key is key.
func (r *blockReader) item(key []byte) item {
	it := item{value: r.stored, version: r.version, expires: r.expires}
	if r.flags&isPacked != 0 {
		var room [mostShared + kv.MaxKey]byte
		dictionary := room[:0]
		if r.at > 1 {
			dictionary = append(dictionary, r.first.unpack(dictionary, r.first.key)...)
		}
		it.value, it.own = r.unpack(nil, append(dictionary, key...)), true
	}
	if it.value == nil || r.sum != sumOf(key, it.value) {
		return damagedItem(key, binary.BigEndian.AppendUint32(nil, r.sum), "its sum does not fit")
	}
	return it
}
