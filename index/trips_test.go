package index_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/internal/optest"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func move(ctx context.Context, p *people, id, email string) error {
	_, err := p.Update(ctx, id, func(p *person) error { p.Email = email; return nil })
	return err
}

// A process that dies during the first trip has written its line or nothing.
func TestRecords_AnIndexChangeCostsOneShortLineWhichIsTheFirstWriteOfItsTrip(t *testing.T) {
	for name, verb := range map[string]func(ctx context.Context, p *people) error{
		"create": func(ctx context.Context, p *people) error { return p.Create(ctx, &person{Email: "new@x"}) },
		"move":   func(ctx context.Context, p *people) error { return move(ctx, p, "ann", "new@x") },
		"delete": func(ctx context.Context, p *people) error { return p.Delete(ctx, "ann") },
		"delete after a get": func(ctx context.Context, p *people) error {
			_, err := p.Get(ctx, "ann")
			return errors.Join(err, p.Delete(ctx, "ann"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			var writes proof.Record[kv.Op]
			s := kv.Trace(plain{memkv.New(memkv.Options{})}, func(_ context.Context, trip kv.Trip) {
				for _, op := range trip.Ops {
					if op.Kind.Writes() {
						writes.Add(op)
					}
				}
			})
			db := closing(t, open(t, s))
			p := newPeople(db)
			must(t, p.Create(ctx, &person{ID: "ann", Email: "ann@x"}))
			must(t, db.Flush(ctx))
			writes.Take()
			must(t, errors.Join(verb(ctx, p), db.Flush(ctx)))
			written := writes.Take()
			// the background work of the verb writes claims but no lines
			isLine := func(op kv.Op) bool { return op.Kind == kv.Append && strings.HasPrefix(op.Key, "line:") }
			if len(written) == 0 || !isLine(written[0]) || len(written[0].Value) > 100 || slices.ContainsFunc(written[1:], isLine) {
				t.Errorf("want one line of at most 100 bytes, first; got %v", kv.Texts(written, optest.Show))
			}
		})
	}
}
