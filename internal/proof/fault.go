package proof

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
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
