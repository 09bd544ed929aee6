package timeline

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"reflect"
	"time"
)

// A mark is what a timeline keeps in a record: the stamp of its entry and when the
// entry was made. An entry counts only while the record has its stamp.
type mark struct {
	stamp int64 // 0: none
	at    int64
}

func (m mark) encode() []byte {
	b := binary.AppendUvarint(nil, uint64(m.stamp))
	return binary.AppendUvarint(b, uint64(max(m.at, 0)))
}

// decodeMark returns the mark in b, an empty mark if there is none.
func decodeMark(b []byte) mark {
	stamp, n := binary.Uvarint(b)
	if n <= 0 || stamp > lastStamp {
		return mark{}
	}
	at, _ := binary.Uvarint(b[n:])
	return mark{int64(stamp), int64(at)}
}

// Text returns a text for a Spec's Value. Two values have the same text only if they
// are equal. The text is empty for what counts as no value: an empty string or slice
// and the zero time. v is a string, a number, a bool, a time, a slice or array of
// these, or a struct of them.
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

// digest returns a short text that stands for value in a place.
func digest(value string) string {
	sum := sha256.Sum256([]byte(value))
	return digestText.EncodeToString(sum[:10])
}
