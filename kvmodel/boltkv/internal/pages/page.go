package pages

import (
	"bytes"
	"fmt"
	"math/bits"
)

// A page begins with its number, its kind, how many elements it has, and over how many
// more pages it goes on. Then come the elements, all of one size, and then their keys and
// values. An element says where they begin, counted from itself.
const (
	headerSize  = 16
	elementSize = 16

	branchPage   = 0x01
	leafPage     = 0x02
	freelistPage = 0x10

	isBucket = 0x01 // an element of a leaf holds a bucket

	maxPage = 1 << 30 // bytes
)

type page struct {
	id           uint64 // what it says
	flags, count uint16
	data         []byte
}

// read reads the page at id. If something is wrong with it, why says so, and it may have no
// data.
func (f *File) read(id uint64) (p page, why string) {
	if id < 2 || id >= f.end {
		return p, fmt.Sprintf("there is no page %d", id)
	}
	var header [headerSize]byte
	if _, err := f.from.ReadAt(header[:], int64(id)*f.pageSize); err != nil {
		return p, err.Error()
	}
	if f.seen.has(id) {
		return p, "it was read before"
	}
	f.seen.add(id)
	p.id, p.flags, p.count = order.Uint64(header[:]), order.Uint16(header[8:]), order.Uint16(header[10:])
	more := uint64(order.Uint32(header[12:]))
	length := (1 + int64(more)) * f.pageSize
	if id+more >= f.end || length > maxPage {
		why = fmt.Sprintf("it goes on over %d pages", more)
		length = f.pageSize
	}
	data := make([]byte, length)
	if _, err := f.from.ReadAt(data, int64(id)*f.pageSize); err != nil {
		return p, err.Error()
	}
	p.data = data
	return p, why
}

// isAnother reports whether p, which is at id and says that it is another page, may be that
// one, or one of another time. If only a bit of its number was flipped, it is not.
func (f *File) isAnother(p page, id uint64) bool {
	switch {
	case bits.OnesCount64(p.id^id) != 1:
		return true
	case p.id >= f.end:
		return false
	}
	other := make([]byte, len(p.data))
	n, _ := f.from.ReadAt(other, int64(p.id)*f.pageSize)
	return bytes.Equal(other[:n], p.data[:n])
}

// cover notes that the pages over which p goes on, which is at id, have no headers: they
// hold what its elements say.
func (f *File) cover(p page, id uint64, all []element) {
	length := 0
	for _, e := range all {
		length = max(length, cap(p.data)-cap(e.value)+len(e.value))
	}
	for i := uint64(1); i < uint64((length+int(f.pageSize)-1)/int(f.pageSize)); i++ {
		f.seen.add(id + i)
	}
}

// element is one of a page: in a branch a key and where it leads, in a leaf a key and its
// value.
type element struct {
	flags      uint32
	child      uint64
	key, value []byte
}

// elements returns the elements of a leaf or a branch, and how many cannot be read.
func (p page) elements() (all []element, bad int) {
	for i := range p.size() {
		if e, ok := p.element(i); ok {
			all = append(all, e)
		} else {
			bad++
		}
	}
	return all, bad
}

// size returns how many elements p has. What the first element holds begins where the
// elements end, so that a count that is too small hides none.
func (p page) size() int {
	n := int(p.count)
	if first, ok := p.element(0); ok && n > 0 {
		n = max(n, (cap(p.data)-cap(first.key)-headerSize)/elementSize)
	}
	return min(n, (len(p.data)-headerSize)/elementSize)
}

func (p page) element(i int) (e element, ok bool) {
	at := headerSize + i*elementSize
	if at+elementSize > len(p.data) {
		return e, false
	}
	head, from := p.data[at:], uint64(at)
	var keySize, valueSize uint64
	if p.flags == branchPage {
		from += uint64(order.Uint32(head))
		keySize, e.child = uint64(order.Uint32(head[4:])), order.Uint64(head[8:])
	} else {
		e.flags = order.Uint32(head)
		from += uint64(order.Uint32(head[4:]))
		keySize, valueSize = uint64(order.Uint32(head[8:])), uint64(order.Uint32(head[12:]))
	}
	if from+keySize+valueSize > uint64(len(p.data)) {
		return e, false
	}
	e.key = p.data[from : from+keySize]
	e.value = p.data[from+keySize:][:valueSize]
	return e, true
}
