package index_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// shared is a store that outlives its users.
type shared struct{ kv.Store }

func (s shared) Powers() kv.Powers { return kv.PowersOf(s.Store) }
func (s shared) Close() error      { return nil }

// hooked is a store whose trips do carries out.
type hooked struct {
	shared
	do func(ctx context.Context, s kv.Store, ops []kv.Op) error
}

func (h hooked) Do(ctx context.Context, ops []kv.Op) error { return h.do(ctx, h.shared, ops) }

// answering is a store in which answer may set the result of an op, and report that it did.
func answering(s kv.Store, answer func(op *kv.Op) bool) kv.Store {
	return hooked{shared{s}, func(ctx context.Context, s kv.Store, ops []kv.Op) error {
		for i := range ops {
			if !answer(&ops[i]) {
				_ = s.Do(ctx, ops[i:i+1])
			}
		}
		return kv.Unanswered(ops)
	}}
}

func open(t testing.TB, s kv.Store) *kvmodel.DB {
	t.Helper()
	db, err := kvmodel.Open(s, kvmodel.Log(slog.New(slog.DiscardHandler)))
	must(t, err)
	return db
}

// closing closes db at the end of the test, and fails if work is left.
func closing(t testing.TB, db *kvmodel.DB) *kvmodel.DB { return proof.Closing(t, db) }

func schemaOf[T any](name string, id func(*T) *string, set ...func(*kvmodel.Schema[T, string])) kvmodel.Schema[T, string] {
	s := kvmodel.Schema[T, string]{
		Name: name, Version: 1,
		ID:    func(v *T) string { return *id(v) },
		SetID: func(v *T, text string) { *id(v) = text },
		Key:   kvmodel.StringKey[string](),
		Codec: asJSON[T]{},
	}
	for _, f := range set {
		f(&s)
	}
	return s
}

var must = proof.Must
