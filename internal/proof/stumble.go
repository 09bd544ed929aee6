package proof

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Stumble is a store that leaves one trip unanswered, carried out at once or later, and cannot be
// reached afterwards. It has no powers.
type Stumble struct {
	store kv.Store
	trip  int  // the unanswered trip, counted from Begin
	late  bool // Rise carries out the trip

	// Refused, if not nil, is called when a trip is refused.
	Refused func()

	mu      sync.Mutex
	counts  bool
	trips   int
	down    bool
	lost    []string
	pending []kv.Op
}

// EachStumble calls f with a Stumble on a new store for each trip that f makes after Begin, until
// it makes no more.
func EachStumble(t *testing.T, open func() kv.Store, f func(t *testing.T, s *Stumble)) {
	for _, late := range []bool{false, true} {
		for trip := 1; ; trip++ {
			s := &Stumble{store: open(), trip: trip, late: late}
			t.Run(fmt.Sprintf("trip %d, late %t", trip, late), func(t *testing.T) { f(t, s) })
			if s.trips < trip || t.Failed() {
				break
			}
		}
	}
}

func (s *Stumble) Begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts = true
}

// Rise makes the store answer again, and carries out the pending writes.
func (s *Stumble) Rise() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts, s.down = false, false
	if len(s.pending) == 0 {
		return nil
	}
	return s.store.Do(context.Background(), s.pending)
}

func (s *Stumble) Lost() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost
}

// Below returns the underlying store, as another process sees it.
func (s *Stumble) Below() kv.Store { return s.store }

func (s *Stumble) Powers() kv.Powers { return kv.Powers{} }
func (s *Stumble) Close() error      { return nil }

func (s *Stumble) Do(ctx context.Context, ops []kv.Op) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if kv.Check(ops, kv.Powers{}) == 0 {
		return kv.Unanswered(ops)
	}
	if s.counts {
		s.trips++
	}
	switch {
	case s.down:
		if s.Refused != nil {
			s.Refused()
		}
		return kv.Fail(ops, kv.ErrUnavailable)
	case s.counts && s.trips == s.trip:
		s.down = true
		return s.lose(ctx, ops)
	}
	return s.store.Do(ctx, ops)
}

func (s *Stumble) lose(ctx context.Context, ops []kv.Op) error {
	for i := range ops {
		if ops[i].Result.Err != nil {
			continue
		}
		failure := kv.ErrUnavailable
		if ops[i].Kind.Writes() {
			failure = kv.ErrUnclear
			s.lost = append(s.lost, ops[i].Key)
			op := ops[i]
			op.Value = append([]byte(nil), op.Value...)
			s.pending = append(s.pending, op)
		}
		ops[i].Result = kv.Result{Err: failure}
	}
	if !s.late && len(s.pending) > 0 {
		_ = s.store.Do(ctx, s.pending)
		s.pending = nil
	}
	return kv.Unanswered(ops)
}

// Denies reports whether err means that nothing was done: it is neither nil nor only an ErrUnclear.
func Denies(err error) bool {
	return err != nil && (!errors.Is(err, kv.ErrUnclear) || errors.Is(err, kv.ErrUnavailable))
}
