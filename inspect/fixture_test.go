package inspect_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

type note struct {
	ID    string
	Title string
	Tags  []string
	Email string // private
	Views int64  `msgpack:"-"` // a counter
}

func noteSchema() kvmodel.Schema[note, string] {
	return kvmodel.Schema[note, string]{
		Name: "Note", Version: 2,
		ID:      func(n *note) string { return n.ID },
		SetID:   func(n *note, id string) { n.ID = id },
		Key:     kvmodel.StringKey[string](),
		Codec:   packed[note]{},
		Private: []string{"Email"},
	}
}

type notes struct {
	*kvmodel.Records[note, string]
	views   *index.Counter[string]
	byTitle *index.Unique[note, string]
}

func newNotes(db *kvmodel.DB) notes {
	schema := noteSchema()
	schema.Counters = []kvmodel.CounterOf[note]{
		{Name: "Views", Set: func(n *note, views int64) { n.Views = views }},
	}
	r := kvmodel.NewRecords(db, schema)
	byTitle := index.NewUnique(r, kvmodel.IndexSpec[note, string]{
		Name: "ByTitle", Def: "unique Title", Fields: []string{"Title"}, Key: kvmodel.StringKey[string](),
		Values: func(n *note) []string { return []string{n.Title} },
	})
	index.NewLists(r, kvmodel.IndexSpec[note, string]{
		Name: "ByTags", Def: "list Tags", Fields: []string{"Tags"}, Key: kvmodel.StringKey[string](),
		Values: func(n *note) []string { return n.Tags },
	})
	return notes{r, index.NewCounter(r, "Views"), byTitle}
}

func bareNotes(db *kvmodel.DB) *kvmodel.Records[note, string] {
	schema := noteSchema()
	schema.Version, schema.Private = 1, nil
	return kvmodel.NewRecords(db, schema)
}

func models(db *kvmodel.DB) []kvmodel.Model { return []kvmodel.Model{newNotes(db)} }

type packed[T any] struct{}

func (packed[T]) Append(dst []byte, v *T) ([]byte, error) {
	data, err := msgpack.Marshal(v)
	return append(dst, data...), err
}

func (packed[T]) Unmarshal(data []byte, v *T) (bool, error) { return false, msgpack.Unmarshal(data, v) }
func (packed[T]) Merge(_, next []byte) ([]byte, error)      { return next, nil }

// powers is a store with powers of its own, that closing a DB leaves open.
type powers struct {
	kv.Store
	p kv.Powers
}

func (s powers) Powers() kv.Powers { return s.p }
func (powers) Close() error        { return nil }

// shared is a store that several processes can use, so that each has a journal.
func shared(mem *memkv.Store) kv.Store {
	return powers{mem, kv.Powers{Unless: true, Keys: kv.PowersOf(mem).Keys}}
}

func unkeyed(mem *memkv.Store) kv.Store { return powers{mem, kv.Powers{Unless: true}} }

var must = proof.Must

func open(t testing.TB, s kv.Store, opts ...kvmodel.Option) *kvmodel.DB {
	t.Helper()
	db, err := kvmodel.Open(s, append(opts, kvmodel.Log(slog.New(slog.DiscardHandler)))...)
	must(t, err)
	return db
}

func fill(t testing.TB, s kv.Store) {
	t.Helper()
	db := open(t, s)
	all := newNotes(db)
	for _, n := range []note{
		{ID: "n1", Title: "Tides", Tags: []string{"sea"}, Email: "ann@example.org"},
		{ID: "n2", Title: "Snow", Tags: []string{"hills", "sea"}},
		{ID: "n3", Title: "Moss", Tags: []string{"woods"}},
	} {
		must(t, all.Create(t.Context(), &n))
	}
	proof.Done(t)(all.views.Add(t.Context(), "n1", 7))
	must(t, db.Close(t.Context()))
}

func furnished(t testing.TB) *memkv.Store {
	t.Helper()
	mem := memkv.New(memkv.Options{})
	fill(t, shared(mem))
	return mem
}

type ran struct {
	code      int
	out, errs string
}

func on(s kv.Store, args ...string) inspect.Config {
	return inspect.Config{
		Name: "db", Args: args, Models: models, URL: "test://somebody:secret@here", Stdin: strings.NewReader(""),
		Open: func(context.Context, string) (kv.Store, error) { return s, nil },
	}
}

func runIn(ctx context.Context, c inspect.Config) ran {
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	code := inspect.Run(ctx, c)
	return ran{code, out.String(), errs.String()}
}

func run(t testing.TB, mem *memkv.Store, args ...string) ran {
	t.Helper()
	return runIn(t.Context(), on(shared(mem), args...))
}

func say(t testing.TB, args ...string) ran {
	t.Helper()
	return runIn(t.Context(), on(nil, args...))
}

func (r ran) want(t testing.TB, code int, texts ...string) {
	t.Helper()
	proof.Equal(t, r.code, code, "exit code")
	for _, text := range texts {
		proof.Contains(t, r.out+r.errs, text)
	}
	if t.Failed() {
		t.Logf("output:\n%s\nerrors:\n%s", r.out, r.errs)
	}
}

func (r ran) wantOut(t testing.TB, code int, out string) {
	t.Helper()
	if r.code != code || r.out != out || r.errs != "" {
		t.Errorf("want exit code %d, no errors, and\n%s\ngot exit code %d, errors %q, and\n%s", code, out, r.code, r.errs, r.out)
	}
}

func (r ran) objects(t testing.TB) (all []map[string]any) {
	t.Helper()
	for line := range strings.Lines(r.out) {
		var o map[string]any
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if o["v"] != 1.0 || o["type"] == "" {
			t.Errorf("%q: want version 1 and a type", line)
		}
		all = append(all, o)
	}
	return all
}
