package boltkv

import (
	"bytes"
	"fmt"
	"time"
)

// Scrub is what was found when all items of the file were last read, which is done once a
// day, slowly.
type Scrub struct {
	Ended   time.Time // zero if it has not ended since the store was opened
	Items   uint64
	Damaged uint64 // items that are not what was written; a get of one is an ErrCorrupt
	Missing uint64 // items that vanished with what led to them; a get of one may say that it is absent
	Err     error  // not nil: the scrub came to a page that it cannot read, and what is behind it was not looked at
}

// OK reports whether nothing was wrong.
func (s Scrub) OK() bool { return s.Damaged == 0 && s.Missing == 0 && s.Err == nil }

// scrub is one on its way through the tree. In between transactions of the mover it reads
// some items; what these transactions change of the items that it has passed they add to
// what it has seen. So at the end it has seen what the census says, or something is wrong.
type scrub struct {
	began time.Time
	at    []byte // the key of the next item; nil: none is on its way
	seen  census
	found Scrub
}

const scrubbedBytes = 1 << 20 // of items, each tick

// hasPassed reports whether the item of key was seen.
func (sc *scrub) hasPassed(key []byte) bool { return sc.at != nil && bytes.Compare(key, sc.at) < 0 }

// scrubSome reads the next items, and begins when it is time to.
func (s *Store) scrubSome() error {
	sc := &s.scrub
	if sc.at == nil {
		if !sc.began.IsZero() && time.Since(sc.began) < s.limits.day {
			return nil
		}
		*sc = scrub{began: time.Now(), at: []byte{}}
	}
	var next []byte
	fail := s.view(func(t *tree) { next = t.readFrom(sc) })
	switch {
	case s.failed.Load() != nil:
		return fail
	case fail != nil:
		sc.found.Err = fmt.Errorf("behind %q: %w", sc.at, fail.cause)
	case next != nil:
		sc.at = next
		return nil
	default:
		if err := s.compare(sc); err != nil {
			return err
		}
	}
	found := sc.found
	found.Ended = time.Now()
	sc.at = nil
	s.scrubbed.Store(&found)
	return nil
}

// readFrom reads items from where sc is on, and returns where to go on; nil at the end.
func (t *tree) readFrom(sc *scrub) (next []byte) {
	size := 0
	c := t.items.Cursor()
	for key, buf := c.Seek(sc.at); key != nil; key, buf = c.Next() {
		if size > scrubbedBytes {
			return bytes.Clone(key)
		}
		size += len(key) + len(buf)
		it := decode(key, buf)
		sc.seen.enter(buf, it)
		sc.found.Items++
		if it.damaged != nil {
			sc.found.Damaged++
		}
	}
	return nil
}

// compare notes what is missing from what sc has seen. Where the census has lost its sum
// to damaged items, and all is well again, it gets a new one.
func (s *Store) compare(sc *scrub) error {
	var all state
	if fail := s.view(func(t *tree) {
		var err error
		all, err = stateOf(t.tx)
		must(err)
	}); fail != nil {
		return fail
	}
	switch {
	case sc.seen.count != all.count:
		// More than there were is as wrong: items of another time are back.
		sc.found.Missing = max(all.count, sc.seen.count) - min(all.count, sc.seen.count)
	case sc.seen.vague:
	case all.vague:
		return s.update(func(t *tree) { t.setState(func(st *state) { st.census = sc.seen }) })
	case sc.seen.sum != all.sum:
		sc.found.Missing = 1 // At least: an item of another time stands in its place.
	}
	return nil
}
