package kvtest_test

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
	"testing"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// twisted is a store whose Do is another one.
type twisted struct {
	kv.Store
	do func(ctx context.Context, s kv.Store, ops []kv.Op) error
}

func (w *twisted) Do(ctx context.Context, ops []kv.Op) error { return w.do(ctx, w.Store, ops) }

func (w *twisted) Powers() kv.Powers { return kv.PowersOf(w.Store) }

type wrapper = func(kv.Store) kv.Store

// before changes each op before it is sent.
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

// after changes each op's result.
func after(change func(op *kv.Op)) wrapper {
	return trip(func(ctx context.Context, s kv.Store, ops []kv.Op) error {
		_ = s.Do(ctx, ops)
		for i := range ops {
			change(&ops[i])
		}
		return kv.Unanswered(ops)
	})
}

// instead carries out the ops that it wants in its own way, one at a time, and
// the others as they are.
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

// do carries out one op. A moment before it lets others come between.
func do(s kv.Store, op kv.Op) kv.Result {
	time.Sleep(20 * time.Microsecond)
	r, _ := kv.One(ctx, s, op)
	return r
}

func hash(value []byte) kv.Version {
	h := fnv.New64a()
	h.Write(value)
	return kv.Version(h.Sum64() | 1)
}

// broken are stores that break a rule each, and cases that must notice.
var broken = []struct {
	name  string
	wrap  wrapper
	cases string
}{
	{"Add overwrites", before(func(op *kv.Op) {
		if op.Kind == kv.Add {
			op.Kind = kv.Set
		}
	}), "add/present add/twice add/empty-is-present concurrent/add trip/same-key-adds clients/add"},

	{"CompareAndSwap compares nothing", instead(kv.CompareAndSwap, func(s kv.Store, op kv.Op) kv.Result {
		return do(s, kv.OpSet(op.Key, op.Value).For(op.TTL))
	}), "swap/stale swap/absent swap/twice version/made-up concurrent/swap concurrent/swap-loop concurrent/append-and-swap clients/stale"},

	{"CompareAndDelete compares nothing", instead(kv.CompareAndDelete, func(s kv.Store, op kv.Op) kv.Result {
		return do(s, kv.OpDelete(op.Key))
	}), "drop/stale version/made-up clients/stale"},

	{"CompareAndDelete is two steps", instead(kv.CompareAndDelete, func(s kv.Store, op kv.Op) kv.Result {
		if r := do(s, kv.OpGet(op.Key)); r.Err != nil || r.Version != op.Version {
			return kv.Result{Err: kv.ErrNotFound}
		}
		_ = do(s, kv.OpDelete(op.Key))
		return kv.Result{}
	}), "drop/stale concurrent/drop"},

	{"a version is a hash of the value", after(func(op *kv.Op) {
		if op.Kind == kv.Get && op.Result.Err == nil {
			op.Result.Version = hash(op.Result.Value)
		}
	}), "version/re-add version/there-and-back version/set-same-value version/never-twice kept/no-version-again"},

	{"Append creates", instead(kv.Append, func(s kv.Store, op kv.Op) kv.Result {
		r := do(s, op)
		if errors.Is(r.Err, kv.ErrNotStored) {
			return do(s, kv.OpAdd(op.Key, op.Value))
		}
		return r
	}), "append/absent append/nothing-to-absent append/after-delete drop/leaves-nothing"},

	{"Append is two steps and forgets the TTL", instead(kv.Append, func(s kv.Store, op kv.Op) kv.Result {
		r := do(s, kv.OpGet(op.Key))
		if r.Err != nil {
			return kv.Result{Err: kv.ErrNotStored}
		}
		return do(s, kv.OpSet(op.Key, append(r.Value, op.Value...)))
	}), "concurrent/append concurrent/append-by-clients ttl/kept-by-append append/full"},

	{"Append does not honour Unless", before(func(op *kv.Op) {
		if op.Kind == kv.Append {
			op.Unless = nil
		}
	}), "unless/sealed unless/whole-value unless/sealing unless/in-pieces"},

	{"Increment creates", instead(kv.Increment, func(s kv.Store, op kv.Op) kv.Result {
		n, err := kv.Next(ctx, s, op.Key, op.Delta, op.Delta)
		return kv.Result{Number: n, Err: err}
	}), "increment/absent drop/leaves-nothing expired/increment"},

	{"Increment is two steps", instead(kv.Increment, func(s kv.Store, op kv.Op) kv.Result {
		n, err := kv.ParseNumber(do(s, kv.OpGet(op.Key)).Value)
		if err != nil {
			return kv.Result{Err: err}
		}
		n = max(n+op.Delta, 0)
		return kv.Result{Number: n, Err: do(s, kv.OpSet(op.Key, strconv.AppendInt(nil, n, 10))).Err}
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

	{"numbers are trimmed whoever wrote the blanks", after(func(op *kv.Op) {
		if op.Kind == kv.Get && op.Result.Err == nil {
			op.Result.Value = bytes.TrimRight(op.Result.Value, " ")
		}
	}), "value/number-and-blanks value/blanks not-number/blank-after"},

	{"an oversize value removes the old one", trip(func(ctx context.Context, s kv.Store, ops []kv.Op) error {
		err := s.Do(ctx, ops)
		for i := range ops {
			if errors.Is(ops[i].Result.Err, kv.ErrTooLarge) {
				_ = do(s, kv.OpDelete(ops[i].Key))
			}
		}
		return err
	}), "too-large/set too-large/swap too-large/append too-large/set-over-full"},

	{"what failed is absent", after(func(op *kv.Op) {
		if kv.Failed(op.Result.Err) {
			op.Result.Err = kv.ErrNotFound
		}
	}), "close/ops-later context/cancelled context/expired"},

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
	}), "close/ops-later context/cancelled"},

	{"the context is not looked at", trip(func(_ context.Context, s kv.Store, ops []kv.Op) error {
		return s.Do(context.Background(), ops)
	}), "context/cancelled context/expired context/refused-first"},

	{"the reason of a cancelled context is lost", after(func(op *kv.Op) {
		if errors.Is(op.Result.Err, kv.ErrUnavailable) {
			op.Result.Err = kv.ErrUnavailable
		}
	}), "context/cancelled context/expired"},

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
		_ = do(s, half)
		return do(s, op)
	}), "concurrent/whole-values"},

	{"values that are read are shared", shareResults, "result/owned trip/same-key-gets"},
	{"values that were given are kept", keepInputs, "input/owned"},
	{"Atomic is not atomic", notAtomic, "atomic/nothing atomic/isolated atomic/panic atomic/append-dropped"},
	{"Atomic wraps the function's error", wrapAtomicError, "atomic/nothing"},
	{"Close closes nothing", neverClosed, "close/ops-later"},
	{"a second Close is an error", closedOnce(), "close/twice"},
}

// shareResults answers every Get of one value with the same memory.
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

// keepInputs answers a Get with the bytes that were given to a Set or an Add,
// whatever has become of them.
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

func caseNamed(t *testing.T, name string) kvtest.Case {
	t.Helper()
	for _, c := range kvtest.Cases() {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("there is no case %q", name)
	return kvtest.Case{}
}

// failureOf returns what the case complains about. One that lets goroutines
// collide is given more than one chance to see it happen.
func failureOf(t *testing.T, name string, wrap wrapper) string {
	t.Helper()
	chances := 1
	if strings.HasPrefix(name, "concurrent/") || name == "atomic/isolated" {
		chances = 100
	}
	for range chances {
		if failure := caseNamed(t, name).Failure(t, inMemory(memkv.Options{}, wrap)); failure != "" {
			return failure
		}
	}
	return ""
}

func TestCases_FailForAStoreThatBreaksTheirRule(t *testing.T) {
	for _, b := range broken {
		t.Run(b.name, func(t *testing.T) {
			for name := range strings.FieldsSeq(b.cases) {
				failure := failureOf(t, name, b.wrap)
				if failure == "" {
					t.Errorf("case %s passes", name)
				} else if !strings.Contains(failure, "the rule: ") {
					t.Errorf("case %s fails without its rule: %s", name, failure)
				}
			}
		})
	}
}

func TestCases_OfTheBrokenStoresPassForAGoodOne(t *testing.T) {
	for _, b := range broken {
		for name := range strings.FieldsSeq(b.cases) {
			if failure := caseNamed(t, name).Failure(t, inMemory(memkv.Options{}, bare)); failure != "" {
				t.Errorf("case %s: %s", name, failure)
			}
		}
	}
}

func TestCases_AreAtLeast150WithNamesAndRulesOfTheirOwn(t *testing.T) {
	names := make(map[string]bool)
	for _, c := range kvtest.Cases() {
		if names[c.Name] {
			t.Errorf("two cases are called %s", c.Name)
		}
		names[c.Name] = true
		if len(c.Rule) < 20 || strings.ContainsAny(c.Name, " _") {
			t.Errorf("case %q has the rule %q", c.Name, c.Rule)
		}
	}
	if len(names) < 150 {
		t.Errorf("there are %d cases, want 150 or more", len(names))
	}
	t.Logf("%d cases", len(names))
}

func TestCases_FailForAMakerThatDoesNotKeepItsWord(t *testing.T) {
	forgetful := inMemory(memkv.Options{}, bare)
	forgetful.Open = func(testing.TB, string) kv.Store { return memkv.New(memkv.Options{}) }
	oneForAll := inMemory(memkv.Options{}, bare)
	all := oneForAll.Open(t, "all")
	oneForAll.Open = func(testing.TB, string) kv.Store { return neverClosed(all) }
	for _, c := range []struct {
		name  string
		maker kvtest.Maker
		cases string
	}{
		{"each Open is another store", forgetful, "kept/values kept/every-write clients/see-each-other clients/add clients/stale clients/version-handed-over"},
		{"all names are one store", oneForAll, "clients/apart"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name := range strings.FieldsSeq(c.cases) {
				if caseNamed(t, name).Failure(t, c.maker) == "" {
					t.Errorf("case %s passes", name)
				}
			}
		})
	}
}
