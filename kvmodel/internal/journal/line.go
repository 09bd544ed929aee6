package journal

import (
	"encoding/binary"
	"fmt"

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

// encode appends l, with its length before it, to dst.
func (l *Line) encode(dst []byte) []byte {
	body := wire.AppendText(nil, l.Model)
	body = wire.AppendText(body, l.ID)
	body = binary.AppendUvarint(body, l.Rev)
	created := byte(0)
	if l.Created {
		created = 1
	}
	body = append(body, created)
	body = envelope.AppendTouched(body, l.Touched)
	dst = binary.AppendUvarint(dst, uint64(len(body)))
	return append(dst, body...)
}

// decodeLines returns the lines of a segment. With an error it also returns the
// lines before it.
func decodeLines(data []byte) ([]Line, error) {
	var lines []Line
	r := wire.Reader{Rest: data}
	for len(r.Rest) > 0 {
		body := r.Text("line")
		l, err := decodeLine(body)
		if r.Err != nil {
			err = r.Err
		}
		if err != nil {
			return lines, fmt.Errorf("journal line %d: %w", len(lines), err)
		}
		lines = append(lines, l)
	}
	return lines, nil
}

func decodeLine(body string) (Line, error) {
	r := wire.Reader{Rest: []byte(body)}
	l := Line{
		Model: r.Text("model"),
		ID:    r.Text("id"),
		Rev:   r.Number("rev", envelope.MaxRev),
	}
	l.Created = r.Byte() == 1
	l.Touched = envelope.ReadTouched(&r)
	if r.Err == nil && len(r.Rest) > 0 {
		r.Fail("end")
	}
	return l, r.Err
}
