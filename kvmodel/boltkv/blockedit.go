package boltkv

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// blockRoom is enough for the values of most blocks, unpacked and packed.
const blockRoom = 32 << 10

// block is a block that is being changed.
type block struct {
	first     []byte // its key in the tree; nil: it is new
	isRead    bool
	from, end []byte // the range of its keys; nil: without a bound
	entries   []entry
	keys      []byte // memory for the keys of entries
	shared    []byte // the first value when it was read, with which the others were packed
	isShared  bool   // it still is the first value
	changed   bool

	room       []byte // memory for values
	dictionary []byte // of the last value unpacked

	added int
	size  int // in the tree
}

func (b *block) covers(key []byte) bool {
	return b.isRead && bytes.Compare(key, b.from) >= 0 && (b.end == nil || bytes.Compare(key, b.end) < 0)
}

// read sets the entries of b to those in buf, if b is in the tree.
func (b *block) read(buf []byte) {
	b.entries, b.keys, b.size = b.entries[:0], b.keys[:0], len(b.first)+len(buf)
	if b.isRead = true; b.first == nil {
		return
	}
	r := new(blockReader)
	for r.must(b.first, buf); r.next(); {
		e := r.entry
		b.keys = append(b.keys, r.fullKey()...)
		e.key = b.keys[len(b.keys)-len(r.fullKey()):]
		b.entries = append(b.entries, e)
	}
	b.shared = nil
	if len(b.entries) > 0 {
		first := &b.entries[0]
		first.plain = first.unpack(nil, first.key)
		b.shared = first.plain
	}
	b.isShared = true
}

func (b *block) find(key []byte) (i int, found bool) {
	return slices.BinarySearchFunc(b.entries, key, func(e entry, key []byte) int { return bytes.Compare(e.key, key) })
}

func (b *block) put(e entry) {
	i, found := b.find(e.key)
	if found {
		b.entries[i] = e
	} else {
		b.entries = slices.Insert(b.entries, i, e)
		b.added++
	}
	b.changed, b.isShared = true, b.isShared && i > 0
}

func (b *block) remove(i int) {
	b.entries = slices.Delete(b.entries, i, i+1)
	b.changed, b.isShared = true, b.isShared && i > 0
}

// plain unpacks e, if it can.
func (b *block) plain(e *entry) []byte {
	if e.plain == nil {
		b.dictionary = append(append(b.dictionary[:0], b.shared...), e.key...)
		e.plain = b.keep(e.unpack(b.free(), b.dictionary))
	}
	return e.plain
}

// free returns the free part of the memory for values, to append to, and keep takes what was
// appended there, if it had room.
func (b *block) free() []byte { return b.room[len(b.room):] }

func (b *block) keep(value []byte) []byte {
	if n := len(value); n > 0 && n <= cap(b.room)-len(b.room) && &value[0] == &b.room[:len(b.room)+1][len(b.room)] {
		b.room = b.room[:len(b.room)+n]
		return value[:n:n]
	}
	return value
}

// split divides the entries into blocks, and calls f for each. If most of them are new, they are a
// run of keys in order, which leaves no room. Others come at random, and the parts are equal.
func (b *block) split(p *packer, f func(first, buf []byte)) {
	isRun := b.added > len(b.entries)*3/4
	for rest, isShared := b.entries, b.isShared; len(rest) > 0; isShared = false {
		limit := blockSize
		if !isRun {
			limit = blockSize * 8
		}
		buf, n := b.build(p, rest, isShared, limit)
		if size := 16 + len(rest[0].key) + len(buf); !isRun && n > 1 && size > blockSize {
			parts := (size-1)/blockSize + 1
			buf, n = b.build(p, rest, true, size/parts+itemHeader)
		}
		f(rest[0].key, buf)
		rest = rest[n:]
	}
}

// build encodes the first n entries, at most limit bytes but at least one. If isShared, their stored
// values were packed with the first one of these.
func (b *block) build(p *packer, entries []entry, isShared bool, limit int) (buf []byte, n int) {
	head, values := p.room[0][:0], p.room[1][:0]
	var version kv.Version
	for i, ready := 0, false; i < len(entries); i++ {
		e := &entries[i]
		if (!isShared || e.stored == nil) && b.plain(e) != nil {
			if i == 0 {
				p.share(nil)
			} else if !ready {
				p.share(entries[0].plain)
				ready = true
			}
			e.pack(p, b)
		}
		if i > 0 {
			shared := common(entries[i-1].key, e.key)
			size := blockHeader + len(entries[0].key) + len(head) + len(values)
			if size+itemHeader+len(e.key)-shared+len(e.stored) > limit || len(entries[0].plain) > mostShared {
				break
			}
			head = binary.AppendUvarint(head, uint64(shared))
			head = binary.AppendUvarint(head, uint64(len(e.key)-shared))
			head = append(head, e.key[shared:]...)
		}
		head = append(head, e.flags)
		head = binary.AppendVarint(head, int64(e.version-version))
		version = e.version
		if e.flags&isLasting == 0 {
			head = binary.BigEndian.AppendUint64(head, uint64(e.expires))
		}
		head = binary.BigEndian.AppendUint32(head, e.sum)
		head = binary.AppendUvarint(head, uint64(len(e.stored)))
		values = append(values, e.stored...)
		n++
	}
	p.room[0], p.room[1] = head, values
	return encodeBlock(entries[0].key, head, values), n
}

func encodeBlock(first, head, values []byte) []byte {
	buf := make([]byte, headBegin, headBegin+binary.MaxVarintLen32+len(head)+len(values))
	buf[0] = blockMark
	buf = binary.AppendUvarint(buf, uint64(len(head)))
	binary.BigEndian.PutUint32(buf[1:], headSum(first, buf, head))
	return append(append(buf, head...), values...)
}

func common(a, b []byte) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
