// Package pages reads what is left of a damaged file of bbolt, page by page. It checks
// each length and each number before it uses them, so that no bytes make it panic, go
// round in circles, or take memory without bound.
package pages

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
)

// File is a file of bbolt.
type File struct {
	from io.ReaderAt
	meta
	free set // the pages that hold nothing; nil if their list cannot be read
	seen set // the pages that were read since the last walk began
}

// meta is what one of the two headers of a file says. The one of the higher transaction
// counts.
type meta struct {
	pageSize    int64
	root        uint64 // where the buckets are
	freelist    uint64
	end         uint64 // the number of pages
	transaction uint64
}

// ErrHeaders says that neither header can be read, so nothing tells where the tree begins.
var ErrHeaders = errors.New("neither of its two headers is whole")

const (
	metaSize  = 64
	metaMagic = 0xED0CDAED

	noFreelist = ^uint64(0)
)

var order = binary.NativeEndian

// Open reads the headers of a file and its list of free pages. Of the list, why says what
// is wrong with it, if anything.
func Open(from io.ReaderAt, size int64) (f *File, why string, err error) {
	f = &File{from: from}
	found := false
	for _, at := range []int64{0, 4096, 8192, 16384, 32768, 65536} {
		m, ok := readMeta(from, at)
		if !ok || at != 0 && m.pageSize != at || found && m.transaction < f.transaction {
			continue
		}
		f.meta, found = m, true
	}
	if !found {
		return nil, "", ErrHeaders
	}
	f.end = min(f.end, uint64(size/f.pageSize))
	f.seen = newSet(f.end)
	why = f.readFree()
	return f, why, nil
}

func readMeta(from io.ReaderAt, at int64) (m meta, ok bool) {
	var buf [headerSize + metaSize]byte
	if _, err := from.ReadAt(buf[:], at); err != nil {
		return m, false
	}
	data := buf[headerSize:]
	sum := fnv.New64a()
	_, _ = sum.Write(data[:56])
	if order.Uint32(data) != metaMagic || order.Uint64(data[56:]) != sum.Sum64() {
		return m, false
	}
	m = meta{
		pageSize:    int64(order.Uint32(data[8:])),
		root:        order.Uint64(data[16:]),
		freelist:    order.Uint64(data[32:]),
		end:         order.Uint64(data[40:]),
		transaction: order.Uint64(data[48:]),
	}
	return m, m.pageSize >= 1024 && m.pageSize <= 1<<16
}

// readFree reads the list of free pages.
func (f *File) readFree() (why string) {
	if f.freelist == noFreelist {
		return "it was not written"
	}
	p, why := f.read(f.freelist)
	if why != "" {
		return why
	}
	if p.flags != freelistPage {
		return "its page is of another kind"
	}
	n, ids := uint64(p.count), p.data[headerSize:]
	if n == 0xffff && len(ids) >= 8 {
		n, ids = order.Uint64(ids), ids[8:]
	}
	if n > uint64(len(ids))/8 {
		return "it goes on behind its page"
	}
	free, last := newSet(f.end), uint64(1)
	for i := range n {
		id := order.Uint64(ids[8*i:])
		if id <= last || id >= f.end {
			return fmt.Sprintf("it leads from page %d to %d", last, id)
		}
		free.add(id)
		last = id
	}
	f.free = free
	return ""
}

// set is a set of pages.
type set []uint64

func newSet(end uint64) set { return make(set, end/64+1) }

func (s set) add(id uint64) { s[id/64] |= 1 << (id % 64) }

func (s set) has(id uint64) bool { return s != nil && s[id/64]&(1<<(id%64)) != 0 }
