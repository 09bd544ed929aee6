package kvmodel

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// envelope is what is stored under a record's key: the body with what the
// write path must know about it. A record that is deleted keeps its envelope
// for a while, so that whoever prepared a change on it learns that it moved on.
type envelope struct {
	model   int    // the model's version when the body was written
	rev     uint64 // raised by every change, never lowered
	deleted bool
	expires int64 // unix milliseconds; 0: never
	tries   []try // the last changes, newest last; fences are not among them
	marks   []mark
	lost    []touched // of a deleted record: places that may still name it
	body    []byte
}

// try is one change of a record: it tells, after an unclear answer, whether
// one's own change was carried out although others followed.
type try struct {
	rev   uint64
	nonce uint64
}

// mark is what one index keeps in the record.
type mark struct {
	index string
	value []byte
}

// touched is the places of one index that a change concerns.
type touched struct {
	index  string
	places []string
}

const (
	envelopeFormat = 0xe1
	keptTries      = 4
	maxRev         = 1<<48 - 1
	maxIndexes     = 256 // of one model
)

const (
	stateLive    = 1
	stateDeleted = 2
)

// live tells whether e, which may be nil for an absent record, is there for
// users.
func (e *envelope) live() bool { return e != nil && !e.deleted }

// revision returns e's rev; an absent record has 0.
func (e *envelope) revision() uint64 {
	if e == nil {
		return 0
	}
	return e.rev
}

// ttl returns how long e's item is to live from now on, 0 for ever, where one
// that is deleted stays for tombstone. A record that is past its time gets the
// shortest there is.
func (e *envelope) ttl(now time.Time, tombstone time.Duration) time.Duration {
	if e.deleted {
		return tombstone
	}
	if e.expires == 0 {
		return 0
	}
	return min(max(time.UnixMilli(e.expires).Sub(now), time.Second), kv.MaxTTL)
}

// hasTry tells whether the change with nonce was carried out. sure is false
// if e has seen too many changes since base to know.
func (e *envelope) hasTry(nonce, base uint64) (did, sure bool) {
	if e == nil {
		return false, base == 0
	}
	for _, t := range e.tries {
		if t.nonce == nonce {
			return true, true
		}
	}
	return false, len(e.tries) < keptTries || e.tries[0].rev <= base
}

func (e *envelope) mark(index string) []byte {
	if e == nil {
		return nil
	}
	for _, m := range e.marks {
		if m.index == index {
			return m.value
		}
	}
	return nil
}

func (e *envelope) setMark(index string, value []byte) {
	e.marks = slices.DeleteFunc(e.marks, func(m mark) bool { return m.index == index })
	e.marks = append(e.marks, mark{index, value})
}

// addTry returns old's tries followed by this change, the last few of them.
func addTry(old *envelope, rev, nonce uint64) []try {
	var tries []try
	if old != nil {
		tries = slices.Clone(old.tries)
	}
	tries = append(tries, try{rev, nonce})
	return tries[max(0, len(tries)-keptTries):]
}

// encode appends e to dst.
func (e *envelope) encode(dst []byte) []byte {
	state := byte(stateLive)
	if e.deleted {
		state = stateDeleted
	}
	dst = append(dst, envelopeFormat, state)
	dst = binary.AppendUvarint(dst, uint64(e.model))
	dst = binary.AppendUvarint(dst, e.rev)
	dst = binary.AppendUvarint(dst, uint64(e.expires))
	dst = binary.AppendUvarint(dst, uint64(len(e.tries)))
	for _, t := range e.tries {
		dst = binary.AppendUvarint(dst, e.rev-t.rev)
		dst = binary.BigEndian.AppendUint64(dst, t.nonce)
	}
	dst = binary.AppendUvarint(dst, uint64(len(e.marks)))
	for _, m := range e.marks {
		dst = appendText(dst, m.index)
		dst = appendText(dst, string(m.value))
	}
	dst = appendTouched(dst, e.lost)
	return append(dst, e.body...)
}

// decodeEnvelope returns the envelope in data, whose bytes it keeps. Every
// count is checked against the bytes that remain.
func decodeEnvelope(data []byte) (*envelope, error) {
	r := reader{rest: data}
	if format := r.byte(); r.err == nil && format != envelopeFormat {
		return nil, fmt.Errorf("%w: record format %#02x, not %#02x", ErrCorrupt, format, envelopeFormat)
	}
	state := r.byte()
	e := &envelope{deleted: state == stateDeleted}
	if r.err == nil && state != stateLive && state != stateDeleted {
		r.fail("state")
	}
	e.model = int(r.number("model version", 1<<31-1))
	e.rev = r.number("rev", maxRev)
	e.expires = int64(r.number("expiry", 1<<62))
	for range r.few("tries", 9, keptTries) {
		back := r.number("try", e.rev)
		e.tries = append(e.tries, try{e.rev - back, r.uint64()})
	}
	e.marks = make([]mark, 0, r.few("marks", 3, maxIndexes))
	for range cap(e.marks) {
		e.marks = append(e.marks, mark{r.name("mark"), []byte(r.text("mark"))})
	}
	e.lost = r.touched()
	e.body = r.rest
	if r.err != nil {
		return nil, fmt.Errorf("record envelope: %w", r.err)
	}
	return e, nil
}

func appendText(dst []byte, s string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

func appendTouched(dst []byte, all []touched) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(all)))
	for _, t := range all {
		dst = appendText(dst, t.index)
		dst = binary.AppendUvarint(dst, uint64(len(t.places)))
		for _, place := range t.places {
			dst = appendText(dst, place)
		}
	}
	return dst
}

// reader takes numbers and texts off the front of stored bytes. After the
// first thing that does not fit it has an err and returns zeros.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) fail(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: bad %s with %d bytes left", ErrCorrupt, what, len(r.rest))
	}
	r.rest = nil
}

func (r *reader) byte() byte {
	if len(r.rest) == 0 {
		r.fail("end")
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

func (r *reader) uint64() uint64 {
	if len(r.rest) < 8 {
		r.fail("end")
		return 0
	}
	n := binary.BigEndian.Uint64(r.rest)
	r.rest = r.rest[8:]
	return n
}

// number returns a varint that is at most limit.
func (r *reader) number(what string, limit uint64) uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || n > limit {
		r.fail(what)
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

// count returns a number of things that follow and take at least size bytes
// each.
func (r *reader) count(what string, size int) int {
	n := r.number(what, maxRev)
	if n > uint64(len(r.rest)/size) {
		r.fail(what)
		return 0
	}
	return int(n)
}

// few is count for things there are at most limit of.
func (r *reader) few(what string, size, limit int) int {
	n := r.count(what, size)
	if n > limit {
		r.fail(what)
		return 0
	}
	return n
}

func (r *reader) text(what string) string {
	n := r.count(what, 1)
	if r.err != nil {
		return ""
	}
	s := string(r.rest[:n])
	r.rest = r.rest[n:]
	return s
}

// name returns a text that is not empty.
func (r *reader) name(what string) string {
	s := r.text(what)
	if s == "" {
		r.fail(what)
	}
	return s
}

func (r *reader) touched() []touched {
	all := make([]touched, 0, r.few("indexes", 3, maxIndexes))
	for range cap(all) {
		t := touched{index: r.name("index name")}
		t.places = make([]string, 0, r.count("places", 2))
		for range cap(t.places) {
			t.places = append(t.places, r.name("place"))
		}
		all = append(all, t)
	}
	return all
}
