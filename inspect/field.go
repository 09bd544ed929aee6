package inspect

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"github.com/vmihailenco/msgpack/v5"
)

// Field is a field of a record, as stored.
type Field struct {
	Name  string // the stored name
	Value any    // nil, bool, int64, uint64, float64, string, []byte, time.Time, []any, map[string]any
}

// Masked is the value of a private field.
const Masked = "***"

// fieldsOf returns the fields in body, a msgpack map.
func fieldsOf(body []byte) ([]Field, error) {
	d := msgpack.NewDecoder(bytes.NewReader(body))
	n, err := d.DecodeMapLen()
	if err != nil {
		return nil, fmt.Errorf("body: %w", err)
	}
	var fields []Field
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
