package journal

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/wire"
)

// Line is what the journal says of one change before it commits: enough for
// another process to finish it.
type Line struct {
	Model   string
	ID      string // text
	Rev     uint64 // the change's; repair fences the record up to it, or always
	Created bool   // the id may be new and then belongs in the enumeration
	Note    bool   // of no record; not known of a line that was read
	Touched []envelope.Touched
}

// FenceAlways is the Rev in the line of a change that did not know its own, such
// as a deletion, which writes its line while it reads the record.
const FenceAlways = 0

// endedRev is the Rev of a line that ends a note: the one with its model and id is not to be
// carried out again. A release that does not know it takes it for the note once more.
const endedRev = envelope.MaxRev

// withoutEnded returns lines without the notes that have ended, and the lines that say so.
func withoutEnded(lines []Line) []Line {
	type note struct{ model, id string }
	ended := make(map[note]bool)
	for _, l := range lines {
		if l.Rev == endedRev {
			ended[note{l.Model, l.ID}] = true
		}
	}
	if len(ended) == 0 {
		return lines
	}
	return slices.DeleteFunc(lines, func(l Line) bool { return ended[note{l.Model, l.ID}] })
}

// Merge returns lines that were read, but one for those about the same record, or two if
// some fence it always: side by side, their repairs would only be in each other's way.
func Merge(lines []Line) []Line {
	type about struct {
		model, id string
		always    bool
	}
	var all []Line
	at := make(map[about]int)
	for _, l := range lines {
		key := about{l.Model, l.ID, l.Rev == FenceAlways}
		i, known := at[key]
		if !known {
			i = len(all)
			at[key] = i
			all = append(all, Line{Model: l.Model, ID: l.ID})
		}
		m := &all[i]
		m.Rev, m.Created = max(m.Rev, l.Rev), m.Created || l.Created
		for _, t := range l.Touched {
			m.Touched = envelope.Merge(m.Touched, t)
		}
	}
	return all
}

const (
	isOld     = 0
	isCreated = 1
	isChecked = 0x80 // and seven bits of the other bytes
	// sumBytes is the length of the sum of a line, with sumBit in it. It stands last, as
	// the name of an index without places. No index has such a name, so releases without
	// sums pass it over.
	sumBytes = 4
	sumBit   = 1 << 31
)

// trust is how a line was found to be as it was written.
type trust int

const (
	untold  trust = iota // it is of a release that says nothing of that
	checked              // one changed bit would have been noticed
	summed               // and says which it was
)

// encode appends l, with its length before it, to dst. Where releases without sums would
// take a sum for something else, which is in a deletion and in a note, the line stands
// twice instead: it is small, and all lines are repaired twice.
func (l *Line) encode(dst []byte) []byte {
	body := wire.AppendText(nil, l.Model)
	body = wire.AppendText(body, l.ID)
	body = binary.AppendUvarint(body, l.Rev)
	at := len(body)
	if body = append(body, isOld); l.Created {
		body[at] = isCreated
	}
	if !l.isSummed() {
		body = envelope.AppendTouched(body, l.Touched)
		if !l.Created {
			body[at] = check(body)
		}
		text := wire.AppendText(nil, string(body))
		if l.Created {
			return append(dst, text...)
		}
		return append(dst, slices.Concat(text, text)...)
	}
	body = envelope.AppendTouched(body, append(slices.Clip(l.Touched), envelope.Touched{Index: "sum."}))
	putSum(body)
	return wire.AppendText(dst, string(body))
}

// isSummed reports whether l has room for a sum.
func (l *Line) isSummed() bool {
	return len(l.Touched) < envelope.MaxIndexes && (l.Created || len(l.Touched) > 0 && !l.Note)
}

// check returns what stands in the place of a 0 among bytes, which are otherwise those:
// with any one bit changed, it is another.
func check(body []byte) (c byte) {
	for _, b := range body {
		c ^= b
	}
	return isChecked | (c^c>>7)&^isChecked
}

// decodeLines returns the lines of a segment. One in which a bit has changed is read as it
// was, if its sum or the same line beside it says how. With an ErrCorrupt it returns the
// lines that can be read.
func decodeLines(data []byte) (lines []Line, damaged error) {
	var before []byte
	for len(data) > 0 {
		l, size, _, err := decodeLine(data)
		if err != nil {
			size = nextLine(data)
			l, err = mendLine(data[:size], before, data[size:])
		}
		switch {
		case err != nil && damaged == nil:
			damaged = fmt.Errorf("journal line %d: %w", len(lines), err)
		case err == nil && !bytes.Equal(data[:size], before):
			lines = append(lines, l)
		}
		before, data = data[:size], data[size:]
	}
	return lines, damaged
}

// nextLine returns where the line after a damaged one begins.
func nextLine(data []byte) int {
	r := wire.Reader{Rest: data}
	if r.Text("line"); r.Err == nil {
		if _, _, _, err := decodeLine(r.Rest); err == nil || len(r.Rest) == 0 {
			return len(data) - len(r.Rest)
		}
	}
	for at := 1; at < len(data); at++ {
		if _, _, found, err := decodeLine(data[at:]); err == nil && found != untold {
			return at
		}
	}
	return len(data)
}

// mendLine returns the line in data without the one bit that is wrong.
func mendLine(data, before, after []byte) (Line, error) {
	mended, ok := wire.Mend(data, func(data []byte) bool {
		_, size, found, err := decodeLine(data)
		twin := bytes.Equal(data, before) || bytes.HasPrefix(after, data)
		return err == nil && size == len(data) && (found == summed || found == checked && twin)
	})
	l, _, _, err := decodeLine(mended)
	if !ok && err == nil {
		r := wire.Reader{Rest: data}
		r.Fail("line")
		err = r.Err
	}
	return l, err
}

// decodeLine returns the first line of data, its size, and how it was found to be as it was
// written.
func decodeLine(data []byte) (l Line, size int, found trust, err error) {
	in := wire.Reader{Rest: data}
	body := in.Text("line")
	r := wire.Reader{Rest: []byte(body)}
	l.Model, l.ID, l.Rev = r.Text("model"), r.Text("id"), r.Number("rev", envelope.MaxRev)
	at := len(body) - len(r.Rest)
	kind := r.Byte()
	l.Created = kind == isCreated
	l.Touched = envelope.ReadTouched(&r)
	if r.Err == nil && len(r.Rest) > 0 {
		r.Fail("end")
	}
	if in.Err != nil || r.Err != nil {
		return Line{}, 0, untold, cmp.Or(in.Err, r.Err)
	}
	fits := true
	switch n := len(l.Touched) - 1; {
	case n >= 0 && isSum(l.Touched[n]):
		other := []byte(body)
		putSum(other)
		found, fits, l.Touched = summed, string(other) == body, l.Touched[:n]
	case kind > isCreated:
		other := []byte(body)
		other[at] = isOld
		found, fits = checked, kind == check(other)
	}
	if !fits {
		r.Fail("sum")
	}
	return l, len(data) - len(in.Rest), found, r.Err
}

// isSum reports whether t is the sum of a line.
func isSum(t envelope.Touched) bool {
	return len(t.Places) == 0 && len(t.Index) == sumBytes && t.Index[0] >= sumBit>>24
}

// putSum puts the sum of body into the end of it, before how many places it has.
func putSum(body []byte) {
	n := len(body) - sumBytes - 1
	binary.BigEndian.PutUint32(body[n:], wire.Sum(body[:n])|sumBit)
}
