package timeline

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/ringtree/ringtree/internal/wire"
)

// A mark is a timeline's data in a record: the stamp and creation time of its entry. An entry
// counts only while the record has its stamp.
type mark struct {
	stamp int64 // 0: none
	at    int64
}

func (m mark) encode() []byte {
	b := binary.AppendUvarint(nil, uint64(m.stamp))
	return binary.AppendUvarint(b, uint64(max(m.at, 0)))
}

// decodeMark returns the mark in b, or an empty mark.
func decodeMark(b []byte) mark {
	stamp, n := binary.Uvarint(b)
	if n <= 0 || stamp > lastStamp {
		return mark{}
	}
	at, _ := binary.Uvarint(b[n:])
	return mark{int64(stamp), int64(at)}
}

// A record with possibly several owners keeps a mark for each, after the owner's text.

// markOf returns an owner's mark in kept, the data in a record.
func (c *core) markOf(kept []byte, owner string) mark {
	if !c.several {
		return decodeMark(kept)
	}
	for r := (wire.Reader{Rest: kept}); len(r.Rest) > 0 && r.Err == nil; {
		if other, m := readMark(&r); other == owner {
			return m
		}
	}
	return mark{}
}

// withMark returns kept with m as the mark of owner.
func (c *core) withMark(kept []byte, owner string, m mark) []byte {
	if !c.several {
		return m.encode()
	}
	return appendMark(c.without(kept, func(other string) bool { return other == owner }), owner, m)
}

// appendMark appends the mark m of an owner to dst.
func appendMark(dst []byte, owner string, m mark) []byte {
	return append(wire.AppendText(dst, owner), m.encode()...)
}

// marks are the marks of a record, by owner.
type marks struct {
	one []byte          // the only one
	all map[string]mark // nil: one applies to every owner
}

// marksIn returns the marks in kept.
func (c *core) marksIn(kept []byte) marks {
	if !c.several {
		return marks{one: kept}
	}
	all := make(map[string]mark)
	for r := (wire.Reader{Rest: kept}); len(r.Rest) > 0 && r.Err == nil; {
		owner, m := readMark(&r)
		if _, known := all[owner]; !known {
			all[owner] = m
		}
	}
	return marks{all: all}
}

// of returns the mark for an owner.
func (m marks) of(owner string) mark {
	if m.all == nil {
		return decodeMark(m.one)
	}
	return m.all[owner]
}

// without returns kept without the marks of owners that are gone.
func (c *core) without(kept []byte, gone func(owner string) bool) (rest []byte) {
	for r := (wire.Reader{Rest: kept}); len(r.Rest) > 0 && r.Err == nil; {
		begin := r.Rest
		owner, m := readMark(&r)
		if m.stamp != 0 && !gone(owner) {
			rest = append(rest, begin[:len(begin)-len(r.Rest)]...)
		}
	}
	return rest
}

// readMark reads an owner and its mark. It returns an empty mark if they are invalid.
func readMark(r *wire.Reader) (owner string, m mark) {
	owner = r.Text("owner")
	m = mark{int64(r.Number("stamp", lastStamp)), int64(r.Number("time", math.MaxInt64))}
	if r.Err != nil {
		return "", mark{}
	}
	return owner, m
}

// Text returns a text for a Spec's Value. Only equal values have the same text. The text is empty
// for values that count as none: an empty string or slice and the zero time. v is a string, a
// number, a bool, a time, a slice or array of these, or a struct of them.
func Text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case time.Time:
		if v.IsZero() {
			return ""
		}
		return v.UTC().Format(time.RFC3339Nano)
	}
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.String, reflect.Slice, reflect.Map:
		if r.Len() == 0 {
			return ""
		}
	}
	return fmt.Sprintf("%#v", v)
}

var digestText = base32.HexEncoding.WithPadding(base32.NoPadding)

// digest returns a short text that represents value in a place.
func digest(value string) string {
	sum := sha256.Sum256([]byte(value))
	return digestText.EncodeToString(sum[:10])
}
