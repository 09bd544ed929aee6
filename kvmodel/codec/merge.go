package codec

// Merge returns next with the fields of prev that are unknown to T added, byte for byte, so that a
// program older than the record preserves them. A struct that is nil in next gets no fields. The
// error wraps ErrCorrupt.
func (m *Model[T]) Merge(prev, next []byte) ([]byte, error) {
	merger := merger{w: Writer{buf: make([]byte, 0, len(prev)+len(next))}}
	merger.value(prev, next, m.Fields)
	if merger.err != nil {
		return nil, merger.err
	}
	return merger.w.buf, nil
}

type merger struct {
	w   Writer
	err error
}

type pair struct {
	name, value, raw []byte
}

// value writes the struct next with the fields of prev that are not in fields. If prev and next are
// not both structs, it writes next unchanged.
func (m *merger) value(prev, next []byte, fields Fields) {
	if !isStruct(prev) || !isStruct(next) {
		m.w.buf = append(m.w.buf, next...)
		return
	}
	old, changed := m.pairs(prev), m.pairs(next)
	kept, nested := split(old, fields)
	m.w.mapLen(len(changed) + len(kept))
	for _, p := range changed {
		m.field(nested[string(p.name)], p, fields)
	}
	for _, p := range kept {
		m.w.buf = append(m.w.buf, p.raw...)
	}
}

func (m *merger) field(prev []byte, next pair, fields Fields) {
	if prev == nil {
		m.w.buf = append(m.w.buf, next.raw...)
		return
	}
	nested, _ := fields(next.name)
	m.w.buf = append(m.w.buf, next.raw[:len(next.raw)-len(next.value)]...)
	m.value(prev, next.value, nested)
}

func split(pairs []pair, fields Fields) (unknown []pair, structs map[string][]byte) {
	structs = make(map[string][]byte)
	for _, p := range pairs {
		switch nested, known := fields(p.name); {
		case !known:
			unknown = append(unknown, p)
		case nested != nil:
			structs[string(p.name)] = p.value
		}
	}
	return unknown, structs
}

func isStruct(value []byte) bool {
	return len(value) > 0 && shapeOf(value[0]).kind == kindMap
}

func (m *merger) pairs(value []byte) []pair {
	r := Reader{data: value}
	n := r.open(kindMap)
	pairs := make([]pair, 0, max(0, n))
	for range n {
		start := r.at
		name := r.text("a field name")
		middle := r.at
		r.skip(0)
		if r.err != nil {
			break
		}
		pairs = append(pairs, pair{name, value[middle:r.at], value[start:r.at]})
	}
	if r.err == nil && r.at < len(value) {
		r.fail(r.at, "bytes after the value")
	}
	if r.err != nil && m.err == nil {
		m.err = r.err
	}
	return pairs
}
