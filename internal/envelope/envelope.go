// Package envelope encodes the item under a record's key: its body and the data of the write path.
package envelope

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/ringtree/ringtree/internal/frame"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"

	"github.com/ringtree/ringtree/kvmodel/codec"
)

type Envelope struct {
	Model   int    // version of the model when the body was written
	Rev     uint64 // raised by every change, never lowered
	Deleted bool
	Expires int64     // Unix milliseconds; 0: never
	Lost    []Touched // of a deleted record: places that may still name it
	Body    []byte

	tries [keptTries]Try // the last changes, newest first, without fences
	marks []byte         // encoded, since most readers need none; immutable; nil: none
}

// Try is one change of a record. After an unclear answer it shows whether a change was carried out,
// even if others followed.
type Try struct {
	Rev   uint64
	Nonce uint64
}

type mark struct{ index, value []byte }

// Touched is the places of one index that a change concerns.
type Touched struct {
	Index  string
	Places []string
}

const (
	envelopeFormat = 0xe1
	keptTries      = 4
	MaxRev         = 1<<47 - 1 // rankings use one more bit
	MaxIndexes     = 256       // of one model
)

const (
	stateLive    = 1
	stateDeleted = 2
)

func (e *Envelope) Live() bool { return e != nil && !e.Deleted }

// Ends returns the expiry, or the zero time.
func (e *Envelope) Ends() time.Time {
	if !e.Live() || e.Expires == 0 {
		return time.Time{}
	}
	return time.UnixMilli(e.Expires)
}

func (e *Envelope) Revision() uint64 {
	if e == nil {
		return 0
	}
	return e.Rev
}

func (e *Envelope) HasEnded(now time.Time) bool {
	ends := e.Ends()
	return !ends.IsZero() && !now.Before(ends)
}

// TTL returns the remaining lifetime, 0 meaning forever. A deleted record lives for tombstone. A
// record past its expiry gets the shortest TTL.
func (e *Envelope) TTL(now time.Time, tombstone time.Duration) time.Duration {
	if e.Deleted {
		return tombstone
	}
	if e.Expires == 0 {
		return 0
	}
	return min(max(time.UnixMilli(e.Expires).Sub(now), time.Second), kv.MaxTTL)
}

// Tries returns the last changes of e, newest first.
func (e *Envelope) Tries() []Try {
	if e == nil {
		return nil
	}
	n := 0
	for n < keptTries && e.tries[n] != (Try{}) {
		n++
	}
	return e.tries[:n]
}

// AddTry sets the tries of e to this change and the last few of old.
func (e *Envelope) AddTry(old *Envelope, nonce uint64) {
	e.tries = [keptTries]Try{{e.Rev, nonce}}
	copy(e.tries[1:], old.Tries())
}

// HasTry reports whether the change with nonce was carried out. sure is false if e has seen too
// many changes since base to know.
func (e *Envelope) HasTry(nonce, base uint64) (did, sure bool) {
	if e == nil {
		return false, base == 0
	}
	tries := e.Tries()
	for _, t := range tries {
		if t.Nonce == nonce {
			return true, true
		}
	}
	return false, len(tries) < keptTries || tries[keptTries-1].Rev <= base
}

// Tombstone returns the deleted record after the live one of e, with the rev and the tries of e.
func (e *Envelope) Tombstone(model int) *Envelope {
	return &Envelope{Model: model, Rev: e.Rev, Deleted: true, tries: e.tries}
}

// Mark returns the data of index in the record, or nil.
func (e *Envelope) Mark(index string) (value []byte) {
	if e == nil || e.marks == nil {
		return nil
	}
	readMarks(&wire.Reader{Rest: e.marks}, func(m mark) {
		if string(m.index) == index {
			value = m.value
		}
	})
	return value
}

func readMarks(r *wire.Reader, f func(mark)) {
	for range r.Few("marks", 2, MaxIndexes) {
		m := mark{r.Bytes("mark"), r.Bytes("mark")}
		if len(m.index) == 0 {
			r.Fail("mark")
		}
		f(m)
	}
}

// CopyMarks gives e the marks of old.
func (e *Envelope) CopyMarks(old *Envelope) { e.marks = old.marks }

// SetMark sets the data of index in the record.
func (e *Envelope) SetMark(index string, value []byte) {
	all := e.allMarks()
	if i := slices.IndexFunc(all, func(m mark) bool { return string(m.index) == index }); i >= 0 {
		all[i].value = value
	} else {
		all = append(all, mark{[]byte(index), value})
	}
	e.setMarks(all)
}

// DropMark removes the data of index, and reports whether there was any.
func (e *Envelope) DropMark(index string) bool {
	if e.Mark(index) == nil {
		return false
	}
	e.setMarks(slices.DeleteFunc(e.allMarks(), func(m mark) bool { return string(m.index) == index }))
	return true
}

func (e *Envelope) allMarks() (all []mark) {
	if e.marks != nil {
		all = make([]mark, 0, 8)
		readMarks(&wire.Reader{Rest: e.marks}, func(m mark) { all = append(all, m) })
	}
	return all
}

func (e *Envelope) setMarks(all []mark) {
	size := binary.MaxVarintLen16
	for _, m := range all {
		size += 2*binary.MaxVarintLen16 + len(m.index) + len(m.value)
	}
	e.marks = binary.AppendUvarint(make([]byte, 0, size), uint64(len(all)))
	for _, m := range all {
		e.marks = wire.AppendText(e.marks, m.index)
		e.marks = wire.AppendText(e.marks, m.value)
	}
}

// DropLost removes the places that is accepts from e.Lost, and reports whether there were any.
func (e *Envelope) DropLost(is func(index, place string) bool) (dropped bool) {
	var left []Touched
	for _, t := range e.Lost {
		places := slices.DeleteFunc(slices.Clone(t.Places), func(place string) bool { return is(t.Index, place) })
		dropped = dropped || len(places) < len(t.Places)
		if len(places) > 0 {
			left = append(left, Touched{Index: t.Index, Places: places})
		}
	}
	e.Lost = left
	return dropped
}

// Encode appends e to dst.
func (e *Envelope) Encode(dst []byte) []byte {
	state := byte(stateLive)
	if e.Deleted {
		state = stateDeleted
	}
	begin := len(dst)
	dst = slices.Grow(dst, 128+len(e.marks)+len(e.Body)) // and Lost
	dst = append(dst, envelopeFormat, state)
	dst = binary.AppendUvarint(dst, uint64(e.Model))
	dst = binary.AppendUvarint(dst, e.Rev)
	dst = binary.AppendUvarint(dst, uint64(e.Expires))
	tries := e.Tries()
	dst = binary.AppendUvarint(dst, uint64(len(tries)))
	for _, t := range slices.Backward(tries) {
		dst = binary.AppendUvarint(dst, e.Rev-t.Rev)
		dst = binary.BigEndian.AppendUint64(dst, t.Nonce)
	}
	if e.marks == nil {
		dst = append(dst, 0)
	}
	dst = append(dst, e.marks...)
	dst = AppendTouched(dst, e.Lost)
	return frame.End(append(dst, e.Body...), begin)
}

// Decode returns the envelope in data, which it retains.
func Decode(data []byte) (*Envelope, error) {
	e := new(Envelope)
	if err := e.Decode(data); err != nil {
		return nil, err
	}
	return e, nil
}

// Decode decodes data into the empty e, and retains it. After an error e is invalid.
func (e *Envelope) Decode(data []byte) error {
	if len(data) > 0 && data[0] != envelopeFormat {
		return fmt.Errorf("%w: record format %#02x, not %#02x", codec.ErrCorrupt, data[0], envelopeFormat)
	}
	payload, err := frame.Open(data)
	if err != nil {
		return fmt.Errorf("record envelope: %w", err)
	}
	r := wire.Reader{Rest: payload}
	r.Byte()
	state := r.Byte()
	e.Deleted = state == stateDeleted
	if r.Err == nil && state != stateLive && state != stateDeleted {
		r.Fail("state")
	}
	e.Model = int(r.Number("model version", 1<<31-1))
	e.Rev = r.Number("rev", MaxRev)
	e.Expires = int64(r.Number("expiry", 1<<62))
	for i := r.Few("tries", 9, keptTries) - 1; i >= 0; i-- {
		e.tries[i] = Try{e.Rev - r.Number("try", e.Rev), r.Uint64()}
		if e.tries[i].Rev == 0 {
			r.Fail("try")
		}
	}
	rest := r.Rest
	readMarks(&r, func(mark) {})
	e.marks = rest[:len(rest)-len(r.Rest)]
	e.Lost = ReadTouched(&r)
	if e.Body = r.Rest; e.Deleted && len(e.Body) > 0 {
		r.Fail("body of a deleted record")
	}
	if r.Err != nil {
		return fmt.Errorf("record envelope: %w", r.Err)
	}
	return nil
}

// Merge adds t to all.
func Merge(all []Touched, t Touched) []Touched {
	i := slices.IndexFunc(all, func(known Touched) bool { return known.Index == t.Index })
	if i < 0 {
		return append(all, Touched{Index: t.Index, Places: slices.Clone(t.Places)})
	}
	known := wire.SetOf(all[i].Places)
	for _, place := range t.Places {
		known.Add(place)
	}
	all[i].Places = known.All()
	return all
}

func AppendTouched(dst []byte, all []Touched) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(all)))
	for _, t := range all {
		dst = wire.AppendText(dst, t.Index)
		dst = binary.AppendUvarint(dst, uint64(len(t.Places)))
		for _, place := range t.Places {
			dst = wire.AppendText(dst, place)
		}
	}
	return dst
}

func ReadTouched(r *wire.Reader) []Touched {
	n := r.Few("indexes", 3, MaxIndexes)
	if n == 0 {
		return nil
	}
	all := make([]Touched, 0, n)
	for range n {
		t := Touched{Index: r.Name("index name")}
		t.Places = make([]string, 0, r.Count("places", 2))
		for range cap(t.Places) {
			t.Places = append(t.Places, r.Name("place"))
		}
		all = append(all, t)
	}
	return all
}
