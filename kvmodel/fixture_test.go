package kvmodel_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

type note struct {
	ID                        string
	Text                      string
	Code                      string `json:",omitempty"`
	Version                   int64
	Created, Updated, Expires time.Time
}

// errBlank is the error of a note without text after trimming.
var errBlank = errors.New("the text is blank")

func (n *note) Validate() error {
	n.Text = strings.TrimSpace(n.Text)
	if n.Text == "" {
		return errBlank
	}
	return nil
}

// Upgrade marks the text of a note written by an older release.
func (n *note) Upgrade(from int) error {
	if n.Text == "poison" {
		return errors.New("cannot be upgraded")
	}
	n.Text += fmt.Sprintf(" (from %d)", from)
	return nil
}

type notes = kvmodel.Records[note, string]

// keeping is a JSON codec that keeps the fields of a record that T does not have.
type keeping[T any] struct{}

func (keeping[T]) Append(dst []byte, v *T) ([]byte, error) {
	b, err := json.Marshal(v)
	return append(dst, b...), err
}

func (keeping[T]) Unmarshal(data []byte, v *T) (bool, error) {
	strict := json.NewDecoder(bytes.NewReader(data))
	strict.DisallowUnknownFields()
	if strict.Decode(v) == nil {
		return false, nil
	}
	if err := json.Unmarshal(data, v); err != nil {
		return false, err
	}
	return len(unknownFields[T](data)) > 0, nil
}

func (keeping[T]) Merge(prev, next []byte) ([]byte, error) {
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(next, &all); err != nil {
		return nil, err
	}
	maps.Copy(all, unknownFields[T](prev))
	return json.Marshal(all)
}

func unknownFields[T any](data []byte) map[string]json.RawMessage {
	all, known := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	_ = json.Unmarshal(data, &all)
	b, _ := json.Marshal(new(T))
	_ = json.Unmarshal(b, &known)
	maps.DeleteFunc(all, func(name string, _ json.RawMessage) bool {
		_, ok := known[name]
		return ok || name == "Code"
	})
	return all
}

func noteSchema() kvmodel.Schema[note, string] {
	return kvmodel.Schema[note, string]{
		Name: "Note", Version: 1,
		ID:       func(n *note) string { return n.ID },
		SetID:    func(n *note, id string) { n.ID = id },
		Key:      kvmodel.StringKey[string](),
		Codec:    keeping[note]{},
		Revision: func(n *note) *int64 { return &n.Version },
		Created:  func(n *note) *time.Time { return &n.Created },
		Updated:  func(n *note) *time.Time { return &n.Updated },
		Expires:  func(n *note) *time.Time { return &n.Expires },
	}
}

var codes = kvmodel.IndexSpec[note, string]{
	Name: "ByCode", Fields: []string{"Code"}, Key: kvmodel.StringKey[string](),
	Values: func(n *note) []string { return []string{n.Code} },
}

// simpleNotes are notes without version and times.
func simpleNotes() kvmodel.Schema[note, string] {
	s := noteSchema()
	s.Revision, s.Created, s.Updated, s.Expires = nil, nil, nil, nil
	return s
}

// writes change notes, of which there is "a" in version 1.
var writes = map[string]func(context.Context, *notes) error{
	"Create": func(ctx context.Context, r *notes) error { return r.Create(ctx, &note{ID: "b", Text: "b", Code: "b"}) },
	"CreateMulti": func(ctx context.Context, r *notes) error {
		return r.CreateMulti(ctx, []*note{{Text: "c"}, {Text: "d"}})
	},
	"Put": func(ctx context.Context, r *notes) error {
		return r.Put(ctx, &note{ID: "a", Text: "put", Code: "put", Version: 1})
	},
	"Update": func(ctx context.Context, r *notes) error {
		_, err := r.Update(ctx, "a", func(n *note) error { n.Text, n.Code = "updated", "updated"; return nil })
		return err
	},
	"Delete": func(ctx context.Context, r *notes) error { return r.Delete(ctx, "a") },
}

func quiet() kvmodel.Option { return kvmodel.Log(slog.New(slog.DiscardHandler)) }

func open(t testing.TB, s kv.Store, opts ...kvmodel.Option) *kvmodel.DB {
	t.Helper()
	db, err := kvmodel.Open(s, append([]kvmodel.Option{quiet()}, opts...)...)
	must(t, err)
	return db
}

// closing closes db at the end of the test, which must leave nothing undone.
func closing(t testing.TB, db *kvmodel.DB) *kvmodel.DB { return proof.Closing(t, db) }

// powers is a store with only the given powers.
type powers struct {
	kv.Store
	with kv.Powers
}

func (p powers) Powers() kv.Powers { return p.with }

func plain(s kv.Store) kv.Store { return powers{s, kv.Powers{}} }

var kinds = map[string]func(kv.Store) kv.Store{
	"atomic":             func(s kv.Store) kv.Store { return s },
	"optimistic":         kvtest.Twice,
	"plain":              plain,
	"unless and ordered": func(s kv.Store) kv.Store { return powers{s, kv.Powers{Unless: true, Ordered: true}} },
}

func eachKind(t *testing.T, f func(t *testing.T, ctx context.Context, s kv.Store)) {
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		t.Run(name, func(t *testing.T) {
			f(t, t.Context(), kinds[name](memkv.New(memkv.Options{})))
		})
	}
}

// mortal is a store whose process can die: from then on it answers nothing, as if the caller had
// gone before the answer came.
type mortal struct {
	kv.Store
	dead  atomic.Bool
	trips atomic.Int64
	dies  atomic.Int64 // the number of the fatal trip, if not 0
}

var errDead = fmt.Errorf("%w: the process is dead", kv.ErrUnavailable)

func (m *mortal) Powers() kv.Powers {
	p := kv.PowersOf(m.Store)
	if whole := p.Atomic; whole != nil {
		p.Atomic = func(ctx context.Context, f func(kv.Store) error) error {
			if m.died() {
				return errDead
			}
			return whole(ctx, f)
		}
	}
	return p
}

func (m *mortal) Do(ctx context.Context, ops []kv.Op) error {
	if m.died() {
		return kv.Fail(ops, errDead)
	}
	return m.Store.Do(ctx, ops)
}

func (m *mortal) died() bool {
	if n := m.trips.Add(1); m.dies.Load() != 0 && n >= m.dies.Load() {
		m.dead.Store(true)
	}
	return m.dead.Load()
}

func (m *mortal) kill() { m.dead.Store(true) }

// Close leaves the store to the other processes.
func (m *mortal) Close() error { return nil }

// shared is a store that a DB may close without closing it for others.
type shared struct{ kv.Store }

func (s shared) Powers() kv.Powers { return kv.PowersOf(s.Store) }
func (s shared) Close() error      { return nil }

// answer answers a trip, which it may also pass on to next.
type answer func(ctx context.Context, ops []kv.Op, next func([]kv.Op) error) error

type tampering struct {
	kv.Store
	with atomic.Pointer[answer]
}

func tamper(s kv.Store, with answer) *tampering {
	f := &tampering{Store: s}
	f.set(with)
	return f
}

// set makes with answer from now on; nil: the store itself.
func (f *tampering) set(with answer) { f.with.Store(&with) }

func (f *tampering) Powers() kv.Powers { return kv.PowersOf(f.Store) }

func (f *tampering) Do(ctx context.Context, ops []kv.Op) error {
	next := func(ops []kv.Op) error { return f.Store.Do(ctx, ops) }
	if with := *f.with.Load(); with != nil {
		return with(ctx, ops, next)
	}
	return next(ops)
}

func cost(t *testing.T, ctx context.Context, f func(ctx context.Context) error) kv.Cost {
	t.Helper()
	ctx, m := kv.Metered(ctx)
	proof.Is(t, f(ctx), nil)
	return m.Cost()
}

var wantErr = proof.Is

var must = proof.Must

func wantSame[T any](t testing.TB, want, got T, what string, args ...any) {
	t.Helper()
	proof.NoDiff(t, cmp.Diff(want, got), "%s", fmt.Sprintf(what, args...))
}

func wantLen[E any](t testing.TB, n int, got []E, what string) {
	t.Helper()
	if len(got) != n {
		t.Errorf("%s: got %v, want %d", what, got, n)
	}
}

func wantText(t testing.TB, ctx context.Context, r *notes, id, want string) {
	t.Helper()
	if got, err := r.Get(ctx, id); err != nil || got.Text != want {
		t.Errorf("%s is %+v, %v; want %q", id, got, err, want)
	}
}
