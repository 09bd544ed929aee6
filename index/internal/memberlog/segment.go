package memberlog

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel"
)

// The value of a segment is a head of nine bytes, the base and the tail. The base
// is what the segment was made with, each member once, in the order of positions;
// the head has its length and checksum. The tail is what was appended since, and
// what the segment was made with before it was confirmed (see [Logs.Confirm]), each
// record with a checksum of its own. Nothing after a seal counts.
const (
	segmentFormat = 0xe3
	retiredFormat = 0xe5 // of the first segment, once others have replaced it
	segmentHead   = 1 + 4 + 4
	sealByte      = 0xff // no record begins or ends with it

	tagIn   = 1
	tagEnds = 2 // in until a time
	tagOut  = 3
)

var (
	seal    = []byte{sealByte}
	retired = []byte{retiredFormat, sealByte}
)

// appendBare appends e without a checksum.
func appendBare(dst []byte, e *Entry) []byte {
	tag := byte(tagOut)
	switch {
	case e.In && e.At == 0:
		tag = tagIn
	case e.In:
		tag = tagEnds
	}
	dst = append(dst, tag)
	dst = binary.AppendUvarint(dst, uint64(len(e.ID)))
	dst = append(dst, e.ID...)
	dst = binary.AppendUvarint(dst, e.Rev)
	if tag != tagIn {
		dst = binary.AppendUvarint(dst, uint64(e.At))
	}
	return dst
}

// appendRecord appends e as it stands in a tail.
func appendRecord(dst []byte, e *Entry) []byte {
	begin := len(dst)
	dst = appendBare(dst, e)
	sum := wire.Sum(dst[begin:])
	return append(dst, byte(sum&0x7f), byte(sum>>7&0x7f))
}

// encodeSegment returns a segment of rows, which are in order. Those that are late
// stand in its tail.
func encodeSegment(rows []row) []byte {
	size := segmentHead
	for i := range rows {
		size += len(rows[i].ID) + 24
	}
	b := make([]byte, segmentHead, size)
	for i := range rows {
		if !rows[i].late {
			b = appendBare(b, &rows[i].Entry)
		}
	}
	b[0] = segmentFormat
	binary.BigEndian.PutUint32(b[1:], uint32(len(b)-segmentHead))
	binary.BigEndian.PutUint32(b[5:], wire.Sum(b[segmentHead:]))
	for i := range rows {
		if rows[i].late {
			b = appendRecord(b, &rows[i].Entry)
		}
	}
	return b
}

// baseSize returns how many bytes the base of rows takes.
func baseSize(rows []row) int {
	size := 0
	var scratch [64]byte
	for i := range rows {
		e := rows[i].Entry
		n := len(e.ID)
		e.ID = ""
		size += len(appendBare(scratch[:0], &e)) + len(binary.AppendUvarint(scratch[:0], uint64(n))) - 1 + n
	}
	return size
}

// segment is a parsed segment.
type segment struct {
	rows    []row // of the base, in order, and then of the tail, up to the first seal
	folded  int   // how many rows the base has
	size    int   // of the value, in bytes
	sealed  bool
	retired bool
}

// parseSegment returns the segment in value, or an ErrCorrupt.
func parseSegment(value []byte) (segment, error) {
	g := segment{size: len(value)}
	if len(value) >= len(retired) && value[0] == retiredFormat && value[1] == sealByte {
		g.sealed, g.retired = true, true
		return g, nil
	}
	if len(value) < segmentHead || value[0] != segmentFormat {
		return g, corrupt(0, "the head of a segment")
	}
	end := segmentHead + uint64(binary.BigEndian.Uint32(value[1:]))
	if end > uint64(len(value)) {
		return g, corrupt(1, "the length of the base")
	}
	if sum := wire.Sum(value[segmentHead:end]); sum != binary.BigEndian.Uint32(value[5:]) {
		return g, corrupt(5, "the checksum of the base")
	}
	p := parser{data: value, text: string(value), at: segmentHead, end: int(end)}
	g.rows = make([]row, 0, len(value)/minimum+1)
	if err := p.base(&g); err != nil {
		return g, err
	}
	p.end = len(value)
	return g, p.tail(&g)
}

// minimum is about the size of a record with a short id. It only serves to guess
// how many there are.
const minimum = 16

func corrupt(at int, what string) error {
	return fmt.Errorf("%w: %s, at byte %d", kvmodel.ErrCorrupt, what, at)
}

// parser reads records from a segment's value. Unlike wire.Reader it refuses a
// number that is not as short as it can be, and cuts ids out of one text, so that
// reading a segment takes few allocations.
type parser struct {
	data    []byte
	text    string // data as a text, of which the ids are parts
	at, end int
}

func (p *parser) base(g *segment) error {
	for p.at < p.end {
		begin := p.at
		e, ok := p.record()
		if !ok {
			return corrupt(begin, "a record of the base")
		}
		g.rows = append(g.rows, row{Entry: e, hash: hashOf(e.ID)})
		if n := len(g.rows); n > 1 && compareRows(g.rows[n-2], g.rows[n-1]) >= 0 {
			return corrupt(begin, "the order of the base")
		}
	}
	g.folded = len(g.rows)
	return nil
}

func (p *parser) tail(g *segment) error {
	for p.at < p.end {
		begin := p.at
		if p.data[begin] == sealByte {
			// What follows the first seal does not count, whatever it is.
			g.sealed = true
			return nil
		}
		e, ok := p.record()
		if !ok || p.at+2 > p.end || !p.summed(begin) {
			return corrupt(begin, "an appended record")
		}
		p.at += 2
		g.rows = append(g.rows, row{Entry: e, hash: hashOf(e.ID), late: true})
	}
	return nil
}

// summed reports whether the two bytes at p are the checksum of the bytes from begin
// to there.
func (p *parser) summed(begin int) bool {
	sum := wire.Sum(p.data[begin:p.at])
	return p.data[p.at] == byte(sum&0x7f) && p.data[p.at+1] == byte(sum>>7&0x7f)
}

func (p *parser) record() (e Entry, ok bool) {
	tag := p.data[p.at]
	p.at++
	size, ok1 := p.number()
	if tag < tagIn || tag > tagOut || !ok1 || size > uint64(p.end-p.at) || size > MaxID {
		return e, false
	}
	e.ID = p.text[p.at : p.at+int(size)]
	p.at += int(size)
	e.In = tag != tagOut
	e.Rev, ok = p.number()
	if tag != tagIn {
		at, ok2 := p.number()
		e.At = int64(at)
		ok = ok && ok2 && e.At > 0
	}
	return e, ok
}

// number returns a varint, which must be as short as it can be.
func (p *parser) number() (n uint64, ok bool) {
	for shift := 0; p.at < p.end && shift < 64; shift += 7 {
		b := p.data[p.at]
		p.at++
		if b < 0x80 {
			good := (shift == 0 || b > 0) && (shift < 63 || b == 1)
			return n | uint64(b)<<shift, good
		}
		n |= uint64(b&0x7f) << shift
	}
	return 0, false
}

// settled returns, for each member, the row that counts, in order.
func (g *segment) settled() []row {
	base, tail := g.rows[:g.folded], g.rows[g.folded:]
	if len(tail) == 0 {
		return base
	}
	slices.SortStableFunc(tail, compareRows)
	rows := make([]row, 0, len(g.rows))
	for len(base)+len(tail) > 0 {
		var next row
		if len(tail) == 0 || len(base) > 0 && compareRows(base[0], tail[0]) <= 0 {
			next, base = base[0], base[1:]
		} else {
			next, tail = tail[0], tail[1:]
		}
		if n := len(rows); n == 0 || compareRows(rows[n-1], next) != 0 {
			rows = append(rows, next)
		} else if next.counts(&rows[n-1].Entry) {
			rows[n-1] = next
		}
	}
	return rows
}
