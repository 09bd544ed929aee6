package journal

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// Changes with abandoned work stay incomplete while the process lives.
func TestJournal_LeavesOneWithVeryManyIncompleteSegmentsToRepair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, s, closed := t.Context(), memkv.New(memkv.Options{}), make(chan struct{})
		j := New(Config{Store: s, Now: time.Now, Closed: closed, Failed: func(err error) { t.Error(err) }, Shapes: func() []string { return nil }, Begin: unobserved})
		must(t, j.Ready(ctx))
		segments := func() int {
			j.mu.Lock()
			defer j.mu.Unlock()
			return len(j.segments)
		}
		first, most := j.Process(), 0
		for range 2 * keptSegments {
			must(t, j.Ready(ctx))
			if _, err := j.Append(ctx, s, Line{Model: "Page", ID: "p1", Rev: 1}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(times.Tick)
			if most = max(most, segments()); j.Process() != first {
				break
			}
		}
		if j.Process() == first || most > keptSegments+2 || j.OpenLines() > 0 {
			t.Errorf("%d segments at most, and %d lines are open; want at most %d, and then another journal", most, j.OpenLines(), keptSegments)
		}
		left, err := Read(ctx, s, first)
		if err != nil || len(left.Lines) < keptSegments {
			t.Errorf("%d lines are left for repair, %v", len(left.Lines), err)
		}
		close(closed)
		synctest.Wait()
	})
}

func unobserved(ctx context.Context) (context.Context, func()) { return ctx, func() {} }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
