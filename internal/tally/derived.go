package tally

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Derived is a sum over the members of lists, one number for each list; in a count each adds 1. A
// change of a list adds its share in the trip of its commit and takes it back if it does not
// commit. If an answer is missing, or a number or process is lost, it is in doubt and recounted:
// see [Derived.Doubt].
type Derived struct {
	numbers
	lists atomic.Pointer[Lists]
	sure  atomic.Pointer[SureFollower] // nil: none
	seen  seen
	doubts
}

// Lists are the lists summed up by a derived number.
type Lists interface {
	Members(ctx context.Context, s kv.Store, id string) (Members, error)

	// Mend removes entries that no record confirms. No change of the list may be in flight.
	Mend(ctx context.Context, s kv.Store, id string) (mended bool, err error)
}

// Members are a list's total at one moment, and a checksum that changes if others are in it, or one
// has changed or come back.
type Members struct {
	N   int64
	Sum uint64
}

var (
	derivedKey = kv.NewClass("c", 3) // model, counter, id text

	_ Counter = (*Derived)(nil)
)

// The stored numbers for 0. A store's numbers end at 0, so a subtraction that overtakes its
// addition would be forgotten there.
const (
	countZero = 1 << 40
	sumZero   = kv.MaxNumber / 2
)

func NewDerived(base Base, model, counter string) *Derived {
	return &Derived{numbers: numbers{base: base, model: model, counter: counter, keys: derivedKey.Family(model, counter), zero: countZero}}
}

func NewSum(base Base, model, counter string) *Derived {
	d := NewDerived(base, model, counter)
	d.zero, d.signed = sumZero, true
	return d
}

func (d *Derived) stored(n int64) []byte { return strconv.AppendInt(nil, d.zero+n, 10) }

func (d *Derived) Over(l Lists) {
	if !d.lists.CompareAndSwap(nil, &l) {
		panic("kvmodel: " + d.model + "." + d.counter + " follows other lists already")
	}
}

func (d *Derived) FollowSurely(f SureFollower) { d.sure.Store(&f) }

// Followed makes the SureFollower, if any, agree with the numbers of ids: a step of the write path.
func (d *Derived) Followed(ctx context.Context, s kv.Store, ids []string) error {
	sure := d.sure.Load()
	if sure == nil || len(ids) == 0 {
		return nil
	}
	return (*sure).Follow(ctx, s, ids)
}

func (d *Derived) Name() string { return d.model + "." + d.counter }

func (d *Derived) Known(ctx context.Context, s kv.Store, ids []string) ([]int64, error) {
	counts, errs, err := d.countEach(ctx, s, ids)
	for i := range errs {
		if errs[i] != nil {
			counts[i] = None
		}
	}
	return counts, err
}

func (d *Derived) Begin(ctx context.Context, s kv.Store, id string) bool {
	if d.seen.has(id) {
		return false
	}
	_, err := kv.One(ctx, s, kv.OpAdd(d.Key(id), d.stored(0)))
	if err == nil || errors.Is(err, kv.ErrExists) {
		d.seen.put(id)
	}
	return !errors.Is(err, kv.ErrExists)
}

// End removes the number of id if it is 0. A later change finds none and has it recounted.
func (d *Derived) End(ctx context.Context, s kv.Store, id string) error {
	r, err := kv.One(ctx, s, kv.OpGet(d.Key(id)))
	if err == nil && string(r.Value) == string(d.stored(0)) {
		d.seen.drop(id)
		_, err = kv.One(ctx, s, kv.OpDrop(d.Key(id), r.Version))
	}
	if errors.Is(err, kv.ErrNotFound) || kv.Raced(err) {
		return nil
	}
	return err
}

func (d *Derived) Add(ctx context.Context, s kv.Store, id string, delta int64) (int64, error) {
	r, err := kv.One(ctx, s, kv.OpIncrement(d.Key(id), delta))
	if err != nil {
		d.seen.drop(id)
		return 0, err
	}
	return d.shown(r.Number), nil
}

// Tell calls the followers, as a step of the write path: the number of id changed by delta and is
// sum, None if unknown. A delta of 0 is a correction.
func (d *Derived) Tell(ctx context.Context, s kv.Store, id string, delta, sum int64) {
	d.tellAll(ctx, s, []Told{{ID: id, Delta: delta, Sum: sum}})
}

// Told is a change of the number of ID by Delta, which makes it Sum.
type Told struct {
	ID         string
	Delta, Sum int64
	Begins     bool // the list began in this transaction, so Delta is its total
}

// AddAll makes changes in a transaction, those of a number together, and calls the followers. It
// counts the list of a missing number, unless it began.
func (d *Derived) AddAll(ctx context.Context, s kv.Store, all []Told) error {
	slices.SortFunc(all, func(a, b Told) int { return strings.Compare(a.ID, b.ID) })
	sums := all[:0]
	for _, t := range all {
		if last := len(sums) - 1; last >= 0 && sums[last].ID == t.ID {
			sums[last].Delta += t.Delta
		} else {
			sums = append(sums, t)
		}
	}
	ops := make([]kv.Op, len(sums))
	for i, t := range sums {
		if ops[i] = kv.OpIncrement(d.Key(t.ID), t.Delta); t.Begins {
			ops[i] = kv.OpAdd(ops[i].Key, d.stored(t.Delta))
		}
	}
	_ = s.Do(ctx, ops) // each op has its own result
	for i := range sums {
		t, err := &sums[i], ops[i].Err()
		switch {
		case errors.Is(err, kv.ErrExists):
			t.Sum, err = d.Add(ctx, s, t.ID, t.Delta)
		case errors.Is(err, kv.ErrNotFound):
			if t.Sum, err = d.Count(ctx, s, t.ID); err != nil {
				return err
			}
		case t.Begins:
			t.Sum = t.Delta
		default:
			t.Sum = d.shown(ops[i].Result.Number)
		}
		if err != nil {
			return fmt.Errorf("%s of %q: %w", d.Name(), t.ID, err)
		}
	}
	d.tellAll(ctx, s, sums)
	return nil
}

func (d *Derived) tellAll(ctx context.Context, s kv.Store, all []Told) {
	for _, t := range all {
		if t.Delta != 0 {
			d.warn(t.ID, kv.Together(ctx, s, d.counting(ctx, t.ID, t.Delta)...))
		}
	}
	d.tellSoon(ctx, all)
}

// Count recounts id in a transaction.
func (d *Derived) Count(ctx context.Context, s kv.Store, id string) (int64, error) {
	m, err := (*d.lists.Load()).Members(ctx, s, id)
	if err != nil {
		return 0, fmt.Errorf("%s of %q: %w", d.Name(), id, err)
	}
	_, err = kv.One(ctx, s, kv.OpSet(d.Key(id), d.stored(m.N)))
	return m.N, err
}

// seen is only a hint: a store may drop a number at any time.
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
