package timeline

import (
	"encoding/binary"
	"fmt"

	"github.com/ringtree/ringtree/kvmodel"
)

// A cut is a place between two entries of a lane. Above it are the entries with
// a higher stamp, and those with its stamp and a body that is not lower.
type cut struct {
	stamp int64
	body  string
}

// under returns the cut just below e.
func under(e entry) cut { return cut{e.stamp, string(e.body)} }

// over returns the cut just above e.
func over(e entry) cut { return cut{e.stamp, string(e.body) + "\x00"} }

// isOver tells whether e is below c.
func (c cut) isOver(e entry) bool {
	return e.stamp < c.stamp || e.stamp == c.stamp && string(e.body) < c.body
}

// last returns the highest stamp that can be below c.
func (c cut) last() int64 {
	if c.body == "" {
		return c.stamp - 1
	}
	return c.stamp
}

// A place is what a cursor stands for: a cut in each lane, and which way to go
// on from there. The mark of a Head stands behind it.
type place struct {
	up   bool
	cuts []cut
	mark []byte
}

func (p place) encode() []byte {
	way := byte('d')
	if p.up {
		way = 'u'
	}
	b := []byte{way}
	for _, c := range p.cuts {
		b = binary.AppendUvarint(b, uint64(c.stamp))
		b = binary.AppendUvarint(b, uint64(len(c.body)))
		b = append(b, c.body...)
	}
	return append(b, p.mark...)
}

// decodePlace returns the place in b, which has a cut for each of n lanes.
func decodePlace(b []byte, n int) (place, error) {
	wrong := fmt.Errorf("%w: a place of another form", kvmodel.ErrBadCursor)
	if len(b) == 0 || b[0] != 'd' && b[0] != 'u' {
		return place{}, wrong
	}
	p := place{up: b[0] == 'u', cuts: make([]cut, n)}
	b = b[1:]
	for i := range p.cuts {
		stamp, a := binary.Uvarint(b)
		if a <= 0 || stamp > lastStamp+1 {
			return place{}, wrong
		}
		size, c := binary.Uvarint(b[a:])
		if c <= 0 || size > uint64(len(b)-a-c) {
			return place{}, wrong
		}
		body := b[a+c : a+c+int(size)]
		p.cuts[i] = cut{int64(stamp), string(body)}
		b = b[a+c+int(size):]
	}
	p.mark = b
	return p, nil
}
