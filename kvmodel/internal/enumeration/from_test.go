package enumeration

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// chunked returns an enumeration of ids 0 to n-1 in several chunks, and its head.
func chunked(t *testing.T, s kv.Store, n int) (*Enumeration, Head, []string) {
	t.Helper()
	e := New("M", time.Now)
	e.full = 300
	bear(t, e, s)
	var ids []string
	for i := range n {
		ids = append(ids, fmt.Sprintf("id%05d", i))
		must(t, e.Put(t.Context(), s, ids[i:]))
	}
	h, err := e.look(t.Context(), s)
	must(t, err)
	return e, h, ids
}

// bear makes e one that may be written.
func bear(t testing.TB, e *Enumeration, s kv.Store) {
	t.Helper()
	must(t, e.Begin(t.Context(), s, "birth"))
	h, err := e.look(t.Context(), s)
	must(t, err)
	must(t, e.Bear(t.Context(), s, h))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A walk that ends after any batch goes on there.
func TestFrom_GoesOnWhereAWalkHasEnded(t *testing.T) {
	s := memkv.New(memkv.Options{})
	e, h, want := chunked(t, s, 400)
	errEnough := errors.New("enough")
	var got []string
	var at Reached
	for more := true; more; {
		_, err := e.From(t.Context(), s, h, at, func(ids []string, to Reached, left int64) error {
			if d := int(left) - (len(want) - len(got) - len(ids)); d < -60 || d > 60 {
				t.Errorf("at %v about %d are left, with %d gone", to, left, len(got))
			}
			got, at = append(got, ids...), to
			return errEnough
		})
		if more = errors.Is(err, errEnough); !more {
			must(t, err)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
}

// A chunk that is gone is noticed by every walk that goes on, wherever the one before it
// ended.
func TestFrom_NoWalkPassesALostChunkBy(t *testing.T) {
	for _, what := range []string{"gone", "another"} {
		for lost := int64(2); lost < 6; lost++ {
			s := memkv.New(memkv.Options{})
			e, h, _ := chunked(t, s, 400)
			c, err := e.readOne(t.Context(), s, lost)
			must(t, err)
			op := kv.OpDelete(e.key(lost))
			if what == "another" {
				c.nonce++
				op = kv.OpSet(e.key(lost), c.header())
			}
			_, err = kv.One(t.Context(), s, op)
			must(t, err)
			var at Reached
			for range 3 {
				_, err = e.From(t.Context(), s, h, at, func(_ []string, to Reached, _ int64) error { at = to; return nil })
				if !errors.Is(err, kv.ErrLost) {
					t.Errorf("chunk %d is %s: from %v on got %v", lost, what, at, err)
				}
			}
		}
	}
}
