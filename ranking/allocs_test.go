package ranking_test

import (
	"strings"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
)

type film struct {
	ID, Title string
	Views     int64
}

type films struct {
	*kvmodel.Records[film, string]
	db       *kvmodel.DB
	Views    *kvmodel.Tally
	TopViews *ranking.Board[film, string, int64]
}

func openFilms(s kv.Store) *films {
	db, err := kvmodel.Open(s, quiet)
	if err != nil {
		panic(err)
	}
	r := kvmodel.NewRecords(db, kvmodel.Schema[film, string]{
		Name: "Film", Version: 1,
		ID:       func(f *film) string { return f.ID },
		SetID:    func(f *film, id string) { f.ID = id },
		Key:      kvmodel.StringKey[string](),
		Codec:    asLine{},
		Counters: []kvmodel.CounterOf[film]{{Name: "Views", Set: func(f *film, n int64) { f.Views = n }}},
	})
	views := db.Tally("Film", "Views")
	return &films{r, db, views, ranking.NewBoard(r, ranking.Spec[film, int64]{
		Name: "TopViews", Of: ranking.Int[int64](), Counter: views,
	})}
}

type asLine struct{}

func (asLine) Append(dst []byte, f *film) ([]byte, error) {
	return append(append(append(dst, f.ID...), ' '), f.Title...), nil
}

func (asLine) Unmarshal(data []byte, f *film) (bool, error) {
	f.ID, f.Title, _ = strings.Cut(string(data), " ")
	return false, nil
}

func (asLine) Merge(_, next []byte) ([]byte, error) { return next, nil }

func (a *films) make(t testing.TB, n int) []*film {
	t.Helper()
	films := make([]*film, n)
	for i := range films {
		films[i] = &film{Title: "film"}
		err := a.Create(ctx, films[i])
		if err == nil {
			_, err = a.Views.Add(ctx, films[i].ID, int64(i+1))
		}
		must(t, err)
	}
	must(t, a.db.Flush(ctx))
	return films
}

func allocates(t *testing.T, n float64, f func() error) {
	t.Helper()
	var failed error
	got := proof.Allocs(200, func() {
		if err := f(); err != nil {
			failed = err
		}
	})
	if failed != nil {
		t.Error(failed)
	}
	if t.Logf("%.0f allocations", got); got > n {
		t.Errorf("%.0f allocations, want at most %.0f", got, n)
	}
}

func TestBoard_AHitAllocatesNoMoreThanItsIncrement(t *testing.T) {
	a := openFilms(memkv.New(memkv.Options{}))
	defer a.db.Close(ctx)
	film := a.make(t, 1)[0]
	// The key, the op and the number in the store.
	allocates(t, 4, func() error { _, err := a.Views.Add(ctx, film.ID, 1); return err })
}
