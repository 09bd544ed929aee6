package kvmodel

import (
	"encoding/binary"
	"fmt"
)

// line is what the journal says of one change before it commits: enough for
// somebody else to bring it to its end.
type line struct {
	model   string
	id      string // text
	rev     uint64 // the change's; repair fences the record up to it, or always
	created bool   // the id may be new: it belongs into the enumeration
	touched []touched
}

// fenceAlways is the rev in the line of a change that did not know its own: a
// deletion writes its line while it reads the record.
const fenceAlways = 0

// encode appends l, which tells its own length, to dst.
func (l *line) encode(dst []byte) []byte {
	body := appendText(nil, l.model)
	body = appendText(body, l.id)
	body = binary.AppendUvarint(body, l.rev)
	created := byte(0)
	if l.created {
		created = 1
	}
	body = append(body, created)
	body = appendTouched(body, l.touched)
	dst = binary.AppendUvarint(dst, uint64(len(body)))
	return append(dst, body...)
}

// decodeLines returns the lines of a journal segment. On an error it returns
// those before it as well.
func decodeLines(data []byte) ([]line, error) {
	var lines []line
	r := reader{rest: data}
	for len(r.rest) > 0 {
		body := r.text("line")
		l, err := decodeLine(body)
		if r.err != nil || err != nil {
			return lines, fmt.Errorf("journal line %d: %w", len(lines), firstError([]error{r.err, err}))
		}
		lines = append(lines, l)
	}
	return lines, nil
}

func decodeLine(body string) (line, error) {
	r := reader{rest: []byte(body)}
	l := line{
		model: r.text("model"),
		id:    r.text("id"),
		rev:   r.number("rev", maxRev),
	}
	l.created = r.byte() == 1
	l.touched = r.touched()
	if r.err == nil && len(r.rest) > 0 {
		r.fail("end")
	}
	return l, r.err
}
