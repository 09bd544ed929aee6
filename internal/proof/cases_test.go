package proof_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

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

func complaint(t *testing.T, name string, m kvtest.Maker) string {
	t.Helper()
	c := caseNamed(t, name)
	return complaintOf(t, func(t testing.TB) { c.Check(t, m) })
}

// A case in which goroutines must collide is tried up to a hundred times.
func failureOf(t *testing.T, name string, wrap wrapper) string {
	t.Helper()
	chances := 1
	if strings.HasPrefix(name, "concurrent/") || name == "atomic/isolated" {
		chances = 100
	}
	for range chances {
		if failure := complaint(t, name, inMemory(memkv.Options{}, wrap)); failure != "" {
			return failure
		}
	}
	return ""
}

func TestCases_FailForAStoreThatBreaksTheirRule(t *testing.T) {
	for _, b := range brokenStores {
		t.Run(b.Name, func(t *testing.T) {
			for name := range strings.FieldsSeq(b.Cases) {
				failure := failureOf(t, name, b.Wrap)
				if failure == "" {
					t.Errorf("case %s passes", name)
				} else if !strings.Contains(failure, "the rule: ") {
					t.Errorf("case %s fails without its rule: %s", name, failure)
				}
			}
		})
	}
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
				if complaint(t, name, c.maker) == "" {
					t.Errorf("case %s passes", name)
				}
			}
		})
	}
}

func complaintOf(t testing.TB, test func(testing.TB)) string {
	r := &recorder{TB: t}
	done := make(chan struct{})
	// A Fatal ends the goroutine it is called in.
	go func() {
		defer close(done)
		defer r.cleanUp()
		test(r)
	}()
	<-done
	if !r.Failed() {
		return ""
	}
	return r.text.String()
}

type recorder struct {
	testing.TB
	cleanups []func()

	mu     sync.Mutex
	failed bool
	text   strings.Builder
}

func (r *recorder) Helper() {}

func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }

func (r *recorder) cleanUp() {
	for len(r.cleanups) > 0 {
		last := len(r.cleanups) - 1
		f := r.cleanups[last]
		r.cleanups = r.cleanups[:last]
		f()
	}
}

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

func (r *recorder) Logf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(&r.text, format+"\n", args...)
}

func (r *recorder) Fail() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = true
}

func (r *recorder) Errorf(format string, args ...any) { r.Logf(format, args...); r.Fail() }

func (r *recorder) Fatal(args ...any) { r.Fatalf("%s", fmt.Sprintln(args...)) }

func (r *recorder) Fatalf(format string, args ...any) { r.Errorf(format, args...); runtime.Goexit() }
