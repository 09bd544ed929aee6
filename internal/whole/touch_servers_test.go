package whole_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// The clock stands still, so that what was read was read a moment ago however busy the
// machine is.
func TestTouch_RealStoresTakeTheTripsThatTheDocsSay(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			look, use := lister(t, k)
			begun, later := time.Now(), new(atomic.Int64)
			l, err := whole.Open(use, kvmodel.Clock(func() time.Time { return begun.Add(time.Duration(later.Load())) }))
			must(t, err)
			defer func() { must(t, l.DB.Close(ctx)) }()
			o := &whole.Offer{ID: "f1", Code: "c", Kind: "sale", Until: begun.Add(time.Hour)}
			must(t, l.Offers.Create(ctx, o))
			must(t, l.DB.Flush(ctx))
			want := map[bool]int{true: 2, false: 3}
			if kv.PowersOf(look).Ordered {
				want = map[bool]int{true: 1, false: 2}
			}
			for _, read := range []bool{true, false} {
				if read {
					_, err := l.Offers.Get(ctx, o.ID)
					must(t, err)
				}
				o.Until = o.Until.Add(time.Hour)
				metered, m := kv.Metered(ctx)
				must(t, l.Offers.Touch(metered, o.ID, o.Until))
				if got := m.Cost(); got.Trips != want[read] {
					t.Errorf("read a moment ago: %t: %v, want %d trips", read, got, want[read])
				}
				must(t, l.DB.Flush(ctx))
			}
			later.Store(int64(150 * time.Minute))
			if found, err := l.Offers.ByCode.Find(ctx, "c"); err != nil || found.ID != o.ID {
				t.Errorf("found %+v, %v", found, err)
			}
			if n, err := l.Offers.ByKind.Of("sale").Count(ctx); err != nil || n != 1 {
				t.Errorf("the list has %d, %v", n, err)
			}
		})
	}
}
