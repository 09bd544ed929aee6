package kvmodel

import (
	"encoding/binary"
	"fmt"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/wire"
)

// line is what the journal says of one change before it commits: enough for
// somebody else to bring it to its end.
type line struct {
	model   string
	id      string // text
	rev     uint64 // the change's; repair fences the record up to it, or always
	created bool   // the id may be new: it belongs into the enumeration
	touched []envelope.Touched
}

// fenceAlways is the rev in the line of a change that did not know its own: a
// deletion writes its line while it reads the record.
const fenceAlways = 0

// encode appends l, which tells its own length, to dst.
func (l *line) encode(dst []byte) []byte {
	body := wire.AppendText(nil, l.model)
	body = wire.AppendText(body, l.id)
	body = binary.AppendUvarint(body, l.rev)
	created := byte(0)
	if l.created {
		created = 1
	}
	body = append(body, created)
	body = envelope.AppendTouched(body, l.touched)
	dst = binary.AppendUvarint(dst, uint64(len(body)))
	return append(dst, body...)
}

// decodeLines returns the lines of a journal segment. On an error it returns
// those before it as well.
func decodeLines(data []byte) ([]line, error) {
	var lines []line
	r := wire.Reader{Rest: data}
	for len(r.Rest) > 0 {
		body := r.Text("line")
		l, err := decodeLine(body)
		if r.Err != nil || err != nil {
			return lines, fmt.Errorf("journal line %d: %w", len(lines), firstError([]error{r.Err, err}))
		}
		lines = append(lines, l)
	}
	return lines, nil
}

func decodeLine(body string) (line, error) {
	r := wire.Reader{Rest: []byte(body)}
	l := line{
		model: r.Text("model"),
		id:    r.Text("id"),
		rev:   r.Number("rev", envelope.MaxRev),
	}
	l.created = r.Byte() == 1
	l.touched = envelope.ReadTouched(&r)
	if r.Err == nil && len(r.Rest) > 0 {
		r.Fail("end")
	}
	return l, r.Err
}
