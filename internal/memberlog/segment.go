package memberlog

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/codec"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A segment is a head of nine bytes, the base and the tail. The base is the initial content, each
// member once, by position; the head has its length and checksum. The tail is everything appended
// since, and unconfirmed initial entries (see [Logs.Confirm]), each record with its own checksum.
// Nothing after a seal counts.
const (
	segmentFormat = 0xe3
	retiredFormat = 0xe5 // of a replaced first segment
	segmentHead   = 1 + 4 + 4
	sealByte      = 0xff // no record begins or ends with it

	tagIn    = 1
	tagEnds  = 2 // in until a time
	tagOut   = 3
	tagNoted = 4 // in, with a note
)

var (
	seal    = []byte{sealByte}
	retired = []byte{retiredFormat, sealByte}
)

func appendBare(dst []byte, e *Entry) []byte {
	tag := byte(tagOut)
	switch {
	case e.In && e.Note != (Note{}):
		tag = tagNoted
	case e.In && e.At == 0:
		tag = tagIn
	case e.In:
		tag = tagEnds
	}
	dst = append(dst, tag)
	dst = binary.AppendUvarint(dst, uint64(len(e.ID)))
	dst = append(dst, e.ID...)
	dst = binary.AppendUvarint(dst, e.Rev)
	switch tag {
	case tagNoted:
		dst = wire.AppendText(dst, e.Note.String())
	case tagEnds, tagOut:
		dst = binary.AppendUvarint(dst, uint64(e.At))
	}
	return dst
}

func appendRecord(dst []byte, e *Entry) []byte {
	begin := len(dst)
	dst = appendBare(dst, e)
	sum := wire.Sum(dst[begin:])
	return append(dst, byte(sum&0x7f), byte(sum>>7&0x7f))
}

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

func baseSize(rows []row) int {
	size := 0
	for i := range rows {
		e := &rows[i].Entry
		size += 1 + numberSize(uint64(len(e.ID))) + len(e.ID) + numberSize(e.Rev)
		switch {
		case e.In && e.Note != (Note{}):
			note := len(e.Note.String())
			size += numberSize(uint64(note)) + note
		case !e.In || e.At != 0:
			size += numberSize(uint64(e.At))
		}
	}
	return size
}

func numberSize(n uint64) int { return (bits.Len64(n|1) + 6) / 7 }

type segment struct {
	rows    []row // the base, sorted, then the tail, up to the first seal
	folded  int   // rows in the base
	size    int   // of the value
	sealed  bool
	retired bool
}

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
	g.rows = make([]row, 0, p.guess(len(value)))
	if err := p.base(&g); err != nil {
		return g, err
	}
	p.end = len(value)
	return g, p.tail(&g)
}

func (p parser) guess(end int) int {
	if p.at == end {
		return 0
	}
	first := p
	first.end = end
	first.record()
	return (end-p.at)*9/8/(first.at-p.at) + 1
}

func corrupt(at int, what string) error {
	return fmt.Errorf("%w: %s, at byte %d", codec.ErrCorrupt, what, at)
}

// Unlike wire.Reader, parser rejects numbers not in their shortest form, and cuts ids out of one
// string, to save allocations.
type parser struct {
	data    []byte
	text    string // data, shared by ids
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
		if n := len(g.rows); n > 1 && g.rows[n-2].compare(&g.rows[n-1]) >= 0 {
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
			g.sealed = true
			return nil
		}
		e, ok := p.record()
		if !ok || p.at+2 > p.end || !p.summed(begin) {
			return corrupt(begin, "an appended record")
		}
		p.at += 2
		e.late = true
		g.rows = append(g.rows, row{Entry: e, hash: hashOf(e.ID)})
	}
	return nil
}

// readable returns the readable rows of a damaged segment, one per member, sorted, to be checked
// against the records.
func readable(value []byte) []row {
	var g segment
	p := parser{data: value, text: string(value), at: segmentHead, end: len(value)}
	for p.at < p.end && p.data[p.at] != sealByte {
		begin := p.at
		e, ok := p.record()
		if !ok || !isID(e.ID) {
			p.at = begin + 1
			continue
		}
		if p.at+2 <= p.end && p.summed(begin) {
			p.at += 2
		}
		g.rows = append(g.rows, row{Entry: e, hash: hashOf(e.ID)})
	}
	if len(g.rows) == 0 {
		return nil
	}
	return g.newest()
}

func isID(text string) bool {
	return text != "" && kv.Plain(strings.NewReplacer(":", "", "%", "").Replace(text))
}

func (p *parser) summed(begin int) bool {
	sum := wire.Sum(p.data[begin:p.at])
	return p.data[p.at] == byte(sum&0x7f) && p.data[p.at+1] == byte(sum>>7&0x7f)
}

func (p *parser) record() (e Entry, ok bool) {
	tag := p.data[p.at]
	p.at++
	if tag < tagIn || tag > tagNoted {
		return e, false
	}
	if e.ID, ok = p.short(); !ok {
		return e, false
	}
	e.In = tag != tagOut
	e.Rev, ok = p.number()
	switch tag {
	case tagNoted:
		note, noted := p.short()
		e.Note = NoteOf(note)
		ok = ok && noted && note != ""
	case tagEnds, tagOut:
		at, ends := p.number()
		e.At = int64(at)
		ok = ok && ends && e.At > 0
	}
	return e, ok
}

func (p *parser) short() (text string, ok bool) {
	size, ok := p.number()
	if !ok || size > uint64(p.end-p.at) || size > plug.MaxID {
		return "", false
	}
	text = p.text[p.at : p.at+int(size)]
	p.at += int(size)
	return text, true
}

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

// newest returns the counting row of each member, sorted, and removes all others.
func (g *segment) newest() []row {
	if g.folded == len(g.rows) {
		return g.rows
	}
	rearrange(g.rows, order(g.rows))
	rows := g.rows[:1]
	for _, next := range g.rows[1:] {
		if last := &rows[len(rows)-1]; next.compare(last) != 0 {
			rows = append(rows, next)
		} else if next.counts(&last.Entry) {
			*last = next
		}
	}
	g.rows, g.folded = rows, len(rows)
	return rows
}

// rank is the first bits of a row's hash, then its index: fast to sort.
type rank uint64

const indexBits = 18 // a value has fewer than 2^18 rows

func (r rank) index() int { return int(r & (1<<indexBits - 1)) }

// order keeps the order of rows of a member.
func order(rows []row) []rank {
	ranks := make([]rank, len(rows))
	for i := range rows {
		ranks[i] = rank(rows[i].hash>>indexBits<<indexBits | uint64(i))
	}
	slices.Sort(ranks)
	for begin := 0; begin < len(ranks); {
		end := begin + 1
		for end < len(ranks) && ranks[begin]>>indexBits == ranks[end]>>indexBits {
			end++
		}
		if end-begin > 1 {
			slices.SortStableFunc(ranks[begin:end], func(a, b rank) int { return rows[a.index()].compare(&rows[b.index()]) })
		}
		begin = end
	}
	return ranks
}

func rearrange(rows []row, ranks []rank) {
	for i := range ranks {
		first, to := rows[i], i
		for from := ranks[i].index(); from != i; from = ranks[to].index() {
			rows[to] = rows[from]
			ranks[to] = rank(to)
			to = from
		}
		rows[to], ranks[to] = first, rank(to)
	}
}
