package kvsession

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/ringtree/ringtree/kvmodel/codec"
)

// entries are the values of a session by key, each stored as a struct with one field named after
// the value's type, or with none for nil.
type entries map[string][]byte

// encodeValues's error is an ErrNotStorable that names the key and the type.
func encodeValues(values map[any]any) (entries, error) {
	e := make(entries, len(values))
	for key, value := range values {
		name, ok := key.(string)
		if !ok {
			return nil, fmt.Errorf("kvsession: %w: a key of type %T; keys are strings", codec.ErrNotStorable, key)
		}
		data, err := encodeValue(value)
		if err != nil {
			return nil, fmt.Errorf("kvsession: value %q: %w", name, err)
		}
		e[name] = data
	}
	return e, nil
}

func (e entries) decode() (map[any]any, error) {
	values := make(map[any]any, len(e))
	for name, data := range e {
		value, err := decodeValue(data)
		if err != nil {
			return nil, err
		}
		values[name] = value
	}
	return values, nil
}

func (e entries) equal(other entries) bool { return maps.EqualFunc(e, other, bytes.Equal) }

// changes are a request's changes of entries; nil: deleted.
type changes map[string][]byte

func changesOf(base, now entries) changes {
	c := changes{}
	for name, data := range now {
		if old, ok := base[name]; !ok || !bytes.Equal(old, data) {
			c[name] = data
		}
	}
	for name := range base {
		if _, ok := now[name]; !ok {
			c[name] = nil
		}
	}
	return c
}

func (c changes) on(e entries) entries {
	changed := make(entries, len(e)+len(c))
	maps.Copy(changed, e)
	for name, data := range c {
		if data == nil {
			delete(changed, name)
		} else {
			changed[name] = data
		}
	}
	return changed
}

func encodeValue(value any) ([]byte, error) {
	var e encoder
	data, err := (&codec.Model[any]{Write: e.value}).Marshal(&value)
	return data, errors.Join(e.err, err)
}

type encoder struct{ err error }

func (e *encoder) value(w *codec.Writer, v *any) {
	switch v := (*v).(type) {
	case nil:
		w.Struct(0)
	case bool:
		field(w, "bool", codec.WriteBool, &v)
	case int:
		field(w, "int", codec.WriteInt, &v)
	case int64:
		field(w, "int64", codec.WriteInt, &v)
	case uint64:
		field(w, "uint64", codec.WriteUint, &v)
	case float64:
		field(w, "float64", codec.WriteFloat, &v)
	case string:
		field(w, "string", codec.WriteString, &v)
	case []byte:
		field(w, "bytes", codec.WriteBytes, &v)
	case time.Time:
		field(w, "time", codec.WriteTime, &v)
	case []string:
		field(w, "strings", writeStrings, &v)
	case []any:
		field(w, "list", e.list, &v)
	case map[string]any:
		field(w, "map", e.mapping, &v)
	default:
		e.refuse(v)
		w.Struct(0)
	}
}

func field[T any](w *codec.Writer, name string, write func(*codec.Writer, *T), v *T) {
	w.Struct(1)
	write(w.Name(name), v)
}

func writeStrings(w *codec.Writer, v *[]string) { codec.WriteSlice(w, v, codec.WriteString) }

func (e *encoder) list(w *codec.Writer, v *[]any) { codec.WriteSlice(w, v, e.value) }

func (e *encoder) mapping(w *codec.Writer, v *map[string]any) {
	codec.WriteMap(w, v, codec.WriteString, e.value)
}

func (e *encoder) refuse(v any) {
	if e.err == nil {
		e.err = fmt.Errorf("%w: a session cannot hold a %T; marshal it into bytes", codec.ErrNotStorable, v)
	}
}

func decodeValue(data []byte) (value any, err error) {
	var d decoder
	_, err = (&codec.Model[any]{Read: d.value}).Unmarshal(data, &value)
	switch {
	case err != nil:
		return nil, corrupt(err)
	case d.strange:
		return nil, fmt.Errorf("kvsession: %w: a value of no known type", codec.ErrCorrupt)
	}
	return value, nil
}

// corrupt returns the codec's err without its text, which can contain stored data.
func corrupt(err error) error {
	offset := 0
	if e, ok := errors.AsType[*codec.Error](err); ok {
		offset = e.Offset
	}
	return fmt.Errorf("kvsession: %w: a stored session, at offset %d", codec.ErrCorrupt, offset)
}

// decoder reads one value. strange is set if a struct in it has several fields, or an unknown one.
type decoder struct{ strange bool }

func (d *decoder) value(r *codec.Reader, v *any) {
	*v = nil
	fields := 0
	codec.ReadStruct(r, v, func(r *codec.Reader, v *any, name []byte) bool {
		fields++
		known := d.read(r, v, name)
		d.strange = d.strange || !known || fields > 1
		return known
	})
}

func (d *decoder) read(r *codec.Reader, v *any, name []byte) (known bool) {
	switch string(name) {
	case "bool":
		*v = read(r, codec.ReadBool[bool])
	case "int":
		*v = read(r, codec.ReadInt[int])
	case "int64":
		*v = read(r, codec.ReadInt[int64])
	case "uint64":
		*v = read(r, codec.ReadUint[uint64])
	case "float64":
		*v = read(r, codec.ReadFloat[float64])
	case "string":
		*v = read(r, codec.ReadString[string])
	case "bytes":
		*v = read(r, codec.ReadBytes[[]byte])
	case "time":
		*v = read(r, codec.ReadTime)
	case "strings":
		*v = read(r, readStrings)
	case "list":
		*v = read(r, d.list)
	case "map":
		*v = read(r, d.mapping)
	default:
		return false
	}
	return true
}

func read[T any](r *codec.Reader, by func(*codec.Reader, *T)) T {
	var v T
	by(r, &v)
	return v
}

func readStrings(r *codec.Reader, v *[]string) { codec.ReadSlice(r, v, codec.ReadString) }

func (d *decoder) list(r *codec.Reader, v *[]any) { codec.ReadSlice(r, v, d.value) }

func (d *decoder) mapping(r *codec.Reader, v *map[string]any) {
	codec.ReadMap(r, v, codec.ReadString, d.value)
}
