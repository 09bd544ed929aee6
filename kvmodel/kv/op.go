package kv

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// OpGet returns an op that reads key.
func OpGet(key string) Op { return Op{Kind: Get, Key: key} }

// OpSet returns an op that stores value under key unconditionally.
func OpSet(key string, value []byte) Op { return Op{Kind: Set, Key: key, Value: value} }

// OpAdd returns an op that stores value under key if the key is absent.
func OpAdd(key string, value []byte) Op { return Op{Kind: Add, Key: key, Value: value} }

// OpSwap returns an op that stores value under key if the item still has the given version.
func OpSwap(key string, version Version, value []byte) Op {
	return Op{Kind: CompareAndSwap, Key: key, Version: version, Value: value}
}

// OpReplace returns an op that stores value under key if it has not changed since a get returned
// version, which is 0 if the key was absent. [Raced] reports whether it had.
func OpReplace(key string, version Version, value []byte) Op {
	if version == 0 {
		return OpAdd(key, value)
	}
	return OpSwap(key, version, value)
}

// OpDelete returns an op that removes key.
func OpDelete(key string) Op { return Op{Kind: Delete, Key: key} }

// OpDrop returns an op that removes key if the item still has the given version.
func OpDrop(key string, version Version) Op {
	return Op{Kind: CompareAndDelete, Key: key, Version: version}
}

// OpAppend returns an op that appends value to the value of key.
func OpAppend(key string, value []byte) Op { return Op{Kind: Append, Key: key, Value: value} }

// OpIncrement returns an op that adds delta to the number under key.
func OpIncrement(key string, delta int64) Op { return Op{Kind: Increment, Key: key, Delta: delta} }

// For returns the op with a TTL.
func (op Op) For(ttl time.Duration) Op { op.TTL = ttl; return op }

// Err returns the op's error with the op's name, or nil.
func (op *Op) Err() error {
	if op.Result.Err == nil {
		return nil
	}
	return &OpError{Kind: op.Kind, Key: op.Key, Err: op.Result.Err}
}

// Failed reports whether err means that a store could not be reached or did not answer. Never take
// that for "absent".
func Failed(err error) bool { return Failure(err) != nil }

// Unavailable returns an ErrUnavailable that wraps cause.
func Unavailable(cause error) error { return fmt.Errorf("%w: %w", ErrUnavailable, cause) }

// Unclear returns an ErrUnclear with the text of err, the result of repeating a write that got no
// answer before, or nil. It does not wrap err: an ErrUnavailable would say that nothing was done.
func Unclear(err error) error {
	if err == nil || errors.Is(err, ErrUnclear) {
		return err
	}
	return fmt.Errorf("%w: %v", ErrUnclear, err)
}

// Raced reports whether err means that another writer was first: the key has changed since it was
// read, or exists although it should not.
func Raced(err error) bool {
	return errors.Is(err, ErrConflict) || errors.Is(err, ErrExists) || errors.Is(err, ErrNotFound)
}

// Change repeats write, which reads key and writes it if it has not changed since, until no other
// writer was first and the outcome is clear. After 16 attempts it returns an ErrConflict. Once an
// outcome was unclear, it returns nil or an ErrUnclear.
func Change(key string, write func() error) error {
	err, unclear := error(nil), false
	for range 16 {
		err = write()
		if !Raced(err) && !errors.Is(err, ErrUnclear) {
			break
		}
		unclear = unclear || errors.Is(err, ErrUnclear)
	}
	switch {
	case unclear:
		return Unclear(err)
	case Raced(err):
		return fmt.Errorf("%s: %w", key, ErrConflict)
	}
	return err
}

// Unanswered returns the error that Do owes for ops: the first failure, with the number of similar
// ones, or nil. Backends call it last.
func Unanswered(ops []Op) error {
	for i := range ops {
		err := ops[i].Result.Err
		if err == nil {
			continue
		}
		if failure := Failure(err); failure != nil {
			return &OpError{ops[i].Kind, ops[i].Key, err, count(ops[i+1:], failure)}
		}
	}
	return nil
}

func count(ops []Op, failure error) (n int) {
	for i := range ops {
		if Failure(ops[i].Result.Err) == failure {
			n++
		}
	}
	return n
}

// Check clears the results of ops, refuses those that break the contract's limits, and returns the
// number of the others. Backends call it first.
func Check(ops []Op, powers Powers) int {
	good := 0
	var chains Chains
	for i := range ops {
		op := &ops[i]
		op.Result = Result{Err: op.check(powers)}
		if op.Result.Err == nil && !chains.Skips(op) {
			good++
		}
		chains.Note(op)
	}
	return good
}

// Fail sets err on every op without an error and returns the error that Do owes, for a trip that
// failed as a whole.
func Fail(ops []Op, err error) error {
	for i := range ops {
		if ops[i].Result.Err == nil {
			ops[i].Result = Result{Err: err}
		}
	}
	return Unanswered(ops)
}

func (op *Op) check(powers Powers) error {
	if err := CheckKey(op.Key); err != nil {
		return err
	}
	if len(op.Value) > MaxValue {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(op.Value), MaxValue)
	}
	stores := op.Kind == Set || op.Kind == Add || op.Kind == CompareAndSwap
	compares := op.Kind == CompareAndSwap || op.Kind == CompareAndDelete
	switch {
	case op.Kind < Get || op.Kind > Increment:
		return fmt.Errorf("%w: unknown kind %d", ErrBadOp, op.Kind)
	case op.TTL < 0 || op.TTL > MaxTTL:
		return fmt.Errorf("%w: TTL %v is not in 0..%v", ErrBadOp, op.TTL, MaxTTL)
	case op.TTL != 0 && !stores:
		return fmt.Errorf("%w: %v takes no TTL", ErrBadOp, op.Kind)
	case compares && op.Version == 0:
		return fmt.Errorf("%w: %v needs a version from a get", ErrBadOp, op.Kind)
	case op.Kind == Increment && (op.Delta > MaxNumber || op.Delta < -MaxNumber):
		return fmt.Errorf("%w: delta %d is not in ±%d", ErrBadOp, op.Delta, int64(MaxNumber))
	case len(op.Unless) > 0 && op.Kind != Append:
		return fmt.Errorf("%w: %v takes no Unless", ErrBadOp, op.Kind)
	case op.Chain != 0 && !powers.Ordered:
		return fmt.Errorf("%w: this store does not keep the order of ops, so they cannot be a chain", ErrBadOp)
	case len(op.Unless) > 0 && !powers.Unless:
		return fmt.Errorf("%w: this store cannot append unless sealed", ErrBadOp)
	}
	return nil
}

// One carries out a single op. The error names the op and wraps its sentinel.
func One(ctx context.Context, s Store, op Op) (Result, error) {
	one := ones.Get().(*[1]Op)
	defer func() {
		one[0] = Op{}
		ones.Put(one)
	}()
	one[0] = op
	_ = s.Do(ctx, one[:])
	return one[0].Result, one[0].Err()
}

var ones = sync.Pool{New: func() any { return new([1]Op) }}

// GetAll reads keys in one trip, in order. An absent key has ErrNotFound. The error is not nil if
// the store could not be asked for some key. Do not take such a key for absent.
func GetAll(ctx context.Context, s Store, keys ...string) ([]Result, error) {
	return GetDecoded(ctx, s, nil, keys...)
}

// GetDecoded is GetAll with a Decoder for the values, which may be nil.
func GetDecoded(ctx context.Context, s Store, d Decoder, keys ...string) ([]Result, error) {
	g := newGetting(ctx, s, len(keys))
	if slices.Contains(keys, "") {
		g.memory, g.prefix = nil, "" // an empty key must stay a bad key
	}
	for _, key := range keys {
		if g.memory != nil {
			begin := len(g.text)
			g.text = append(append(g.text, g.prefix...), key...)
			key = textOf(g.text[begin:])
		}
		g.gets = append(g.gets, NearGet{key, d, g.sparse})
	}
	defer g.leave()
	results := make([]Result, len(keys))
	return results, g.do(results)
}

// GetEach is GetAll for the keys of each text in every family; texts come from [JoinText]. The
// results hold all families of the first text, then all of the next. d, which may be nil, decodes
// the values of the first family.
func GetEach(ctx context.Context, s Store, d Decoder, families []Family, texts []string) ([]Result, error) {
	g := gettingEach(ctx, s, d, families, texts)
	defer g.leave()
	results := make([]Result, len(g.gets))
	return results, g.do(results)
}

// RecallEach is GetEach from memory, without a trip. ok reports whether all results are there.
func RecallEach(ctx context.Context, s Store, d Decoder, families []Family, texts []string) (results []Result, ok bool) {
	g := gettingEach(ctx, s, d, families, texts)
	defer g.leave()
	if g.memory == nil {
		return nil, false
	}
	results = make([]Result, len(g.gets))
	return results, g.memory.Recall(g.gets, results)
}

// UseEach calls use with the results GetEach would return. use must not retain the slice, but may
// retain the values in it.
func UseEach(ctx context.Context, s Store, d Decoder, families []Family, texts []string, use func([]Result) error) error {
	g := gettingEach(ctx, s, d, families, texts)
	defer g.leave()
	g.results = append(g.results, make([]Result, len(g.gets))...)
	if err := g.do(g.results); err != nil {
		return err
	}
	return use(g.results)
}

func gettingEach(ctx context.Context, s Store, d Decoder, families []Family, texts []string) getting {
	g := newGetting(ctx, s, len(families)*len(texts))
	room := new([]byte) // a store gets keys with memory of their own
	if g.memory != nil {
		room = &g.text
	}
	*room = eachKey(*room, g.prefix, families, texts, func(key string) {
		get := NearGet{Key: key, Sparse: g.sparse}
		if len(g.gets)%len(families) == 0 {
			get.Decode = d
		}
		g.gets = append(g.gets, get)
	})
	return g
}

// getting is the gets of one trip. The trip is skipped if a Memory answers them.
type getting struct {
	*getRoom
	ctx    context.Context
	store  Store
	memory Memory // nil: none
	prefix string // of each key
	sparse bool   // for the gets
}

// getRoom is reusable memory, which would be most of the allocations of GetAll.
type getRoom struct {
	class   int
	ops     []Op
	gets    []NearGet
	results []Result
	text    []byte // of the keys of gets from a Memory, which does not retain them
}

var getRooms pools[getRoom]

// leave returns r to the pool, emptied so that it keeps no values alive.
func (r *getRoom) leave() {
	clear(r.ops)
	clear(r.gets)
	clear(r.results)
	r.ops, r.gets, r.results, r.text = r.ops[:0], r.gets[:0], r.results[:0], r.text[:0]
	getRooms.put(r.class, r)
}

// newGetting returns a getting with room for n gets.
func newGetting(ctx context.Context, s Store, n int) getting {
	g := getting{getRoom: getRooms.take(n), ctx: ctx, store: s}
	g.class, g.gets = classOf(n), slices.Grow(g.gets, n)
	if n, ok := s.(near); ok {
		g.memory, g.prefix = n.Memory(ctx)
		g.sparse = n.sparse
	}
	return g
}

// do stores the results of the gets in results.
func (g *getting) do(results []Result) error {
	if g.memory != nil && g.memory.Recall(g.gets, results) {
		return nil
	}
	g.ops = slices.Grow(g.ops, len(g.gets))
	for _, get := range g.gets {
		key := get.Key[len(g.prefix):]
		if g.memory != nil {
			key = strings.Clone(key)
		}
		g.ops = append(g.ops, Op{Kind: Get, Key: key, Decode: get.Decode})
	}
	err := g.store.Do(g.ctx, g.ops)
	for i := range g.ops {
		results[i] = g.ops[i].Result
	}
	return err
}

// AppendSurely appends value and repeats that while the outcome is unclear, so value may be there
// twice. Once an outcome was unclear, it returns nil or an ErrUnclear.
func AppendSurely(ctx context.Context, s Store, key string, value []byte) error {
	_, err := One(ctx, s, OpAppend(key, value))
	for try := 1; try < 3 && errors.Is(err, ErrUnclear); try++ {
		_, err = One(ctx, s, OpAppend(key, value))
		err = Unclear(err)
	}
	return err
}

// Next adds delta to the number under key, which starts from first, and returns the sum. It costs
// one trip, the first time three.
func Next(ctx context.Context, s Store, key string, first, delta int64) (int64, error) {
	for {
		r, err := One(ctx, s, OpIncrement(key, delta))
		if !errors.Is(err, ErrNotFound) {
			return r.Number, err
		}
		_, err = One(ctx, s, OpAdd(key, strconv.AppendInt(nil, first, 10)))
		if err != nil && !errors.Is(err, ErrExists) {
			return 0, err
		}
	}
}

// Adjust adds delta to the number under key, which never goes below 0, and returns the sum. An
// absent number starts with max(0, delta), for ttl (0: forever). It costs one trip, the first time
// two.
func Adjust(ctx context.Context, s Store, key string, delta int64, ttl time.Duration) (int64, error) {
	for {
		r, err := One(ctx, s, OpIncrement(key, delta))
		if !errors.Is(err, ErrNotFound) {
			return r.Number, err
		}
		first := max(0, delta)
		_, err = One(ctx, s, OpAdd(key, strconv.AppendInt(nil, first, 10)).For(ttl))
		if !errors.Is(err, ErrExists) {
			return first, err
		}
	}
}

// ParseNumber returns the number in the value of an Increment: decimal digits, at most MaxNumber.
// Otherwise the error is an ErrNotNumber.
func ParseNumber(value []byte) (int64, error) {
	n := int64(0)
	for _, c := range value {
		if c < '0' || c > '9' || n > MaxNumber/10 {
			return 0, fmt.Errorf("%w: %.40q", ErrNotNumber, value)
		}
		n = 10*n + int64(c-'0')
	}
	if len(value) == 0 || n > MaxNumber {
		return 0, fmt.Errorf("%w: %.40q", ErrNotNumber, value)
	}
	return n, nil
}
