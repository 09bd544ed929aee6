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
	Touched []envelope.Touched
}

// FenceAlways is the Rev in the line of a change that did not know its own, such
// as a deletion, which writes its line while it reads the record.
const FenceAlways = 0

// endedRev is the Rev of a line that ends a note: the one with its model and id is not to be
// carried out again.
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

const isCreated = 1

// The sum of a line stands last in it, as the name of an index without places. No index has
// such a name: it is sumBytes long and has sumBit.
const (
	sumBytes = 4
	sumBit   = 1 << 31
)

// encode appends l, with its length before it, to dst.
func (l *Line) encode(dst []byte) []byte {
	body := wire.AppendText(nil, l.Model)
	body = wire.AppendText(body, l.ID)
	body = binary.AppendUvarint(body, l.Rev)
	created := byte(0)
	if l.Created {
		created = isCreated
	}
	body = append(body, created)
	body = envelope.AppendTouched(body, append(slices.Clip(l.Touched), envelope.Touched{Index: "sum."}))
	putSum(body)
	return wire.AppendText(dst, string(body))
}

// decodeLines returns the lines of a segment. One in which a bit has changed is read as it
// was, since its sum says how. One that was appended once more, since an answer was unclear,
// is read once. With an ErrCorrupt it returns the lines that can be read.
func decodeLines(data []byte) (lines []Line, damaged error) {
	var before []byte
	for len(data) > 0 {
		l, size, err := decodeLine(data)
		if err != nil {
			size = nextLine(data)
			l, err = mendLine(data[:size])
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
		if _, _, err := decodeLine(r.Rest); err == nil || len(r.Rest) == 0 {
			return len(data) - len(r.Rest)
		}
	}
	for at := 1; at < len(data); at++ {
		if _, _, err := decodeLine(data[at:]); err == nil {
			return at
		}
	}
	return len(data)
}

// mendLine returns the line in data without the one bit that is wrong.
func mendLine(data []byte) (Line, error) {
	mended, ok := wire.Mend(data, func(data []byte) bool {
		_, size, err := decodeLine(data)
		return err == nil && size == len(data)
	})
	l, _, err := decodeLine(mended)
	if !ok && err == nil {
		r := wire.Reader{Rest: data}
		r.Fail("line")
		err = r.Err
	}
	return l, err
}

// decodeLine returns the first line of data and its size.
func decodeLine(data []byte) (l Line, size int, err error) {
	in := wire.Reader{Rest: data}
	body := in.Text("line")
	r := wire.Reader{Rest: []byte(body)}
	l.Model, l.ID, l.Rev = r.Text("model"), r.Text("id"), r.Number("rev", envelope.MaxRev)
	l.Created = r.Byte() == isCreated
	l.Touched = envelope.ReadTouched(&r)
	if r.Err == nil && len(r.Rest) > 0 {
		r.Fail("end")
	}
	if n := len(l.Touched) - 1; r.Err == nil {
		if n < 0 || !isSum(l.Touched[n], body) {
			r.Fail("sum")
		} else {
			l.Touched = l.Touched[:n]
		}
	}
	if err := cmp.Or(in.Err, r.Err); err != nil {
		return Line{}, 0, err
	}
	return l, len(data) - len(in.Rest), nil
}

// isSum reports whether t, the last that a line with that body has touched, is its sum.
func isSum(t envelope.Touched, body string) bool {
	if len(t.Places) > 0 || len(t.Index) != sumBytes {
		return false
	}
	other := []byte(body)
	putSum(other)
	return string(other) == body
}

// putSum puts the sum of body into the end of it, before how many places it has.
func putSum(body []byte) {
	n := len(body) - sumBytes - 1
	binary.BigEndian.PutUint32(body[n:], wire.Sum(body[:n])|sumBit)
}
