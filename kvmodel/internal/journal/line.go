package journal

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/frame"
	"github.com/ringtree/ringtree/internal/wire"
)

// Line describes one change before it commits, so that another process can finish it.
type Line struct {
	Model   string
	ID      string // text
	Rev     uint64 // repair fences the record up to it, or always
	Created bool   // the id may be new and missing in the enumeration
	Touched []envelope.Touched
}

// FenceAlways is the Rev of a change that does not know its own, such as a deletion, which writes
// its line while it reads the record.
const FenceAlways = 0

// endedRev is the Rev of a line that ends a note.
const endedRev = envelope.MaxRev

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

// Merge merges lines about one record, since concurrent repairs would disturb each other.
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

func (l *Line) encode(dst []byte) []byte {
	body := wire.AppendText(nil, l.Model)
	body = wire.AppendText(body, l.ID)
	body = binary.AppendUvarint(body, l.Rev)
	created := byte(0)
	if l.Created {
		created = isCreated
	}
	return frame.Append(dst, envelope.AppendTouched(append(body, created), l.Touched))
}

func decodeLines(data []byte) (lines []Line, damaged error) {
	var before []byte
	for len(data) > 0 {
		body, rest, err := frame.Next(data)
		var l Line
		if err == nil {
			l, err = decodeLine(body)
		}
		switch {
		case err != nil && damaged == nil:
			damaged = fmt.Errorf("journal line %d: %w", len(lines), err)
		case err == nil && (before == nil || !bytes.Equal(body, before)):
			lines = append(lines, l)
		}
		before, data = body, rest
	}
	return lines, damaged
}

func decodeLine(body []byte) (l Line, err error) {
	r := wire.Reader{Rest: body}
	l.Model, l.ID, l.Rev = r.Text("model"), r.Text("id"), r.Number("rev", envelope.MaxRev)
	l.Created = r.Byte() == isCreated
	l.Touched = envelope.ReadTouched(&r)
	if r.Err == nil && len(r.Rest) > 0 {
		r.Fail("end")
	}
	return l, r.Err
}
