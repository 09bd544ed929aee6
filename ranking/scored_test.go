package ranking_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/ringtree/ringtree/internal/tally"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
)

type talk struct {
	ID           string
	Born         float64
	Topic        string
	Votes, Views int64 `json:"-"`
	Fans         int64 `json:"-"` // a derived count
}

func (t *talk) heat() float64 { return math.Sqrt(t.Born) + float64(10*t.Votes+t.Views+10*t.Fans) }

type talks struct {
	*kvmodel.Records[talk, string]
	db           *kvmodel.DB
	votes, views *tally.Tally
	fans         *tally.Derived
	Front        *ranking.Board[talk, string, float64]
	ByTopic      *ranking.Boards[talk, string, float64, string]
	Top          *ranking.Board[talk, string, int64]
}

func openTalks(t *testing.T, s kv.Store, batch ranking.Batch) *talks {
	db, err := kvmodel.Open(s, quiet)
	must(t, err)
	r := kvmodel.NewRecords(db, kvmodel.Schema[talk, string]{
		Name: "Talk", Version: 1,
		ID:    func(v *talk) string { return v.ID },
		SetID: func(v *talk, id string) { v.ID = id },
		Key:   kvmodel.StringKey[string](),
		Codec: asJSON[talk]{},
		Counters: []kvmodel.CounterOf[talk]{
			{Name: "Votes", Set: func(v *talk, n int64) { v.Votes = n }},
			{Name: "Views", Set: func(v *talk, n int64) { v.Views = n }},
			{Name: "Fans", Derived: true, Set: func(v *talk, n int64) { v.Fans = n }},
		},
	})
	votes, views, fans := db.Tally("Talk", "Votes"), db.Tally("Talk", "Views"), db.Derived("Talk", "Fans")
	spec := ranking.Spec[talk, float64]{
		Name: "Front", Of: ranking.Float[float64](), Score: (*talk).heat,
		Counter: votes, Also: []ranking.Counter{views, fans}, Batch: batch,
	}
	byTopic := spec
	byTopic.Name = "FrontByTopic"
	m := &talks{
		Records: r, db: db, votes: votes, views: views, fans: fans,
		Front: ranking.NewBoard(r, spec),
		Top: ranking.NewBoard(r, ranking.Spec[talk, int64]{
			Name: "TopVotes", Of: ranking.Int[int64](), Counter: votes, Batch: batch,
		}),
		ByTopic: ranking.NewBoards(r, byTopic, kvmodel.By[talk, string]{
			Key: kvmodel.StringKey[string](), Value: func(v *talk) string { return v.Topic },
		}),
	}
	t.Cleanup(func() {
		if err := db.Close(ctx); err != nil {
			t.Error("close:", err)
		}
	})
	return m
}

func eachTalks(t *testing.T, f func(t *testing.T, m *talks)) {
	for name, batch := range map[string]ranking.Batch{"windowed": ranking.Windowed, "every": ranking.Every} {
		t.Run(name, func(t *testing.T) {
			eachKind(t, memkv.Options{}, func(t *testing.T, s kv.Store, _ *memkv.Store) { f(t, openTalks(t, s, batch)) })
		})
	}
}

func (m *talks) shows(t *testing.T, l kvmodel.Lister[talk], want ...string) {
	t.Helper()
	if err := m.db.Flush(ctx); err != nil {
		t.Fatal("flush:", err)
	}
	page, err := l.Page(ctx, "", 10)
	if err != nil {
		t.Fatal("page:", err)
	}
	if got := kv.Texts(page.Items, func(v *talk) string { return v.ID }); !slices.Equal(got, want) {
		t.Errorf("it shows %v, want %v", got, want)
	}
}

func (m *talks) count(t *testing.T, tally *tally.Tally, id string, delta int64) {
	t.Helper()
	if _, err := tally.Add(ctx, id, delta); err != nil {
		t.Fatal(err)
	}
}

func TestBoard_ByAMethodFollowsTheRecordAndEachOfItsCounters(t *testing.T) {
	eachTalks(t, func(t *testing.T, m *talks) {
		for i, id := range []string{"a", "b", "c"} {
			must(t, m.Create(ctx, &talk{ID: id, Born: float64(i), Topic: "tea"}))
		}
		m.shows(t, m.Front, "c", "b", "a")
		m.count(t, m.votes, "a", 1)
		m.shows(t, m.Front, "a", "c", "b")
		m.count(t, m.views, "b", 20)
		m.shows(t, m.Front, "b", "a", "c")

		born := func(id string, at float64) {
			t.Helper()
			if _, err := m.Update(ctx, id, func(v *talk) error { v.Born = at; return nil }); err != nil {
				t.Fatal(err)
			}
		}
		born("c", 10000)
		m.shows(t, m.Front, "c", "b", "a")
		m.shows(t, m.ByTopic.Of("tea"), "c", "b", "a")
		must(t, m.Delete(ctx, "b"))
		m.shows(t, m.Front, "c", "a")

		places, err := m.Front.At(ctx, 1, 5)
		if err != nil || len(places) != 2 || places[1].Score != 10 || places[1].Item.Votes != 1 {
			t.Errorf("places: %+v, %v", places, err)
		}
		if err := m.Create(ctx, &talk{ID: "d", Born: -1}); !errors.Is(err, kvmodel.ErrInvalid) {
			t.Error("a score that has no place:", err)
		}
	})
}

func TestDerived_NotifiesFollowersAfterATransaction(t *testing.T) {
	eachTalks(t, func(t *testing.T, m *talks) {
		for _, id := range []string{"a", "b"} {
			must(t, m.Create(ctx, &talk{ID: id}))
		}
		step := func(ctx context.Context, s kv.Store) error {
			m.fans.Begin(ctx, s, "a")
			n, err := m.fans.Add(ctx, s, "a", 3)
			m.fans.Tell(ctx, s, "a", 3, n)
			return err
		}
		if atomic := kv.PowersOf(m.db.Store()).Atomic; atomic != nil {
			inside := step
			step = func(ctx context.Context, _ kv.Store) error {
				return atomic(ctx, func(s kv.Store) error { return inside(ctx, s) })
			}
		}
		must(t, step(ctx, m.db.Store()))
		m.shows(t, m.Front, "a", "b")
		if rank, err := m.Front.Rank(ctx, "a"); rank != 1 || err != nil {
			t.Errorf("rank %d, %v; want 1", rank, err)
		}
	})
}

// missed counts without the boards, as a process does that dies before it writes what it has
// gathered.
func missed(t *testing.T, s kv.Store, id string, n int64) {
	t.Helper()
	if _, err := kv.Next(ctx, s, tally.Key("Talk", "Votes", kv.JoinText(id)), 0, n); err != nil {
		t.Fatal(err)
	}
}

func TestBoard_CatchesUpWithCountsItMissed(t *testing.T) {
	eachTalks(t, func(t *testing.T, m *talks) {
		for _, id := range []string{"a", "b", "c"} {
			must(t, m.Create(ctx, &talk{ID: id, Topic: "tea"}))
			m.count(t, m.votes, id, int64(1+id[0]-'a'))
		}
		m.shows(t, m.ByTopic.Of("tea"), "c", "b", "a")
		missed(t, m.db.Store(), "a", 8)
		m.shows(t, m.ByTopic.Of("tea"), "c", "b", "a")
		if _, err := m.ByTopic.Of("tea").Mend(ctx, "a", "b", "c"); err != nil {
			t.Fatal(err)
		}
		m.shows(t, m.ByTopic.Of("tea"), "a", "c", "b")
		m.shows(t, m.Top, "c", "b", "a")
		missed(t, m.db.Store(), "b", 20)
		must(t, m.Rebuild(ctx))
		m.shows(t, m.Front, "b", "a", "c")
		m.shows(t, m.Top, "b", "a", "c")
	})
}

func TestBoard_ByAMethodTakesTheCountersOfARecordFromNoEdit(t *testing.T) {
	edits := map[string]func(m *talks, v talk) error{
		"put": func(m *talks, v talk) error { return m.Put(ctx, &v) },
		"updated": func(m *talks, v talk) error {
			_, err := m.Update(ctx, v.ID, func(old *talk) error { *old = v; return nil })
			return err
		},
	}
	for name, edit := range edits {
		t.Run(name, func(t *testing.T) {
			eachTalks(t, func(t *testing.T, m *talks) {
				for _, v := range []talk{{ID: "a", Born: 100}, {ID: "b", Born: 625}} {
					must(t, m.Create(ctx, &v))
				}
				m.count(t, m.votes, "a", 1)
				m.shows(t, m.Front, "b", "a") // 25 to 20

				// Without its vote it would be at 20 again.
				must(t, edit(m, talk{ID: "a", Born: 400}))
				m.shows(t, m.Front, "a", "b") // 30 to 25
			})
		})
	}
}
