package timeline

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel"
)

// A cut is a position in a lane, below entries with a higher stamp, or an equal one and an equal or
// higher body.
type cut struct {
	stamp int64
	body  string
}

func over(e entry) cut { return cut{e.stamp, string(e.body) + "\x00"} }

func (c cut) isOver(e entry) bool {
	return e.stamp < c.stamp || e.stamp == c.stamp && string(e.body) < c.body
}

func (c cut) lastNumber() int64 {
	if c.body == "" {
		return c.stamp - 1
	}
	return c.stamp
}

type position struct {
	up   bool
	cuts []cut  // one in each lane
	mark []byte // of a Head, or for an archive
}

func (p position) encode() []byte {
	way := byte('d')
	if p.up {
		way = 'u'
	}
	size := 1 + len(p.mark)
	for _, c := range p.cuts {
		size += 2*binary.MaxVarintLen64 + len(c.body)
	}
	b := append(make([]byte, 0, size), way)
	for _, c := range p.cuts {
		b = binary.AppendUvarint(b, uint64(c.stamp))
		b = wire.AppendText(b, c.body)
	}
	return append(b, p.mark...)
}

func parsePosition(name, cursor string, n int) (position, error) {
	b, err := plug.ParseCursor(name, cursor)
	if err != nil {
		return position{}, err
	}
	r := wire.Reader{Rest: b}
	way := r.Byte()
	p := position{up: way == 'u', cuts: make([]cut, n)}
	for i := range p.cuts {
		p.cuts[i].stamp = int64(r.Number("stamp", lastStamp+1))
		p.cuts[i].body = r.Text("body")
	}
	if r.Err != nil || way != 'd' && way != 'u' {
		return position{}, otherForm(name)
	}
	p.mark = r.Rest
	return p, nil
}

func otherForm(name string) error {
	index, _, _ := strings.Cut(name, " ")
	return fmt.Errorf("%s: %w: it is not a position in this timeline", index, kvmodel.ErrBadCursor)
}
