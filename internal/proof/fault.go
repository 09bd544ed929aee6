package proof

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

const faultName = "RINGTREE_FAULT"

// Notices runs the test called name, which uses [Sweep] or [Explore], once with each of the faults,
// in a separate process, and asserts that it fails. So it finds tests that cannot fail. The test
// ends with the first failing seed, so it may use many seeds.
//
// A fault breaks a promise of [kv.Store]:
//
//   - "blind KIND PREFIX": an op of this kind on a key with PREFIX ignores the present item: an add
//     or a cas is a set, a cdel is a delete, an append ignores Unless;
//   - "lost KIND PREFIX": the first of these, and every third one after it, is answered and not
//     kept;
//   - "cut": the ops of a trip take effect in any order;
//   - "torn": of every third transaction only the first write is kept.
func Notices(t *testing.T, name string, faults ...string) {
	t.Helper()
	for _, fault := range faults {
		t.Run(name+"/"+fault, func(t *testing.T) {
			if err := notices(name, fault); err != nil {
				t.Error(err)
			}
		})
	}
}

func notices(name, fault string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	test := exec.Command(program, "-test.run=^"+name+"$", "-test.failfast", "-test.timeout=5m")
	test.Env = append(plainly(os.Environ()), Prove+"=all", faultName+"="+fault)
	out, err := test.CombinedOutput()
	switch said := string(out); {
	case err == nil:
		return fmt.Errorf("%s passes", name)
	case !strings.Contains(said, "--- FAIL: "+name) || strings.Contains(said, "sim: no "):
		return fmt.Errorf("%s ends without a verdict: %w\n%s", name, err, out)
	}
	return nil
}

func plainly(env []string) (plain []string) {
	for _, v := range env {
		if !strings.HasPrefix(v, "RINGTREE_") {
			plain = append(plain, v)
		}
	}
	return plain
}

func broken() func(kv.Store) kv.Store {
	words := strings.Fields(os.Getenv(faultName))
	if len(words) == 0 {
		return nil
	}
	words = append(words, "", "")
	return func(s kv.Store) kv.Store {
		return &faulty{Store: s, fault: words[0], kind: words[1], prefix: words[2], seen: new(int)}
	}
}

type faulty struct {
	kv.Store
	fault, kind, prefix string
	seen                *int // ops, or transactions, that the fault can affect
}

func (f *faulty) Powers() kv.Powers {
	p := kv.PowersOf(f.Store)
	p.Ordered = p.Ordered && f.fault != "cut"
	if atomic := p.Atomic; atomic != nil {
		p.Atomic = func(ctx context.Context, do func(kv.Store) error) error {
			return atomic(ctx, func(s kv.Store) error { return do(f.inside(s)) })
		}
	}
	return p
}

func (f *faulty) inside(s kv.Store) kv.Store {
	in := *f
	in.Store = s
	if f.fault == "torn" && f.isThird() {
		in.fault, in.seen = "tearing", new(int)
	}
	return &in
}

func (f *faulty) Do(ctx context.Context, ops []kv.Op) error {
	for i := range ops {
		ops[i].Result = f.carryOut(ctx, ops[i])
	}
	return kv.Unanswered(ops)
}

func (f *faulty) carryOut(ctx context.Context, op kv.Op) kv.Result {
	hit := op.Kind.String() == f.kind && strings.HasPrefix(op.Key, f.prefix)
	switch {
	case f.fault == "blind" && hit:
		op.Kind, op.Unless = blind(op.Kind), nil
	case f.fault == "lost" && hit && f.isThird():
		return f.forget(ctx, op)
	case f.fault == "tearing" && op.Kind.Writes():
		if *f.seen++; *f.seen > 1 {
			return f.forget(ctx, op)
		}
	}
	r, _ := kv.One(ctx, f.Store, op)
	return r
}

// isThird returns true for the first possible event, and every third after it.
func (f *faulty) isThird() bool {
	*f.seen++
	return *f.seen%3 == 1
}

func blind(kind kv.Kind) kv.Kind {
	switch kind {
	case kv.Add, kv.CompareAndSwap:
		return kv.Set
	case kv.CompareAndDelete:
		return kv.Delete
	}
	return kind
}

func (f *faulty) forget(ctx context.Context, op kv.Op) kv.Result {
	old, absent := kv.One(ctx, f.Store, kv.OpGet(op.Key))
	r, err := kv.One(ctx, f.Store, op)
	if err != nil {
		return r
	}
	back := kv.OpSet(op.Key, old.Value)
	if absent != nil {
		back = kv.OpDelete(op.Key)
	}
	_, _ = kv.One(ctx, f.Store, back)
	return r
}

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
