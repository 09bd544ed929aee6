package proof_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

type wrapper = func(kv.Store) kv.Store

type brokenStore struct {
	Name  string
	Wrap  wrapper
	Cases string
}

func brokenNamed(name string) brokenStore {
	i := slices.IndexFunc(brokenStores, func(s brokenStore) bool { return s.Name == name })
	if i < 0 {
		panic("no broken store is called " + name)
	}
	return brokenStores[i]
}

// brokenStores must be noticed by the suite, Metamorphic and Linearizable.
var brokenStores = []brokenStore{
	{"Add overwrites", before(func(op *kv.Op) {
		if op.Kind == kv.Add {
			op.Kind = kv.Set
		}
	}), "add/present add/twice add/empty-is-present concurrent/add trip/same-key-adds clients/add"},

	{"CompareAndSwap compares nothing", instead(kv.CompareAndSwap, func(s kv.Store, op kv.Op) kv.Result {
		return doSlowly(s, kv.OpSet(op.Key, op.Value).For(op.TTL))
	}), "swap/stale swap/absent swap/twice version/made-up concurrent/swap concurrent/swap-loop concurrent/append-and-swap clients/stale"},

	{"CompareAndDelete compares nothing", instead(kv.CompareAndDelete, func(s kv.Store, op kv.Op) kv.Result {
		return doSlowly(s, kv.OpDelete(op.Key))
	}), "drop/stale version/made-up clients/stale"},

	{"CompareAndDelete is two steps", instead(kv.CompareAndDelete, func(s kv.Store, op kv.Op) kv.Result {
		if r := doSlowly(s, kv.OpGet(op.Key)); r.Err != nil || r.Version != op.Version {
			return kv.Result{Err: kv.ErrNotFound}
		}
		_ = doSlowly(s, kv.OpDelete(op.Key))
		return kv.Result{}
	}), "drop/stale concurrent/drop"},

	{"a version is a hash of the value", after(func(op *kv.Op) {
		if op.Kind == kv.Get && op.Result.Err == nil {
			op.Result.Version = hash(op.Result.Value)
		}
	}), "version/re-add version/there-and-back version/set-same-value version/never-twice kept/no-version-again"},

	{"Append creates", instead(kv.Append, func(s kv.Store, op kv.Op) kv.Result {
		r := doSlowly(s, op)
		if errors.Is(r.Err, kv.ErrNotStored) {
			return doSlowly(s, kv.OpAdd(op.Key, op.Value))
		}
		return r
	}), "append/absent append/nothing-to-absent append/after-delete drop/leaves-nothing"},

	{"Append is two steps and forgets the TTL", instead(kv.Append, func(s kv.Store, op kv.Op) kv.Result {
		r := doSlowly(s, kv.OpGet(op.Key))
		if r.Err != nil {
			return kv.Result{Err: kv.ErrNotStored}
		}
		return doSlowly(s, kv.OpSet(op.Key, append(r.Value, op.Value...)))
	}), "concurrent/append concurrent/append-by-clients ttl/kept-by-append append/full"},

	{"Append does not honor Unless", before(func(op *kv.Op) {
		if op.Kind == kv.Append {
			op.Unless = nil
		}
	}), "unless/sealed unless/whole-value unless/sealing unless/in-pieces"},

	{"Increment creates", instead(kv.Increment, func(s kv.Store, op kv.Op) kv.Result {
		n, err := kv.Next(context.Background(), s, op.Key, op.Delta, op.Delta)
		return kv.Result{Number: n, Err: err}
	}), "increment/absent drop/leaves-nothing expired/increment"},

	{"Increment is two steps", instead(kv.Increment, func(s kv.Store, op kv.Op) kv.Result {
		n, err := kv.ParseNumber(doSlowly(s, kv.OpGet(op.Key)).Value)
		if err != nil {
			return kv.Result{Err: err}
		}
		n = max(n+op.Delta, 0)
		return kv.Result{Number: n, Err: doSlowly(s, kv.OpSet(op.Key, strconv.AppendInt(nil, n, 10))).Err}
	}), "concurrent/increment concurrent/increment-by-clients concurrent/decrement ttl/kept-by-increment not-number/past-the-most"},

	{"Increment counts in floating point", after(func(op *kv.Op) {
		if op.Kind == kv.Increment {
			op.Result.Number = int64(float64(op.Result.Number))
		}
	}), "increment/past-float increment/large-delta increment/the-most-down"},

	{"a number that loses a digit is padded", after(func(op *kv.Op) {
		if op.Kind == kv.Get && string(op.Result.Value) == "9" {
			op.Result.Value = []byte("9 ")
		}
	}), "increment/shorter increment/shorter-in-many"},

	{"numbers are trimmed of blanks that a client wrote", after(func(op *kv.Op) {
		if op.Kind == kv.Get && op.Result.Err == nil {
			op.Result.Value = bytes.TrimRight(op.Result.Value, " ")
		}
	}), "value/number-and-blanks value/blanks"},

	{"an oversize value removes the old one", trip(func(ctx context.Context, s kv.Store, ops []kv.Op) error {
		err := s.Do(ctx, ops)
		for i := range ops {
			if errors.Is(ops[i].Result.Err, kv.ErrTooLarge) {
				_ = doSlowly(s, kv.OpDelete(ops[i].Key))
			}
		}
		return err
	}), "too-large/set too-large/swap too-large/append too-large/set-over-full"},

	{"what failed is absent", after(func(op *kv.Op) {
		if kv.Failed(op.Result.Err) {
			op.Result.Err = kv.ErrNotFound
		}
	}), "close/ops-later context/canceled context/expired"},

	{"Do returns an error for an answer", trip(func(ctx context.Context, s kv.Store, ops []kv.Op) error {
		_ = s.Do(ctx, ops)
		for i := range ops {
			if ops[i].Result.Err != nil {
				return ops[i].Err()
			}
		}
		return nil
	}), "get/absent trip/answers-are-no-error bad-key/empty"},

	{"Do returns nil though it failed", trip(func(ctx context.Context, s kv.Store, ops []kv.Op) error {
		_ = s.Do(ctx, ops)
		return nil
	}), "close/ops-later context/canceled"},

	{"the context is not looked at", trip(func(_ context.Context, s kv.Store, ops []kv.Op) error {
		return s.Do(context.Background(), ops)
	}), "context/canceled context/expired context/refused-first"},

	{"the reason of a canceled context is lost", after(func(op *kv.Op) {
		if errors.Is(op.Result.Err, kv.ErrUnavailable) {
			op.Result.Err = kv.ErrUnavailable
		}
	}), "context/canceled context/expired"},

	{"an empty value is read as nil", after(func(op *kv.Op) {
		if len(op.Result.Value) == 0 {
			op.Result.Value = nil
		}
	}), "get/nil-value set/empty-over-full value/empty"},

	{"old results are left", trip(func(ctx context.Context, s kv.Store, ops []kv.Op) error {
		old := slices.Clone(ops)
		err := s.Do(ctx, ops)
		for i := range ops {
			if ops[i].Result.Value == nil {
				ops[i].Result.Value = old[i].Result.Value
			}
		}
		return err
	}), "result/reset"},

	{"a trip does each key once", trip(func(ctx context.Context, s kv.Store, ops []kv.Op) error {
		seen := make(map[string]int)
		for i := range ops {
			if at, ok := seen[ops[i].Key]; ok {
				ops[i].Result = ops[at].Result
				continue
			}
			seen[ops[i].Key] = i
			_ = s.Do(ctx, ops[i:i+1])
		}
		return kv.Unanswered(ops)
	}), "trip/same-key-increments trip/same-key-adds trip/same-key-drops trip/same-key-appends trip/same-key-gets trip/same-key-deletes"},

	{"a trip ends after 500 ops", trip(func(ctx context.Context, s kv.Store, ops []kv.Op) error {
		return s.Do(ctx, ops[:min(len(ops), 500)])
	}), "trip/1000-gets trip/1000-sets trip/500-mixed"},

	{"the ops of a trip are done from the last to the first", trip(func(ctx context.Context, s kv.Store, ops []kv.Op) error {
		for i := range slices.Backward(ops) {
			_ = s.Do(ctx, ops[i:i+1])
		}
		return kv.Unanswered(ops)
	}), "trip/ordered trip/ordered-many"},

	{"one bad key spoils the trip", trip(func(ctx context.Context, s kv.Store, ops []kv.Op) error {
		for i := range ops {
			if kv.CheckKey(ops[i].Key) != nil {
				for j := range ops {
					ops[j].Result = kv.Result{Err: kv.ErrBadKey}
				}
				return nil
			}
		}
		return s.Do(ctx, ops)
	}), "key/bad-among-good context/refused-first"},

	{"Do changes the ops it is given", before(func(op *kv.Op) {
		if len(op.Value) > 0 {
			op.Value[0] ^= 1
		}
	}), "set/absent value/all-bytes"},

	{"keys are folded to lower case", before(func(op *kv.Op) { op.Key = strings.ToLower(op.Key) }), "key/case-sensitive key/punctuation"},
	{"long keys are cut", before(func(op *kv.Op) { op.Key = op.Key[:min(len(op.Key), kv.MaxKey-1)] }), "key/longest bad-key/too-long"},
	{"bad keys are escaped", before(func(op *kv.Op) { op.Key = strings.ReplaceAll(op.Key, "{", "%7B") }), "bad-key/open-brace"},
	{"values are cut at a line end", before(func(op *kv.Op) { op.Value, _, _ = bytes.Cut(op.Value, []byte("\r\n")) }), "value/line-end value/memcached-end"},

	{"a TTL of more than 30 days is a date", before(func(op *kv.Op) {
		if op.TTL > 30*24*time.Hour && op.TTL <= kv.MaxTTL {
			op.TTL = 1
		}
	}), "ttl/over-30-days ttl/longest"},
	{"a TTL is not kept to", before(func(op *kv.Op) {
		if op.TTL > 0 && op.TTL <= kv.MaxTTL && op.Kind < kv.Delete {
			op.TTL = 0
		}
	}), "ttl/set ttl/add ttl/swap ttl/many expired/add expired/swap expired/increment expired/reopened"},
	{"a TTL is cut to whole seconds", before(func(op *kv.Op) {
		if op.TTL > 0 {
			op.TTL = op.TTL.Truncate(time.Second)
		}
	}), "ttl/not-whole-seconds ttl/smallest"},
	{"a negative TTL means none", before(func(op *kv.Op) { op.TTL = max(op.TTL, 0) }), "bad-op/ttl-negative/set bad-op/ttl-negative/cas"},

	{"a Delete of an absent key succeeds", after(func(op *kv.Op) {
		if op.Kind == kv.Delete && errors.Is(op.Result.Err, kv.ErrNotFound) {
			op.Result.Err = nil
		}
	}), "delete/absent delete/twice concurrent/delete concurrent/add-and-delete trip/same-key-deletes"},

	{"a Set is two steps", instead(kv.Set, func(s kv.Store, op kv.Op) kv.Result {
		op.Value = bytes.Clone(op.Value)
		half := op
		half.Value = op.Value[:len(op.Value)/2]
		_ = doSlowly(s, half)
		return doSlowly(s, op)
	}), "concurrent/whole-values"},

	{"values that are read are shared", shareResults, "result/owned trip/same-key-gets"},
	{"values that were given are kept", keepInputs, "input/owned"},
	{"Atomic is not atomic", notAtomic, "atomic/nothing atomic/isolated atomic/panic atomic/append-dropped"},
	{"Atomic wraps the function's error", wrapAtomicError, "atomic/nothing"},
	{"Close closes nothing", neverClosed, "close/ops-later"},
	{"a second Close is an error", closedOnce(), "close/twice"},
}

type twisted struct {
	kv.Store
	do func(ctx context.Context, s kv.Store, ops []kv.Op) error
}

func (w *twisted) Do(ctx context.Context, ops []kv.Op) error { return w.do(ctx, w.Store, ops) }

func (w *twisted) Powers() kv.Powers { return kv.PowersOf(w.Store) }

func before(change func(op *kv.Op)) wrapper {
	return trip(func(ctx context.Context, s kv.Store, ops []kv.Op) error {
		changed := slices.Clone(ops)
		for i := range changed {
			change(&changed[i])
		}
		err := s.Do(ctx, changed)
		for i := range ops {
			ops[i].Result = changed[i].Result
		}
		return err
	})
}

func after(change func(op *kv.Op)) wrapper {
	return trip(func(ctx context.Context, s kv.Store, ops []kv.Op) error {
		_ = s.Do(ctx, ops)
		for i := range ops {
			change(&ops[i])
		}
		return kv.Unanswered(ops)
	})
}

// instead carries out ops of kind want with do, one at a time.
func instead(want kv.Kind, do func(s kv.Store, op kv.Op) kv.Result) wrapper {
	return trip(func(ctx context.Context, s kv.Store, ops []kv.Op) error {
		for i := range ops {
			if ops[i].Kind == want {
				ops[i].Result = do(s, ops[i])
				continue
			}
			_ = s.Do(ctx, ops[i:i+1])
		}
		return kv.Unanswered(ops)
	})
}

func trip(do func(context.Context, kv.Store, []kv.Op) error) wrapper {
	return func(s kv.Store) kv.Store { return &twisted{s, do} }
}

// Others may come between.
func doSlowly(s kv.Store, op kv.Op) kv.Result {
	time.Sleep(20 * time.Microsecond)
	r, _ := kv.One(context.Background(), s, op)
	return r
}

func hash(value []byte) kv.Version {
	h := fnv.New64a()
	h.Write(value)
	return kv.Version(h.Sum64() | 1)
}

func shareResults(s kv.Store) kv.Store {
	var mu sync.Mutex
	seen := make(map[kv.Version][]byte)
	return after(func(op *kv.Op) {
		mu.Lock()
		defer mu.Unlock()
		if op.Kind != kv.Get || op.Result.Err != nil {
			return
		}
		if value, ok := seen[op.Result.Version]; ok {
			op.Result.Value = value
		}
		seen[op.Result.Version] = op.Result.Value
	})(s)
}

func keepInputs(s kv.Store) kv.Store {
	var mu sync.Mutex
	given := make(map[string][]byte)
	return after(func(op *kv.Op) {
		mu.Lock()
		defer mu.Unlock()
		switch value, ok := given[op.Key]; {
		case op.Kind == kv.Set:
			given[op.Key] = op.Value
		case op.Kind == kv.Get && op.Result.Err == nil && ok:
			op.Result.Value = bytes.Clone(value)
		}
	})(s)
}

type otherAtomic struct {
	kv.Store
	atomic func(ctx context.Context, f func(kv.Store) error) error
}

func (o *otherAtomic) Powers() kv.Powers {
	powers := kv.PowersOf(o.Store)
	powers.Atomic = o.atomic
	return powers
}

func notAtomic(s kv.Store) kv.Store {
	return &otherAtomic{s, func(_ context.Context, f func(kv.Store) error) error {
		return f(after(func(*kv.Op) { time.Sleep(20 * time.Microsecond) })(s))
	}}
}

func wrapAtomicError(s kv.Store) kv.Store {
	return &otherAtomic{s, func(ctx context.Context, f func(kv.Store) error) error {
		if err := kv.PowersOf(s).Atomic(ctx, f); err != nil {
			return fmt.Errorf("atomic: %w", err)
		}
		return nil
	}}
}

type otherClose struct {
	kv.Store
	close func() error
}

func (o *otherClose) Powers() kv.Powers { return kv.PowersOf(o.Store) }
func (o *otherClose) Close() error      { return o.close() }

func neverClosed(s kv.Store) kv.Store { return &otherClose{s, func() error { return nil }} }

func closedOnce() wrapper {
	return func(s kv.Store) kv.Store {
		closed := false
		return &otherClose{s, func() error {
			if closed {
				return errors.New("closed already")
			}
			closed = true
			return s.Close()
		}}
	}
}
