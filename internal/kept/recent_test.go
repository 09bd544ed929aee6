package kept_test

import (
	"testing"

	"github.com/ringtree/ringtree/internal/kept"
)

func TestRecent_KeepsUsedValuesAndForgetsOthers(t *testing.T) {
	r := kept.Recent[int, string]{Limit: 10}
	r.Put(-1, "used", 1)
	r.Put(-2, "unused", 1)
	for i := range 100 {
		r.Put(i, "other", 1)
		if v, ok := r.Get(-1); !ok || v != "used" {
			t.Fatalf("after %d others, the used value is %q, %v", i, v, ok)
		}
	}
	if _, ok := r.Get(-2); ok {
		t.Error("an unused value is there")
	}
	n := 0
	for i := range 100 {
		if _, ok := r.Get(i); ok {
			n++
		}
	}
	if n < 1 || n > 20 {
		t.Errorf("%d of 100 values are there, want at most 20", n)
	}
}

func TestRecent_ALaterValueReplacesAnEarlierOne(t *testing.T) {
	r := kept.Recent[string, int]{Limit: 2}
	for i := range 5 {
		r.Put("a", i, 1)
		if n, ok := r.Get("a"); !ok || n != i {
			t.Errorf("got %d, %v; want %d", n, ok, i)
		}
	}
	r.Drop("a")
	if _, ok := r.Get("a"); ok {
		t.Error("a dropped value is there")
	}
	for range 2 {
		if n := r.GetOr("b", func() int { return 7 }); n != 7 {
			t.Errorf("got %d, want 7", n)
		}
	}
}
