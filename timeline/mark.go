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

// A mark is a timeline's data in a record. An entry counts only while the record has its stamp.
type mark struct {
	stamp int64 // 0: none
	at    int64 // when the entry was made
}

func (m mark) encode() []byte {
	b := binary.AppendUvarint(nil, uint64(m.stamp))
	return binary.AppendUvarint(b, uint64(max(m.at, 0)))
}

func decodeMark(b []byte) mark {
	stamp, n := binary.Uvarint(b)
	if n <= 0 || stamp > lastStamp {
		return mark{}
	}
	at, _ := binary.Uvarint(b[n:])
	return mark{int64(stamp), int64(at)}
}

// markForm: one mark, or if a record may have several owners, each owner followed by its mark.
type markForm struct{ several bool }

func (markForm) each(kept []byte, f func(owner string, m mark, raw []byte) bool) {
	for r := (wire.Reader{Rest: kept}); len(r.Rest) > 0; {
		begin := r.Rest
		owner := r.Text("owner")
		m := mark{int64(r.Number("stamp", lastStamp)), int64(r.Number("time", math.MaxInt64))}
		if r.Err != nil || !f(owner, m, begin[:len(begin)-len(r.Rest)]) {
			return
		}
	}
}

func (f markForm) of(kept []byte, owner string) (found mark) {
	if !f.several {
		return decodeMark(kept)
	}
	f.each(kept, func(other string, m mark, _ []byte) bool {
		if other == owner {
			found = m
		}
		return other != owner
	})
	return found
}

func (f markForm) with(kept []byte, owner string, m mark) []byte {
	if !f.several {
		return m.encode()
	}
	return appendMark(f.without(kept, func(other string) bool { return other == owner }), owner, m)
}

func appendMark(dst []byte, owner string, m mark) []byte {
	return append(wire.AppendText(dst, owner), m.encode()...)
}

func (f markForm) all(kept []byte) marks {
	if !f.several {
		return marks{one: decodeMark(kept)}
	}
	all := make(map[string]mark)
	f.each(kept, func(owner string, m mark, _ []byte) bool {
		if _, known := all[owner]; !known {
			all[owner] = m
		}
		return true
	})
	return marks{all: all}
}

type marks struct {
	one mark
	all map[string]mark // by owner; nil: one
}

func (m marks) of(owner string) mark {
	if m.all == nil {
		return m.one
	}
	return m.all[owner]
}

func (f markForm) without(kept []byte, gone func(owner string) bool) (rest []byte) {
	f.each(kept, func(owner string, m mark, raw []byte) bool {
		if m.stamp != 0 && !gone(owner) {
			rest = append(rest, raw...)
		}
		return true
	})
	return rest
}

// Text returns a text for a Spec's Value: equal only for equal values, empty for an empty string or
// slice and the zero time. v is a string, a number, a bool, a time, or a slice, array or struct of
// these.
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

func digest(value string) string {
	sum := sha256.Sum256([]byte(value))
	return digestText.EncodeToString(sum[:10])
}
