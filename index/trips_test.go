package index_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func move(ctx context.Context, p *people, id, email string) error {
	_, err := p.Update(ctx, id, func(p *person) error { p.Email = email; return nil })
	return err
}

func TestRecords_AnIndexChangeCostsOneAppend(t *testing.T) {
	for name, verb := range map[string]func(ctx context.Context, p *people) error{
		"create": func(ctx context.Context, p *people) error { return p.Create(ctx, &person{Email: "new@x"}) },
		"move":   func(ctx context.Context, p *people) error { return move(ctx, p, "ann", "new@x") },
		"delete": func(ctx context.Context, p *people) error { return p.Delete(ctx, "ann") },
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			var appends proof.Record[int] // the bytes of each
			s := kv.Trace(plain{memkv.New(memkv.Options{})}, func(_ context.Context, trip kv.Trip) {
				for _, op := range trip.Ops {
					// the background work of the verb writes claims but no lines
					if op.Kind == kv.Append && op.Key[:5] == "line:" {
						appends.Add(len(op.Value))
					}
				}
			})
			db := closing(t, open(t, s))
			p := newPeople(db)
			must(t, p.Create(ctx, &person{ID: "ann", Email: "ann@x"}))
			must(t, db.Flush(ctx))
			appends.Take()
			must(t, verb(ctx, p))
			must(t, db.Flush(ctx))
			lines := appends.Take()
			t.Logf("%s: a line of %d bytes", name, lines)
			if len(lines) != 1 || lines[0] > 100 {
				t.Errorf("appends of %d bytes, want 1 of at most 100", lines)
			}
		})
	}
}

// A process that dies during a trip has written its line or nothing.
func TestRecords_TheLineIsTheFirstThingThatItsTripWrites(t *testing.T) {
	for name, verb := range map[string]func(ctx context.Context, b *books) error{
		"Create": func(ctx context.Context, b *books) error { return b.Create(ctx, &book{ID: "new", Author: "knuth"}) },
		"Update": func(ctx context.Context, b *books) error {
			_, err := b.Update(ctx, "a", func(b *book) error { b.Author = "new"; return nil })
			return err
		},
		"Delete": func(ctx context.Context, b *books) error { return b.Delete(ctx, "a") },
		"Delete after a Get": func(ctx context.Context, b *books) error {
			_, err := b.Get(ctx, "a")
			return errors.Join(err, b.Delete(ctx, "a"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			var writes proof.Record[string]
			s := kv.Trace(plain{memkv.New(memkv.Options{})}, func(_ context.Context, trip kv.Trip) {
				for _, op := range trip.Ops {
					if op.Kind.Writes() {
						writes.Add(op.Key)
					}
				}
			})
			b := newBooks(closing(t, open(t, s)))
			must(t, b.Create(t.Context(), &book{ID: "a", Author: "knuth"}))
			must(t, b.db.Flush(t.Context()))
			writes.Take()
			must(t, verb(t.Context(), b))
			if written := writes.Take(); len(written) == 0 || !strings.HasPrefix(written[0], "line:") {
				t.Errorf("written in this order: %q", written)
			}
		})
	}
}
