package tally

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"strconv"
	"sync/atomic"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Derived is a count of list members, one number per list. It belongs to the lists, not to a
// record: it exists before the record is created and after it is deleted. A change of a list adds
// its share in the trip of its commit, and takes it back if it does not commit.
//
// If an answer is missing, or a number or a process is lost, the number is in doubt: it is
// recounted from the list. See [Derived.Doubt].
type Derived struct {
	numbers
	lists atomic.Pointer[Lists]
	sure  atomic.Pointer[SureFollower] // nil: none
	seen  seen
	doubts
}

// Lists are the lists that a derived count counts.
type Lists interface {
	// Members returns the members of the list of id.
	Members(ctx context.Context, s kv.Store, id string) (Members, error)

	// Mend removes entries from the list of id that no record confirms, and reports whether there
	// were any. No change of the list may be in flight.
	Mend(ctx context.Context, s kv.Store, id string) (mended bool, err error)
}

// Members are the members of a list at one moment: their number, and a sum that differs if the list
// has other members, or one has left and returned.
type Members struct {
	N   int
	Sum uint64
}

var (
	derivedKey = kv.NewClass("c", 3) // model, counter, id text

	_ Counter = (*Derived)(nil)
)

// zero is the stored value for 0. Numbers in a store end at 0, so a subtraction that overtakes its
// addition would otherwise be lost.
const zero = 1 << 40

func stored(n int64) []byte { return strconv.AppendInt(nil, zero+n, 10) }

// NewDerived returns the derived count of that name in a model.
func NewDerived(base Base, model, counter string) *Derived {
	return &Derived{numbers: numbers{base: base, model: model, counter: counter, keys: derivedKey.Family(model, counter), zero: zero}}
}

// Over sets the lists that are counted. Call it at start-up, at most once.
func (d *Derived) Over(l Lists) {
	if !d.lists.CompareAndSwap(nil, &l) {
		panic("kvmodel: " + d.model + "." + d.counter + " counts the members of other lists already")
	}
}

// FollowSurely makes f follow all numbers. Call it at start-up, at most once.
func (d *Derived) FollowSurely(f SureFollower) { d.sure.Store(&f) }

// Followed returns nil once the SureFollower, if any, agrees with the numbers of ids. A change that
// has added to one calls it as a step of the write path on its store.
func (d *Derived) Followed(ctx context.Context, s kv.Store, ids []string) error {
	sure := d.sure.Load()
	if sure == nil || len(ids) == 0 {
		return nil
	}
	return (*sure).Follow(ctx, s, ids)
}

// Name returns the name of the count in messages and definitions.
func (d *Derived) Name() string { return d.model + "." + d.counter }

// Counts returns the numbers of these records, -1 for missing ones.
func (d *Derived) Counts(ctx context.Context, s kv.Store, ids []string) ([]int64, error) {
	counts, errs, err := d.countEach(ctx, s, ids)
	for i := range errs {
		if errs[i] != nil {
			return nil, d.failure(ids[i], errs[i])
		}
	}
	return counts, err
}

// Known is Counts, but returns -1 also for damaged numbers. Callers that can have the count redone
// treat both as unknown.
func (d *Derived) Known(ctx context.Context, s kv.Store, ids []string) ([]int64, error) {
	counts, errs, err := d.countEach(ctx, s, ids)
	for i := range errs {
		if errs[i] != nil {
			counts[i] = -1
		}
	}
	return counts, err
}

// countEach returns the numbers of ids, -1 for missing ones, and an ErrNotNumber for each damaged
// one.
func (d *Derived) countEach(ctx context.Context, s kv.Store, ids []string) (counts []int64, errs []error, err error) {
	results, err := kv.GetAll(ctx, s, kv.Texts(ids, d.Key)...)
	if err != nil {
		return nil, nil, err
	}
	counts, errs = make([]int64, len(ids)), make([]error, len(ids))
	for i, r := range results {
		counts[i], errs[i] = d.Number(-1, r)
	}
	return counts, errs, nil
}

// Begin creates the number 0 for id unless there is one. It reports whether it did, or may have.
// One trip, none if this process has seen the number.
func (d *Derived) Begin(ctx context.Context, s kv.Store, id string) bool {
	if d.seen.has(id) {
		return false
	}
	_, err := kv.One(ctx, s, kv.OpAdd(d.Key(id), stored(0)))
	if err == nil || errors.Is(err, kv.ErrExists) {
		d.seen.put(id)
	}
	return !errors.Is(err, kv.ErrExists)
}

// End removes the number of id if it is 0. A change about to add to it then finds none, and has it
// recounted.
func (d *Derived) End(ctx context.Context, s kv.Store, id string) error {
	r, err := kv.One(ctx, s, kv.OpGet(d.Key(id)))
	if err == nil && string(r.Value) == string(stored(0)) {
		d.seen.drop(id)
		_, err = kv.One(ctx, s, kv.OpDrop(d.Key(id), r.Version))
	}
	if errors.Is(err, kv.ErrNotFound) || kv.Raced(err) {
		return nil
	}
	return err
}

// Add adds delta to the number of id and returns the sum. After an error, even an ErrNotFound, the
// number is in doubt. Followers are not called. One trip.
func (d *Derived) Add(ctx context.Context, s kv.Store, id string, delta int64) (int64, error) {
	r, err := kv.One(ctx, s, kv.OpIncrement(d.Key(id), delta))
	if err != nil {
		d.seen.drop(id)
		return 0, err
	}
	return max(0, r.Number-zero), nil
}

// Tell calls the followers, as a step of the write path on its store: the number of id changed by
// delta to sum, or -1 if unknown. A delta of 0 is a correction.
func (d *Derived) Tell(ctx context.Context, s kv.Store, id string, delta, sum int64) {
	if delta != 0 {
		d.warn(id, kv.Together(ctx, s, d.counting(ctx, id, delta)...))
	}
	d.tellSoon(ctx, id, delta, sum)
}

// Count recounts id in a transaction and returns the number.
func (d *Derived) Count(ctx context.Context, s kv.Store, id string) (int64, error) {
	m, err := (*d.lists.Load()).Members(ctx, s, id)
	if err != nil {
		return 0, fmt.Errorf("%s of %q: %w", d.Name(), id, err)
	}
	_, err = kv.One(ctx, s, kv.OpSet(d.Key(id), stored(int64(m.N))))
	return int64(m.N), err
}

// seen remembers some ids with a number seen by this process. That is only a hint: a store may drop
// a number at any time.
type seen [1024]atomic.Uint64

var seed = maphash.MakeSeed()

func (s *seen) slot(id string) (*atomic.Uint64, uint64) {
	hash := maphash.String(seed, id) | 1
	return &s[hash>>1%uint64(len(s))], hash
}

func (s *seen) has(id string) bool {
	slot, hash := s.slot(id)
	return slot.Load() == hash
}

func (s *seen) put(id string) {
	slot, hash := s.slot(id)
	slot.Store(hash)
}

func (s *seen) drop(id string) {
	slot, hash := s.slot(id)
	slot.CompareAndSwap(hash, 0)
}
