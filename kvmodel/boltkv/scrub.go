package boltkv

import (
	"bytes"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/internal/bloom"
)

// Scrub is what was found when all items of the file were last read: without a rest after the
// store was opened, and then once a day, slowly.
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
// some items; what these transactions change where it has passed they add to seen. So at the
// end it has seen as many items as the tree says, or some are missing.
type scrub struct {
	began time.Time
	at    []byte // the key of the next item; nil: none is on its way
	seen  uint64 // items that are where it has passed
	found Scrub

	filter *bloom.Filter // is filled, to be asked if all is well at the end; nil: none is
}

const scrubbedBytes = 1 << 20 // of items, each tick

// hasPassed reports whether the item of key was seen.
func (sc *scrub) hasPassed(key []byte) bool { return sc.at != nil && bytes.Compare(key, sc.at) < 0 }

// scrubSome reads the next items, and begins when it is time to.
func (s *Store) scrubSome() error {
	sc := &s.scrub
	if sc.at == nil {
		if !s.isScrubDue() {
			return nil
		}
		st, err := s.stateNow()
		if err != nil {
			return err
		}
		*sc = scrub{began: time.Now(), at: []byte{}, filter: s.limits.newFilter(st.items)}
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
		st, err := s.stateNow()
		if err != nil {
			return err
		}
		// More than there were is as wrong: items of another time are back.
		sc.found.Missing += max(st.items, sc.seen) - min(st.items, sc.seen)
	}
	found := sc.found
	found.Ended = time.Now()
	if !found.OK() {
		sc.filter = nil
	}
	s.filter.Store(sc.filter)
	sc.at, sc.filter = nil, nil
	s.tell(func(st *Stats) { st.Scrub = found })
	return nil
}

// isScrubDue reports whether a scrub is to begin: the first, that of a new day, or one to
// replace a filter that is worn.
func (s *Store) isScrubDue() bool {
	began := s.scrub.began
	return began.IsZero() || time.Since(began) >= s.limits.day || s.filter.Load().IsFull()
}

// isFilterWanted reports whether the scrub on its way is not to rest, since it fills a filter
// and there is no good one.
func (s *Store) isFilterWanted() bool {
	now := s.filter.Load()
	return s.scrub.filter != nil && (now == nil || now.IsFull()) && s.failed.Load() == nil
}

// readFrom reads items from where sc is on, and returns where to go on; nil at the end. Each
// is looked for as a get would: where a page that leads to others is damaged, not all that
// stand in a row are found.
func (t *tree) readFrom(sc *scrub) (next []byte) {
	if sc.found.Damaged > 0 {
		sc.filter = nil // Other keys than those met here may hold something.
	}
	return t.eachFrom(sc.at, scrubbedBytes, func(key, _ []byte) {
		sc.seen++
		sc.found.Items++
		sc.filter.Add(key)
		switch it, ok := t.find(key); {
		case !ok:
			sc.found.Missing++
		case it.damaged != nil:
			sc.found.Damaged++
		}
	})
}

// stateNow returns what the tree says of itself.
func (s *Store) stateNow() (st state, err error) {
	fail := s.view(func(t *tree) { st, err = stateOf(t.tx) })
	if fail != nil {
		return st, fail
	}
	return st, err
}
