package ranking_test

import (
	"testing"

	"github.com/ringtree/ringtree/internal/tally"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
)

type song struct {
	ID    string
	Moods []string
	Stars int64
	Plays int64 `json:"-"`
}

type songs struct {
	*kvmodel.Records[song, string]
	db        *kvmodel.DB
	plays     *tally.Tally
	TopStars  *ranking.Boards[song, string, int64, string]
	TopPlays  *ranking.Boards[song, string, int64, string]
	PlaysADay *ranking.Boards[song, string, int64, string]
	Front     *ranking.Boards[song, string, int64, string]
}

func openSongs(t testing.TB, s kv.Store, batch ranking.Batch) *songs {
	db, err := kvmodel.Open(s, quiet)
	must(t, err)
	r := kvmodel.NewRecords(db, kvmodel.Schema[song, string]{
		Name: "Song", Version: 1,
		ID:       func(v *song) string { return v.ID },
		SetID:    func(v *song, id string) { v.ID = id },
		Key:      kvmodel.StringKey[string](),
		Codec:    asJSON[song]{},
		Counters: []kvmodel.CounterOf[song]{{Name: "Plays", Set: func(v *song, n int64) { v.Plays = n }}},
	})
	by := kvmodel.By[song, string]{Key: kvmodel.StringKey[string](), Values: func(v *song) []string { return v.Moods }}
	plays := db.Tally("Song", "Plays")
	board := func(spec ranking.Spec[song, int64]) *ranking.Boards[song, string, int64, string] {
		spec.Of = ranking.Int[int64]()
		if spec.Name != "TopStars" {
			spec.Counter, spec.Batch = plays, batch
		}
		return ranking.NewBoards(r, spec, by)
	}
	t.Cleanup(func() {
		if err := db.Close(ctx); err != nil {
			t.Error("close:", err)
		}
	})
	return &songs{
		Records: r, db: db, plays: plays,
		TopStars:  board(ranking.Spec[song, int64]{Name: "TopStars", Score: func(v *song) int64 { return v.Stars }}),
		TopPlays:  board(ranking.Spec[song, int64]{Name: "TopPlays"}),
		PlaysADay: board(ranking.Spec[song, int64]{Name: "PlaysADay", Per: ranking.Day, Keep: 2}),
		Front:     board(ranking.Spec[song, int64]{Name: "Front", Score: func(v *song) int64 { return v.Stars + v.Plays }}),
	}
}

func (m *songs) wantBoards(t testing.TB, mood, want string) {
	t.Helper()
	must(t, m.db.Flush(ctx))
	for name, boards := range map[string]*ranking.Boards[song, string, int64, string]{
		"TopStars": m.TopStars, "TopPlays": m.TopPlays, "PlaysADay": m.PlaysADay, "Front": m.Front,
	} {
		table, err := boards.Of(mood).Table(ctx, "", 10)
		got := ""
		for i, p := range table.Places {
			got += p.Item.ID
			if p.Rank != i+1 {
				t.Errorf("%s of %s: %s has rank %d, want %d", name, mood, p.Item.ID, p.Rank, i+1)
			}
		}
		if got != want || table.Len != len(want) || err != nil {
			t.Errorf("%s of %s: %q of %d, %v; want %q", name, mood, got, table.Len, err, want)
		}
	}
}

func TestBoards_ARecordStandsOnTheBoardOfEachOfItsValues(t *testing.T) {
	for batchName, batch := range map[string]ranking.Batch{"windowed": ranking.Windowed, "every": ranking.Every} {
		t.Run(batchName, func(t *testing.T) {
			eachKind(t, memkv.Options{}, func(t *testing.T, s kv.Store, _ *memkv.Store) {
				m := openSongs(t, s, batch)
				put := func(id string, stars int64, moods ...string) {
					t.Helper()
					must(t, m.Put(ctx, &song{ID: id, Stars: stars, Moods: moods}))
				}
				play := func(id string, times int64) {
					t.Helper()
					if _, err := m.plays.Add(ctx, id, times); err != nil {
						t.Fatal(err)
					}
				}
				put("a", 1, "calm", "glad", "calm", "")
				put("b", 2, "calm")
				put("c", 3, "glad", "sad")
				play("a", 1)
				play("b", 2)
				play("c", 3)
				m.wantBoards(t, "calm", "ba")
				m.wantBoards(t, "glad", "ca")
				m.wantBoards(t, "sad", "c")

				put("a", 1, "glad", "sad") // It leaves one and comes to another.
				m.wantBoards(t, "calm", "b")
				m.wantBoards(t, "glad", "ca")
				m.wantBoards(t, "sad", "ca")

				put("a", 9, "glad", "sad")
				play("a", 9)
				m.wantBoards(t, "glad", "ac")
				m.wantBoards(t, "sad", "ac")

				must(t, m.Delete(ctx, "c"))
				must(t, m.Rebuild(ctx))
				m.wantBoards(t, "glad", "a")
				m.wantBoards(t, "calm", "b")
				put("a", 9)
				m.wantBoards(t, "glad", "")
				m.wantBoards(t, "sad", "")
			})
		})
	}
}
