package proof_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
)

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
