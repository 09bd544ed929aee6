package memberlog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// They meet the seal of a process that died.
func TestLogs_WritesThatMeetASealTogetherWaitForItTogetherAndReplaceItOnce(t *testing.T) {
	eachKind(t, func(t *testing.T, _ *memkv.Store, s kv.Store) {
		synctest.Test(t, func(t *testing.T) {
			copies := 0
			counted := kv.Count(kv.Trace(s, func(_ context.Context, trip kv.Trip) {
				for _, op := range trip.Ops {
					if op.Kind == kv.Add && strings.Contains(op.Key, "#") && op.Err() == nil {
						copies++
					}
				}
			}))
			l, wait := prompt(counted, DefaultLimits)
			want := fill(t, l, wait, 10)
			dying := &roll{Logs: l, ctx: t.Context(), s: s, place: place, names: []name{{}}}
			for errors.Is(dying.announce(), errAgain) {
			}
			must(t, dying.seal())
			copies = 0
			ctx, m := kv.Metered(t.Context())
			began := time.Now()
			var works []func(kv.Store) error
			for i := range 1000 {
				id := fmt.Sprintf("more-%06d", i)
				want = append(want, id)
				works = append(works, func(s kv.Store) error {
					return l.Write(ctx, s, place, Entry{ID: id, Rev: 1, In: true})
				})
			}
			must(t, errors.Join(kv.Together(ctx, counted, works...)...))
			if took := time.Since(began); took > 100*time.Millisecond {
				t.Errorf("they took %v", took)
			}
			if cost := m.Cost(); cost.Trips > 30 {
				t.Errorf("they cost %v", cost)
			}
			if copies != 1 {
				t.Errorf("the segment was copied %d times", copies)
			}
			if diff := cmp.Diff(want, members(t, l)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	})
}
