package inspect

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/ringtree/ringtree/inspect/internal/console"
)

// Field is a field of a record, as stored.
type Field struct {
	Name  string // the stored name
	Value any    // nil, bool, int64, uint64, float64, string, []byte, time.Time, []any, map[string]any
}

// Fields are fields in their stored order.
type Fields []Field

// MarshalJSON keeps the order of the fields. Times are UTC by RFC 3339, or null if zero; bytes are
// base64; NaN and infinities are texts.
func (all Fields) MarshalJSON() ([]byte, error) {
	object := []byte("{")
	for i, f := range all {
		if i > 0 {
			object = append(object, ',')
		}
		name, err := console.JSON(f.Name)
		if err != nil {
			return nil, err
		}
		value, err := console.JSON(plain(f.Value))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		object = append(append(append(object, name...), ':'), value...)
	}
	return append(object, '}'), nil
}

// Masked is the value of a private field.
const Masked = "***"

func fieldsOf(body []byte) (Fields, error) {
	d := msgpack.NewDecoder(bytes.NewReader(body))
	n, err := d.DecodeMapLen()
	if err != nil {
		return nil, fmt.Errorf("body: %w", err)
	}
	var fields Fields
	for range n {
		name, err := d.DecodeString()
		if err != nil {
			return fields, fmt.Errorf("body: the name of a field: %w", err)
		}
		v, err := d.DecodeInterfaceLoose()
		if err != nil {
			return fields, fmt.Errorf("body: %s: %w", name, err)
		}
		fields = append(fields, Field{name, v})
	}
	return fields, nil
}

// Text returns the value as readable text.
func (f Field) Text() string { return textOf(f.Value) }

func textOf(v any) string {
	switch v := v.(type) {
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case []byte:
		return "base64:" + base64.StdEncoding.EncodeToString(v)
	case string:
		if v == Masked {
			return v
		}
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}

// plain returns v as a JSON value: see MarshalJSON.
func plain(v any) any {
	switch v := v.(type) {
	case time.Time:
		if v.IsZero() {
			return nil
		}
		return v.UTC().Format(time.RFC3339Nano)
	case []byte:
		return base64.StdEncoding.EncodeToString(v)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return strconv.FormatFloat(v, 'g', -1, 64)
		}
	case []any:
		all := make([]any, len(v))
		for i, e := range v {
			all[i] = plain(e)
		}
		return all
	case map[string]any:
		all := make(map[string]any, len(v))
		for name, e := range v {
			all[name] = plain(e)
		}
		return all
	}
	return v
}
