package proof

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Clock moves only when a test advances it.
type Clock struct{ now atomic.Pointer[time.Time] }

func NewClock(at time.Time) *Clock {
	c := new(Clock)
	c.now.Store(&at)
	return c
}

func (c *Clock) Now() time.Time { return *c.now.Load() }

func (c *Clock) Advance(d time.Duration) {
	for was := c.now.Load(); ; was = c.now.Load() {
		if next := was.Add(d); c.now.CompareAndSwap(was, &next) {
			return
		}
	}
}

// Log records log output. A test may read it while others write.
type Log struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *Log) Lines() []string {
	text := strings.TrimSpace(l.String())
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// Record collects events of other goroutines.
type Record[T any] struct {
	mu  sync.Mutex
	all []T
}

func (r *Record[T]) Add(v T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, v)
}

// Take returns the events added since the last Take.
func (r *Record[T]) Take() []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.all
	r.all = nil
	return all
}

// Hook runs a func once, when another goroutine reaches a certain point.
type Hook struct{ f atomic.Pointer[func()] }

func (h *Hook) Set(f func()) { h.f.Store(&f) }

func (h *Hook) IsSet() bool { return h.f.Load() != nil }

func (h *Hook) Run() {
	if f := h.f.Swap(nil); f != nil {
		(*f)()
	}
}

// Allocs returns the number of allocations in a call of f. Under the race detector, which allocates
// too, it returns 0.
func Allocs(runs int, f func()) float64 {
	allocs := testing.AllocsPerRun(runs, f)
	if Race {
		return 0
	}
	return allocs
}

// Alone skips t under the race detector: its goroutines never meet, and it would take ten times as
// long. Its package must also run without the detector.
func Alone(t testing.TB) {
	t.Helper()
	if Race {
		t.Skip("one goroutine at a time: there is nothing to race")
	}
}

// AtOnce runs a subtest for each case, all at the same time, however many processors there are. It
// is for tests that mostly wait.
func AtOnce[C any](t *testing.T, cases map[string]C, test func(*testing.T, C)) {
	t.Helper()
	var running sync.WaitGroup
	defer running.Wait()
	for name, c := range cases {
		running.Go(func() { t.Run(name, func(t *testing.T) { test(t, c) }) })
	}
}

// Seeded returns random numbers, whose seed it logs if the test fails.
func Seeded(t *testing.T) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 1))
}

// Closing closes db when the test ends, and fails the test if work is left.
func Closing[D interface{ Close(context.Context) error }](t testing.TB, db D) D {
	t.Helper()
	t.Cleanup(func() { Is(t, db.Close(context.Background()), nil) })
	return db
}

// KeyLog is a store that records the keys of each trip.
type KeyLog struct {
	kv.Store
	Trips [][]string
}

func (l *KeyLog) Do(ctx context.Context, ops []kv.Op) error {
	var keys []string
	for _, op := range ops {
		keys = append(keys, op.Key)
	}
	l.Trips = append(l.Trips, keys)
	return l.Store.Do(ctx, ops)
}

// Gets returns a work for [kv.Together] that reads missing keys, one after another.
func Gets(ctx context.Context, keys ...string) func(kv.Store) error {
	return func(s kv.Store) error {
		for _, key := range keys {
			if _, err := kv.One(ctx, s, kv.OpGet(key)); !errors.Is(err, kv.ErrNotFound) {
				return err
			}
		}
		return nil
	}
}

// JSON is a codec that stores values of T as JSON.
type JSON[T any] struct{}

func (JSON[T]) Append(dst []byte, v *T) ([]byte, error) {
	b, err := json.Marshal(v)
	return append(dst, b...), err
}

func (JSON[T]) Unmarshal(data []byte, v *T) (bool, error) { return false, json.Unmarshal(data, v) }

func (JSON[T]) Merge(_, next []byte) ([]byte, error) { return next, nil }

// Tests end soon and produce much garbage: collecting it less often saves a sixth of their time.
// GOGC takes precedence.
func init() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

// item is the value of a key: a model of the contract for one key, without TTLs.
type item struct {
	value   string
	version kv.Version
	present bool
}

// The next item has no version yet; nil: op changes nothing.
func (t item) after(op kv.Op) (r kv.Result, next *item) {
	refuse := func(err error) (kv.Result, *item) { return kv.Result{Err: err}, nil }
	stored := &item{value: string(op.Value), present: true}
	switch op.Kind {
	case kv.Set:
		return r, stored
	case kv.Add:
		if t.present {
			return refuse(kv.ErrExists)
		}
		return r, stored
	case kv.Append:
		switch {
		case !t.present || len(t.value)+len(op.Value) > kv.MaxValue:
			return refuse(kv.ErrNotStored)
		case len(op.Unless) > 0 && strings.HasSuffix(t.value, string(op.Unless)):
			return refuse(kv.ErrSealed)
		}
		stored.value = t.value + stored.value
		return r, stored
	}
	if !t.present {
		return refuse(kv.ErrNotFound)
	}
	switch op.Kind {
	case kv.Get:
		return kv.Result{Value: []byte(t.value), Version: t.version}, nil
	case kv.Delete:
		return r, &item{}
	case kv.Increment:
		return t.increment(op.Delta)
	}
	switch {
	case op.Version != t.version:
		return refuse(kv.ErrConflict)
	case op.Kind == kv.CompareAndDelete:
		return r, &item{}
	}
	return r, stored
}

func (t item) increment(delta int64) (kv.Result, *item) {
	n, err := kv.ParseNumber([]byte(t.value))
	if err != nil || delta > 0 && n > kv.MaxNumber-delta {
		return kv.Result{Err: kv.ErrNotNumber}, nil
	}
	n = max(n+delta, 0)
	return kv.Result{Number: n}, &item{value: strconv.FormatInt(n, 10), present: true}
}

// items is a store. The version of an item is the number of its writes, so equal states are equal
// however they were reached.
type items struct{ at map[string]item }

func (s *items) Close() error      { return nil }
func (s *items) Powers() kv.Powers { return kv.Powers{} }

func (s *items) Do(_ context.Context, ops []kv.Op) error {
	kv.Check(ops, kv.Powers{Unless: true})
	for i := range ops {
		if ops[i].Result.Err == nil {
			ops[i].Result = s.carryOut(ops[i])
		}
	}
	return kv.Unanswered(ops)
}

func (s *items) carryOut(op kv.Op) kv.Result {
	old := s.at[op.Key]
	r, next := old.after(op)
	if next != nil {
		if s.at == nil {
			s.at = map[string]item{}
		}
		next.version = old.version + 1
		s.at[op.Key] = *next
	}
	return r
}
