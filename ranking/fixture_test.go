package ranking_test

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/tally"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
)

var ctx = context.Background()

type article struct {
	ID        string
	Category  string
	Title     string
	Price     float64
	Stock     int64
	Draft     bool
	Published time.Time
	Made      time.Time
}

type articles struct {
	*kvmodel.Records[article, string]
	db        *kvmodel.DB
	views     *counter
	Cheapest  *ranking.Board[article, string, float64]
	TopStock  *ranking.Board[article, string, int64]
	Archive   *ranking.Board[article, string, time.Time]
	StockBy   *ranking.Boards[article, string, int64, string]
	TopViews  *ranking.Board[article, string, int64]
	ViewsADay *ranking.Boards[article, string, int64, string]

	Titles  *ranking.Board[article, string, string]          // nil but in tests of words
	TitleBy *ranking.Boards[article, string, string, string] // likewise

	stock, others ranking.Ties // of TopStock, and of boards of others
}

type asJSON[T any] = proof.JSON[T]

var quiet = kvmodel.Log(slog.New(slog.DiscardHandler))

func openArticles(s kv.Store, batch ranking.Batch, opts ...kvmodel.Option) *articles {
	return openTied(s, batch, ranking.Shared, ranking.NoTies, opts...)
}

func articleSchema() kvmodel.Schema[article, string] {
	return kvmodel.Schema[article, string]{
		Name: "Article", Version: 1,
		ID:    func(a *article) string { return a.ID },
		SetID: func(a *article, id string) { a.ID = id },
		Key:   kvmodel.StringKey[string](),
		Codec: asJSON[article]{},

		Created: func(a *article) *time.Time { return &a.Made },
	}
}

// openRecords opens a release without boards.
func openRecords(s kv.Store) (*kvmodel.Records[article, string], *kvmodel.DB) {
	db, err := kvmodel.Open(s, quiet)
	if err != nil {
		panic(err)
	}
	return kvmodel.NewRecords(db, articleSchema()), db
}

func openTied(s kv.Store, batch ranking.Batch, stock, others ranking.Ties, opts ...kvmodel.Option) *articles {
	db, err := kvmodel.Open(s, append(opts, quiet)...)
	if err != nil {
		panic(err)
	}
	r := kvmodel.NewRecords(db, articleSchema())
	made := func(a *article) time.Time { return a.Made }
	of := func(a *article) string { return a.Category }
	by := kvmodel.By[article, string]{Key: kvmodel.StringKey[string](), Value: of}
	listed := func(a *article) bool { return !a.Draft }
	views := &counter{s: db.Store()}
	return &articles{
		Records: r, db: db, views: views, stock: stock, others: others,
		Cheapest: ranking.NewBoard(r, ranking.Spec[article, float64]{
			Name: "Cheapest", Of: ranking.Decimal[float64](2), Low: true, If: listed,
			Score: func(a *article) float64 { return a.Price },
		}),
		TopStock: ranking.NewBoard(r, ranking.Spec[article, int64]{
			Name: "TopStock", Of: ranking.Int[int64](), Ties: stock, Made: made,
			Score: func(a *article) int64 { return a.Stock },
		}),
		Archive: ranking.NewBoard(r, ranking.Spec[article, time.Time]{
			Name: "Archive", Of: ranking.Time(),
			Score: func(a *article) time.Time { return a.Published },
		}),
		StockBy: ranking.NewBoards(r, ranking.Spec[article, int64]{
			Name: "TopStockByCategory", Of: ranking.Int[int64](), Ties: others, Made: made,
			Score: func(a *article) int64 { return a.Stock },
		}, by),
		TopViews: ranking.NewBoard(r, ranking.Spec[article, int64]{
			Name: "TopViews", Of: ranking.Int[int64](), Ties: others, Made: made, Counter: views, Batch: batch, If: listed,
		}),
		ViewsADay: ranking.NewBoards(r, ranking.Spec[article, int64]{
			Name: "TopViewsByCategoryPerDay", Of: ranking.Int[int64](), Ties: others, Made: made, Counter: views, Batch: batch,
			Per: ranking.Day, Keep: 3,
		}, by),
	}
}

type counter struct {
	s         kv.Store
	followers []tally.Follower
}

func (c *counter) key(id string) string { return "views:" + id }

func (c *counter) Follow(f tally.Follower) { c.followers = append(c.followers, f) }

func (c *counter) Counts(ctx context.Context, s kv.Store, ids []string) ([]int64, error) {
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = c.key(id)
	}
	results, err := kv.GetAll(ctx, s, keys...)
	counts := make([]int64, len(ids))
	for i, r := range results {
		if counts[i] = tally.None; r.Err == nil {
			counts[i], _ = strconv.ParseInt(string(r.Value), 10, 64)
		}
	}
	return counts, err
}

func (c *counter) Hit(ctx context.Context, id string) error { return c.Add(ctx, id, 1) }

func (c *counter) Add(ctx context.Context, id string, delta int64) error {
	var n int64
	works := []func(kv.Store) error{func(s kv.Store) (err error) {
		n, err = kv.Next(ctx, s, c.key(id), 0, delta)
		return err
	}}
	for _, f := range c.followers {
		works = append(works, func(s kv.Store) error { return f.Counting(ctx, s, id, delta) })
	}
	for _, err := range kv.Together(ctx, c.s, works...) {
		if err != nil {
			return err
		}
	}
	for _, f := range c.followers {
		if err := f.Counted(ctx, id, delta, n); err != nil {
			return err
		}
	}
	return nil
}

type plain struct{ kv.Store }

func (plain) Powers() kv.Powers { return kv.Powers{} }

type filtered struct {
	kv.Store
	refuses func(op *kv.Op) bool
}

func (filtered) Powers() kv.Powers { return kv.Powers{} }
func (filtered) Close() error      { return nil }

func (f filtered) Do(ctx context.Context, ops []kv.Op) error {
	for i := range ops {
		if f.refuses(&ops[i]) {
			ops[i].Result = kv.Result{Err: kv.ErrUnavailable}
			continue
		}
		_ = f.Store.Do(ctx, ops[i:i+1])
	}
	return kv.Unanswered(ops)
}

func writesBoard(op *kv.Op) bool { return op.Kind != kv.Get && strings.HasPrefix(op.Key, "rank:") }

// eachKind runs f with and without transactions. mem is below s.
func eachKind(t *testing.T, opts memkv.Options, f func(t *testing.T, s kv.Store, mem *memkv.Store)) {
	t.Run("atomic", func(t *testing.T) {
		mem := memkv.New(opts)
		f(t, mem, mem)
	})
	t.Run("plain", func(t *testing.T) {
		mem := memkv.New(opts)
		f(t, plain{mem}, mem)
	})
}

func memberID(i int) string { return fmt.Sprint("m", i) }

// manyArticles returns articles with the ids m0, m1 and so on, changed by edits.
func manyArticles(n int, edits ...func(i int, v *article)) []*article {
	all := make([]*article, n)
	for i := range all {
		all[i] = &article{ID: memberID(i)}
		for _, edit := range edits {
			edit(i, all[i])
		}
	}
	return all
}

func eachStore(t *testing.T, f func(t *testing.T, a *articles)) {
	eachKind(t, memkv.Options{}, func(t *testing.T, s kv.Store, _ *memkv.Store) {
		a := openArticles(s, ranking.Windowed)
		f(t, a)
		must(t, a.db.Close(ctx))
	})
}

var seeded = proof.Seeded

var must = proof.Must
