package pages

import "fmt"

// Walker is told what a walk comes to.
type Walker interface {
	// Item is one of a bucket. Key and value may be kept. Of the items that nothing leads
	// to, bucket is nil: it may be any.
	Item(bucket, key, value []byte)

	// Lost is a page that cannot be read, or only in part.
	Lost(page uint64, why string)
}

// deepest is more levels than a tree of any size has.
const deepest = 64

// Walk reads the buckets of the file, and the leaves that nothing leads to though they are
// not free: what led to them is damaged. If list is false, it does not ask the list of
// free pages: it reads what the tree leads to, and nothing else. It returns how many pages
// are free by the list, and part of the tree: one of the two is wrong.
func (f *File) Walk(to Walker, list bool) (contradictions int) {
	f.seen = newSet(f.end)
	w := &walk{File: f, to: to, list: list && f.free != nil}
	w.page(f.root, []byte{}, 0)
	if w.list {
		w.orphans()
	}
	return w.contradictions
}

type walk struct {
	*File
	to             Walker
	list           bool
	contradictions int
}

// page reads a page of a bucket's tree, and what it leads to. Of the tree of buckets, the
// bucket has no name.
func (w *walk) page(id uint64, bucket []byte, depth int) {
	if id < w.end && w.free.has(id) {
		w.contradictions++
		if w.list {
			w.to.Lost(id, "the tree leads to it, but it is free")
			return
		}
	}
	p, why := w.read(id)
	if depth > deepest {
		why, p.data = "it is too deep", nil
	}
	if why != "" {
		w.to.Lost(id, why)
	}
	if p.data == nil {
		return
	}
	if p.id != id {
		w.to.Lost(id, fmt.Sprintf("it says that it is page %d", p.id))
		if w.isAnother(p, id) {
			return
		}
	}
	w.parts(p, id, bucket, depth)
}

// parts reads the elements of p, which is at id, or part of the page there.
func (w *walk) parts(p page, id uint64, bucket []byte, depth int) {
	if p.flags != branchPage && p.flags != leafPage {
		w.to.Lost(id, fmt.Sprintf("it is of kind %#x", p.flags))
		bucket = nil
	}
	all, bad := p.elements()
	w.cover(p, id, all)
	if bad > 0 {
		w.to.Lost(id, fmt.Sprintf("%d of its %d elements cannot be read", bad, bad+len(all)))
	}
	for _, e := range all {
		switch {
		case p.flags == branchPage:
			w.page(e.child, bucket, depth+1)
		case e.flags&isBucket != 0:
			w.bucket(e, id, depth)
		default:
			w.to.Item(bucket, e.key, e.value)
		}
	}
}

// bucket reads the bucket that e holds: where its tree begins, or all of it if it is small.
func (w *walk) bucket(e element, id uint64, depth int) {
	if len(e.value) < 16 {
		w.to.Lost(id, fmt.Sprintf("the bucket %.20q in it is cut off", e.key))
		return
	}
	if root := order.Uint64(e.value); root != 0 {
		w.page(root, e.key, depth+1)
		return
	}
	data := e.value[16:]
	if len(data) < headerSize || depth > deepest {
		w.to.Lost(id, fmt.Sprintf("the bucket %.20q in it cannot be read", e.key))
		return
	}
	p := page{flags: order.Uint16(data[8:]), count: order.Uint16(data[10:]), data: data[:len(data):len(data)]}
	w.parts(p, id, e.key, depth+1)
}

// orphans reads the leaves that are neither free nor read yet.
func (w *walk) orphans() {
	for id := uint64(2); id < w.end; id++ {
		if w.free.has(id) || w.seen.has(id) || id == w.freelist {
			continue
		}
		p, why := w.read(id)
		if why != "" || p.id != id || p.flags != leafPage {
			continue
		}
		all, _ := p.elements()
		w.cover(p, id, all)
		for _, e := range all {
			if e.flags&isBucket == 0 {
				w.to.Item(nil, e.key, e.value)
			}
		}
	}
}
