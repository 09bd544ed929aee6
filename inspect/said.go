package inspect

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// said is a text in a stored item. Values other than texts have the form they have in keys.
type said struct {
	field string // of a record, "" if outside of fields
	text  string
}

// saidIn returns all texts in body, a msgpack map of fields: keys and values of any type and depth.
// An array or a map is also one text, like an id with its values as parts. With an error, saidIn
// returns the texts read so far.
func saidIn(body []byte) ([]said, error) {
	w := walker{d: msgpack.NewDecoder(bytes.NewReader(body))}
	n, err := w.d.DecodeMapLen()
	for i := 0; i < n && err == nil; i++ {
		if w.field, err = w.d.DecodeString(); err == nil {
			_, err = w.value(0)
		}
	}
	return w.all, err
}

type walker struct {
	d     *msgpack.Decoder
	field string
	all   []said
}

// deepest is the maximum depth of nested values, more than the codec reads.
const deepest = 1000

// value reads a value, and returns it as a text, "" if it cannot be part of an id.
func (w *walker) value(depth int) (text string, err error) {
	if depth > deepest {
		return "", errors.New("values are nested too deeply")
	}
	c, err := w.d.PeekCode()
	switch {
	case err != nil:
		return "", err
	case msgpcode.IsFixedMap(c) || c == msgpcode.Map16 || c == msgpcode.Map32:
		n, err := w.d.DecodeMapLen()
		return "", w.values(2*n, depth, true, err)
	case msgpcode.IsFixedArray(c) || c == msgpcode.Array16 || c == msgpcode.Array32:
		n, err := w.d.DecodeArrayLen()
		return "", w.values(n, depth, false, err)
	case msgpcode.IsString(c):
		text, err = w.d.DecodeString()
	case msgpcode.IsBin(c):
		var data []byte
		data, err = w.d.DecodeBytes()
		text = string(data)
	case msgpcode.IsExt(c):
		text, err = w.extension()
	default:
		var v any
		if v, err = w.d.DecodeInterfaceLoose(); v != nil {
			text = fmt.Sprint(v)
		}
	}
	if text != "" {
		w.all = append(w.all, said{w.field, text})
	}
	return text, err
}

// values reads the n values of an array, or the alternating keys and values of a map.
func (w *walker) values(n, depth int, isMap bool, err error) error {
	var parts []string
	for i := 0; i < n && err == nil; i++ {
		var text string
		if text, err = w.value(depth + 1); !isMap || i%2 == 1 {
			parts = append(parts, text)
		}
	}
	if len(parts) > 1 {
		w.all = append(w.all, said{w.field, kv.JoinText(parts...)})
	}
	return err
}

// extension reads a time, or the encoding of an app's own type.
func (w *walker) extension() (string, error) {
	raw, err := w.d.DecodeRaw()
	var at time.Time
	if err == nil && msgpack.Unmarshal(raw, &at) == nil {
		return at.UTC().Format(time.RFC3339Nano), nil
	}
	return strings.ToValidUTF8(string(raw), " "), err
}
