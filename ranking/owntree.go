package ranking

import (
	"context"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// newOwnTree returns the tree of that name, whose members have no records but their own.
// Changes of it are noted in the journal of db.
func newOwnTree(db plug.DB, code keytree.Code, name ...string) tree {
	text := kv.JoinText(name...)
	own := keytree.NewOwn(text, db.Now, time.Time{})
	own.Note = noter(db, noteName(name...), "", time.Time{})
	return tree{keytree.New(keytree.Config{
		Name: text, Code: code, Truth: own, Local: keytree.NewLocal(keptRouters),
		Now: db.Now, Limit: leafLimit, Atomic: kv.PowersOf(db.Store()).Atomic != nil,
		Later: func(work func(context.Context, kv.Store) error) {
			db.Soon(func(ctx context.Context) error { return work(ctx, db.Store()) })
		},
	}), own}
}

// finishes has what a dead process has noted about t, which has that name, finished.
func (t tree) finishes(db plug.DB, reports *reporter, name ...string) {
	db.Finishes(noteName(name...), func(ctx context.Context, s kv.Store, texts []string) error {
		return finishNotes(ctx, s, reports, texts, func(note) tree { return t })
	})
}
