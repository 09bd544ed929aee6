package kvtest

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/optest"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

type fixture struct {
	testing.TB
	maker Maker
	name  string
	ctx   context.Context
	store kv.Store
}

func (f *fixture) open() kv.Store {
	f.Helper()
	s := f.maker.Open(f.TB, f.name)
	f.Cleanup(func() {
		if f.maker.Abandon != nil {
			f.survives(s)
		}
		f.close(s)
	})
	return s
}

func (f *fixture) survives(s kv.Store) {
	f.Helper()
	ctx := context.Background()
	var keys []string
	list := func(some []string) error { keys = append(keys, some...); return nil }
	if err := kv.PowersOf(s).Keys(ctx, "", list); err != nil {
		return
	}
	ops := make([]kv.Op, len(keys))
	for i, key := range keys {
		ops[i] = kv.OpGet(key)
	}
	copied := f.maker.Open(f.TB, f.maker.Abandon(f.TB, f.name))
	defer f.close(copied)
	again := slices.Clone(ops)
	if err := errors.Join(s.Do(ctx, ops), copied.Do(ctx, again)); err != nil {
		f.Errorf("reading what a crash leaves: %v", err)
	}
	for i := range ops {
		if !sameItem(ops[i].Result, again[i].Result) {
			f.Errorf("%q holds %s, and %s after a crash", keys[i], optest.ShowItem(ops[i].Result), optest.ShowItem(again[i].Result))
		}
	}
}

func (f *fixture) close(s kv.Store) {
	f.Helper()
	if err := s.Close(); err != nil {
		f.Errorf("Close: %v", err)
	}
}

func (f *fixture) reopen() {
	f.Helper()
	f.close(f.store)
	f.store = f.open()
}

func (f *fixture) do(ops ...kv.Op) []kv.Op {
	f.Helper()
	if err := f.try(f.ctx, f.store, ops); err != nil {
		f.Fatalf("Do returned an error though the store is well: %v", err)
	}
	return ops
}

// try checks the rules of any Do: its error agrees with the results, and it changes nothing in ops
// but the results.
func (f *fixture) try(ctx context.Context, s kv.Store, ops []kv.Op) error {
	f.Helper()
	before := make([]kv.Op, len(ops))
	for i, op := range ops {
		op.Value, op.Unless = bytes.Clone(op.Value), bytes.Clone(op.Unless)
		before[i] = op
	}
	err := s.Do(ctx, ops)
	if (err == nil) != (kv.Unanswered(ops) == nil) {
		f.Errorf("Do returned %v, but the first op without an answer says: %v", err, kv.Unanswered(ops))
	}
	if err != nil && !kv.Failed(err) {
		f.Errorf("Do returned %v, which is none of ErrUnavailable, ErrUnclear and ErrLost", err)
	}
	for i := range ops {
		if !sameOp(before[i], ops[i]) {
			f.Errorf("Do changed an op it was given from %s to %s", optest.Show(before[i]), optest.Show(ops[i]))
		}
	}
	for i := range ops {
		if r := ops[i].Result; ops[i].Kind == kv.Get && r.Err == nil && (r.Value == nil || r.Version == 0) {
			f.Errorf("%v %q succeeded with value %.40q (nil: %t), version %d; a value is never nil, a version never 0",
				ops[i].Kind, ops[i].Key, r.Value, r.Value == nil, r.Version)
		}
	}
	return err
}

func sameOp(a, b kv.Op) bool {
	return a.Kind == b.Kind && a.Key == b.Key && bytes.Equal(a.Value, b.Value) && a.Version == b.Version &&
		a.TTL == b.TTL && bytes.Equal(a.Unless, b.Unless) && a.Delta == b.Delta
}

func (f *fixture) answer(op kv.Op, want error) kv.Result {
	f.Helper()
	r := f.do(op)[0].Result
	if !optest.EndsIn(r.Err, want) {
		f.Fatalf("%s ended in: %v\nwant: %v", optest.Show(op), r.Err, want)
	}
	return r
}

func (f *fixture) ended(op kv.Op, want error) {
	f.Helper()
	if !optest.EndsIn(op.Result.Err, want) {
		f.Errorf("%s ended in %v, want %v", optest.Show(op), op.Result.Err, want)
	}
}

// everyKind returns an op of every kind on key k, whose version is v; an Add, of key new.
func everyKind(v kv.Version) []kv.Op {
	return []kv.Op{
		kv.OpGet("k"), kv.OpSet("k", nil), kv.OpAdd("new", nil), kv.OpSwap("k", v, nil), kv.OpDelete("k"),
		kv.OpDrop("k", v), kv.OpAppend("k", []byte("8")), kv.OpIncrement("k", 1),
	}
}

func (f *fixture) ok(ops ...kv.Op) {
	f.Helper()
	for _, op := range ops {
		op.Value = bytes.Clone(op.Value) // A broken store may write into it.
		f.answer(op, nil)
	}
}

func (f *fixture) refused(op kv.Op, want error) {
	f.Helper()
	before := f.do(kv.OpGet(op.Key))[0].Result
	f.answer(op, want)
	after := f.do(kv.OpGet(op.Key))[0].Result
	if !sameItem(before, after) {
		f.Errorf("%s was refused, but the item changed from %s to %s", optest.Show(op), optest.ShowItem(before), optest.ShowItem(after))
	}
}

func sameItem(a, b kv.Result) bool {
	return (a.Err == nil) == (b.Err == nil) && a.Version == b.Version && bytes.Equal(a.Value, b.Value)
}

func (f *fixture) holds(key, want string) {
	f.Helper()
	r := f.answer(kv.OpGet(key), nil)
	if got := string(r.Value); got != want {
		if len(got)+len(want) > 200 {
			f.Fatalf("%q holds %d bytes %.40q..., want %d bytes %.40q...", key, len(got), got, len(want), want)
		}
		f.Fatalf("value of %q mismatch (-want +got):\n%s", key, cmp.Diff(want, got))
	}
}

func (f *fixture) absent(key string) {
	f.Helper()
	f.answer(kv.OpGet(key), kv.ErrNotFound)
}

func (f *fixture) version(key string) kv.Version {
	f.Helper()
	return f.answer(kv.OpGet(key), nil).Version
}

func (f *fixture) put(key, value string) kv.Version {
	f.Helper()
	f.ok(kv.OpSet(key, []byte(value)))
	return f.version(key)
}

func (f *fixture) number(op kv.Op, want int64) {
	f.Helper()
	if got := f.answer(op, nil).Number; got != want {
		f.Fatalf("%s answered %d, want %d", optest.Show(op), got, want)
	}
}

func (f *fixture) together(n, times int, work func(i, round int) error) {
	f.Helper()
	var wg sync.WaitGroup
	errs := make([]error, n)
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			for round := 0; round < times && errs[i] == nil; round++ {
				errs[i] = work(i, round)
			}
		})
	}
	close(start)
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			f.Errorf("goroutine %d: %v", i, err)
		}
	}
}

// one carries out op for a goroutine, which must not end the test.
func (f *fixture) one(s kv.Store, op kv.Op) (kv.Result, error) {
	return kv.One(f.ctx, s, op)
}

func (f *fixture) each(s kv.Store, ops ...kv.Op) error {
	for _, op := range ops {
		if _, err := f.one(s, op); err != nil {
			return err
		}
	}
	return nil
}

func (f *fixture) canceled() context.Context {
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	return ctx
}

func (f *fixture) wantResults(ops []kv.Op, wants []kv.Result) {
	f.Helper()
	for i, want := range wants {
		got := ops[i].Result
		if !optest.EndsIn(got.Err, want.Err) || got.Number != want.Number || !bytes.Equal(got.Value, want.Value) {
			f.Errorf("op %d, %s: got %+v, want %+v", i, optest.Show(ops[i]), got, want)
		}
	}
}

func (f *fixture) atomic(want error, work func(kv.Store) error) {
	f.Helper()
	if err := kv.PowersOf(f.store).Atomic(f.ctx, work); err != want {
		f.Fatalf("Atomic returned %v, want %v", err, want)
	}
}

func big(n int) []byte { return bytes.Repeat([]byte("x"), n) }

func (f *fixture) numberOf(s kv.Store, key string) (int64, error) {
	r, err := f.one(s, kv.OpGet(key))
	if err != nil {
		return 0, err
	}
	return kv.ParseNumber(r.Value)
}

// slack is how long an item may outlive its TTL.
const slack = 2 * time.Second

const shortly = 2 * time.Second

type moment []time.Time

func (f *fixture) now() moment {
	if f.maker.Clocks == nil {
		return moment{time.Now()}
	}
	f.Helper()
	return f.maker.Clocks(f)
}

// since returns the minimum time passed since m, by the slowest of the clocks and by the fastest.
func (f *fixture) since(m moment) (slowest, fastest time.Duration) {
	f.Helper()
	var unsure time.Duration
	if f.maker.Clocks != nil {
		unsure = time.Second
	}
	for i, now := range f.now() {
		passed := now.Sub(m[i]) - unsure
		if i == 0 {
			slowest = passed
		}
		slowest, fastest = min(slowest, passed), max(fastest, passed)
	}
	return slowest, fastest
}

func (f *fixture) pass(d time.Duration) {
	f.Helper()
	if f.maker.Advance != nil {
		f.maker.Advance(d)
		return
	}
	start := f.now()
	time.Sleep(d)
	for passed, _ := f.since(start); passed < d; passed, _ = f.since(start) {
		time.Sleep(pollEvery)
	}
}

const pollEvery = 20 * time.Millisecond

// expires runs write, which gives key that TTL, and expects the item to exist until the TTL has
// passed, and to be gone after the slack.
func (f *fixture) expires(key string, ttl time.Duration, write func()) {
	f.Helper()
	if f.maker.Advance == nil {
		f.expiresInRealTime(key, ttl, write)
		return
	}
	write()
	f.maker.Advance(ttl - time.Millisecond)
	f.answer(kv.OpGet(key), nil)
	f.maker.Advance(slack + 2*time.Millisecond)
	f.absent(key)
}

func (f *fixture) expiresInRealTime(key string, ttl time.Duration, write func()) {
	f.Helper()
	began := f.now()
	write()
	written := f.now()
	for {
		old, _ := f.since(written)
		err := f.do(kv.OpGet(key))[0].Result.Err
		_, age := f.since(began)
		switch {
		case err != nil && age < ttl:
			f.Fatalf("%q was gone %v before its TTL had passed: %v", key, ttl-age, err)
		case errors.Is(err, kv.ErrNotFound):
			return
		case err != nil:
			f.Fatalf("get %q: %v", key, err)
		case old > ttl+slack:
			f.Fatalf("%q was there %v after TTL and slack had passed", key, old-ttl-slack)
		}
		time.Sleep(pollEvery)
	}
}
