package boltkv

import (
	"bytes"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/internal/bloom"
)

// Scrub is the result of the last complete read of the file: at open, and then once a day, a
// megabyte a second.
type Scrub struct {
	Ended   time.Time // zero: none has
	Items   uint64
	Damaged uint64 // a get is an ErrCorrupt
	Missing uint64 // lost with the pages that led to them; a get may be an ErrNotFound
	Err     error  // a page was unreadable; the rest was not checked
}

// OK reports whether the scrub found no damage.
func (s Scrub) OK() bool { return s.Damaged == 0 && s.Missing == 0 && s.Err == nil }

// scrub is a scrub in progress. The mover adds to seen its changes of the part already read, so
// items are missing if seen differs from the tree's count at the end.
type scrub struct {
	began time.Time
	at    []byte // nil: not running
	seen  uint64
	found Scrub

	filter *bloom.Filter
}

const scrubbedBytes = 1 << 20

func (sc *scrub) hasPassed(key []byte) bool { return sc.at != nil && bytes.Compare(key, sc.at) < 0 }

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
		sc.found.Err = fmt.Errorf("after %q: %w", sc.at, fail.cause)
	case next != nil:
		sc.at = next
		return nil
	default:
		st, err := s.stateNow()
		if err != nil {
			return err
		}
		// More is an error too: items of another time are back.
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

func (s *Store) isScrubDue() bool {
	began := s.scrub.began
	return began.IsZero() || time.Since(began) >= s.limits.day || s.filter.Load().IsFull()
}

func (s *Store) isFilterWanted() bool {
	now := s.filter.Load()
	return s.scrub.filter != nil && (now == nil || now.IsFull()) && s.failed.Load() == nil
}

// readFrom reads items from sc.at on. It looks the first and the last one of each block up like a
// get: if an inner page is damaged, a cursor finds blocks that a get does not.
func (t *tree) readFrom(sc *scrub) (next []byte) {
	if sc.found.Damaged > 0 {
		sc.filter = nil // Keys not read here may have items.
	}
	var r blockReader
	return t.eachBlock(sc.at, scrubbedBytes, func(first, buf []byte) {
		for r.must(first, buf); r.next(); {
			if bytes.Compare(r.fullKey(), sc.at) < 0 {
				continue
			}
			sc.seen++
			sc.found.Items++
			sc.filter.Add(r.fullKey())
			it, ok := item{}, true
			if r.at == 1 || len(r.head) == 0 {
				it, ok = t.find(r.fullKey())
			} else {
				it = r.item(r.fullKey())
			}
			switch {
			case !ok:
				sc.found.Missing++
			case it.damaged != nil:
				sc.found.Damaged++
			}
		}
	})
}

func (s *Store) stateNow() (st state, err error) {
	fail := s.view(func(t *tree) { st, err = stateOf(t.tx) })
	if fail != nil {
		return st, fail
	}
	return st, err
}

// newFilter returns nil if the filter would take too many bytes. A scrub fills it, and the mover
// adds keys. Removed keys leave their bits until the full filter is replaced.
func (l *limits) newFilter(keys uint64) *bloom.Filter {
	room := keys + keys/2 + l.spare
	if room > uint64(bloom.Room(int(l.filter))) {
		return nil
	}
	return bloom.New(int(room))
}

func addTable(f *bloom.Filter, t *table) {
	if f == nil {
		return
	}
	for key, buf := range t.items {
		if buf != nil {
			f.AddText(key)
		}
	}
}
