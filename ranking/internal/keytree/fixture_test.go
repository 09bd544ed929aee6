package keytree

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

var ctx = context.Background()

type ranking struct {
	*Tree
	own *Own
	s   kv.Store
}

func open(s kv.Store, change ...func(*Config)) *ranking {
	c := Config{Name: "test", Code: Signed, Local: NewLocal(1 << 16), Now: time.Now, Limit: 4}
	for _, f := range change {
		f(&c)
	}
	own := NewOwn(c.Name, c.Now, c.Expires)
	c.Truth = own
	return &ranking{New(c), own, s}
}

func (r *ranking) change(id string, change Change) error {
	due := new(Due)
	if err := r.Set(ctx, r.s, r.own, id, change, due); err != nil {
		return err
	}
	_ = due.Report(ctx, r.s)
	return nil
}

func (r *ranking) set(t testing.TB, id string, score int64) {
	t.Helper()
	r.setTo(t, id, FromInt(score))
}

func (r *ranking) setTo(t testing.TB, id string, score Score) {
	t.Helper()
	if err := r.change(id, To(score)); err != nil {
		t.Fatalf("set %s to %v: %v", id, score, err)
	}
}

func (r *ranking) filled(work func(lost uint64) error) error {
	var lost uint64
	for {
		err := work(lost)
		now, failed := r.Distrust(ctx, r.s, err)
		if failed != nil || now == 0 || now == lost {
			return cmp.Or(failed, err)
		}
		lost = now
	}
}

func (r *ranking) rebuild(ids ...string) error {
	return r.filled(func(lost uint64) error { return r.Rebuild(ctx, r.s, ids, lost) })
}

func (r *ranking) mendAll(ids ...string) error {
	return r.filled(func(lost uint64) error {
		_, err := r.Mend(ctx, r.s, ids, lost, r.clear)
		return err
	})
}

func withTies(c *Config) { c.Code = c.Code.WithTies() }

func dense(c *Config) { c.Dense = true }

func (r *ranking) remove(t testing.TB, id string) {
	t.Helper()
	if err := r.change(id, Out); err != nil {
		t.Fatalf("remove %s: %v", id, err)
	}
}

func (r *ranking) checkInvariants(t testing.TB, ids ...string) Report {
	t.Helper()
	report, err := r.Verify(ctx, r.s, ids)
	if err != nil {
		t.Fatal("verify:", err)
	}
	for _, id := range report.Missing {
		t.Errorf("%s is missing", id)
	}
	for _, wrong := range report.Wrong {
		t.Error(wrong)
	}
	return report
}

func (r *ranking) checkCounts(t testing.TB) {
	t.Helper()
	must(t, r.Refresh(ctx, r.s))
	r.wantDrift(t, 0)
}

func (r *ranking) wantDrift(t testing.TB, want int) {
	t.Helper()
	report, err := r.Verify(ctx, r.s, nil)
	if err != nil || report.Drift != want {
		t.Errorf("counts are off by %d, %v; want %d", report.Drift, err, want)
	}
}

type plain struct{ kv.Store }

func (plain) Powers() kv.Powers { return kv.Powers{} }

func newMem() kv.Store { return plain{memkv.New(memkv.Options{})} }

// disturbed is a store where something happens before some trips.
type disturbed struct {
	kv.Store
	trips int
	at    map[int]func()
}

func (d *disturbed) Do(ctx context.Context, ops []kv.Op) error {
	d.trips++
	if happens := d.at[d.trips]; happens != nil {
		happens()
	}
	return d.Store.Do(ctx, ops)
}

type model struct {
	*order
	scores map[string]Score
}

func (m *model) members() []string {
	ids := slices.Collect(maps.Keys(m.scores))
	points := make(map[string]point, len(ids))
	for _, id := range ids {
		points[id] = m.point(m.scores[id], id)
	}
	slices.SortFunc(ids, func(a, b string) int {
		return cmp.Or(points[b].compare(points[a]), cmp.Compare(a, b))
	})
	return ids
}

func (r *ranking) orderOf(t testing.TB) *order {
	t.Helper()
	m, err := r.readMeta(ctx, r.s)
	if err != nil || m == nil {
		t.Fatal("no definition:", err)
	}
	return &m.order
}

func names(members []Member) []string {
	ids := make([]string, len(members))
	for i, m := range members {
		ids[i] = m.ID
	}
	return ids
}

var seeded = proof.Seeded

func idOf(i int) string { return fmt.Sprintf("id%04d", i) }

func To(s Score) Change {
	return func(context.Context, kv.Store, State) (State, error) { return State{In: true, Score: s}, nil }
}

func Out(context.Context, kv.Store, State) (State, error) { return State{}, nil }

func drop(t testing.TB, s kv.Store, key string) {
	t.Helper()
	proof.Done(t)(kv.One(ctx, s, kv.OpDelete(key)))
}

var must = proof.Must
