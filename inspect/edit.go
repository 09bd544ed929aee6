package inspect

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"

	"github.com/ringtree/ringtree/kvmodel"
)

// plainFields returns the fields of a record that can be edited as text: all but its id, private
// fields, and those filled in by the data class.
func plainFields(m model, s []Field, id string) (plain []Field, err error) {
	var of [2][]Field
	empty, err := m.Body(nil)
	if err != nil {
		return nil, err
	}
	fixed, err := m.Fixed(id)
	if err != nil {
		return nil, err
	}
	for i, body := range [][]byte{empty, fixed} {
		if of[i], err = fieldsOf(body); err != nil {
			return nil, err
		}
	}
	for _, f := range s {
		isSame := func(other Field) bool { return other.Name == f.Name && slices.ContainsFunc(of[0], other.equals) }
		if _, ok := f.input(); ok && slices.ContainsFunc(of[1], isSame) && !slices.Contains(m.Private(), f.Name) {
			plain = append(plain, f)
		}
	}
	return plain, nil
}

func (f Field) equals(other Field) bool { return f.Name == other.Name && f.Text() == other.Text() }

// input returns the value of f in the form that a person enters, and whether it can be entered.
func (f Field) input() (text string, ok bool) {
	switch v := f.Value.(type) {
	case string:
		return v, v == strings.ToValidUTF8(v, "") && !strings.ContainsFunc(v, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' })
	case bool, int64, uint64, float64:
		return fmt.Sprint(v), true
	case time.Time:
		if v.IsZero() {
			return "", true
		}
		return v.UTC().Format(time.RFC3339Nano), true
	}
	return "", false
}

// parsed returns text as a value of the kind of f.
func (f Field) parsed(text string) (v any, err error) {
	kind := "a text"
	switch f.Value.(type) {
	case string:
		return text, nil
	case bool:
		kind = "true or false"
		v, err = strconv.ParseBool(text)
	case int64, uint64:
		kind = "a whole number"
		if v, err = strconv.ParseInt(text, 10, 64); err != nil {
			v, err = strconv.ParseUint(text, 10, 64)
		}
	case float64:
		kind = "a number"
		v, err = strconv.ParseFloat(text, 64)
	case time.Time:
		if text == "" {
			return time.Time{}, nil
		}
		kind = "a time such as 2026-03-01T12:00:00Z"
		v, err = time.Parse(time.RFC3339Nano, text)
	}
	if err != nil {
		return nil, faceError{fmt.Sprintf("%s: %q is not %s.", f.Name, text, kind), kvmodel.ErrInvalid}
	}
	return v, nil
}

// edit sets fields of the record id, at that rev, to texts, and returns the names of the changed
// ones.
func (in *Inspector) edit(ctx context.Context, m model, id string, rev uint64, texts map[string]string) (changed []string, err error) {
	err = m.Edit(ctx, id, rev, func(body []byte) ([]byte, error) {
		changed = nil
		fields, err := fieldsOf(body)
		if err != nil {
			return nil, err
		}
		plain, err := plainFields(m, fields, id)
		if err != nil {
			return nil, err
		}
		values := make(map[string]any)
		for _, f := range plain {
			text, given := texts[f.Name]
			if was, _ := f.input(); !given || text == was {
				continue
			}
			if values[f.Name], err = f.parsed(text); err != nil {
				return nil, err
			}
			changed = append(changed, f.Name)
		}
		return withFields(body, values)
	})
	return changed, err
}

// withFields returns body, a msgpack map, with new values for some of its fields.
func withFields(body []byte, values map[string]any) ([]byte, error) {
	var out bytes.Buffer
	d, e := msgpack.NewDecoder(bytes.NewReader(body)), msgpack.NewEncoder(&out)
	n, err := d.DecodeMapLen()
	if err != nil {
		return nil, err
	}
	if err := e.EncodeMapLen(n); err != nil {
		return nil, err
	}
	for range n {
		name, err := d.DecodeString()
		if err != nil {
			return nil, err
		}
		raw, err := d.DecodeRaw()
		if err != nil {
			return nil, err
		}
		if err := e.EncodeString(name); err != nil {
			return nil, err
		}
		var v any = raw
		if next, ok := values[name]; ok {
			v = next
			if f, is := next.(float64); is && raw[0] == msgpcode.Float {
				v = float32(f)
			}
		}
		if err := e.Encode(v); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}
