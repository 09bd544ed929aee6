package kvmodel

import (
	"context"

	"github.com/ringtree/ringtree/kvmodel/internal/journal"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// notes are journal lines about changes that an index makes on its own, apart from a change of a
// record. To repair they look like lines of a model.
type notes struct {
	finish func(ctx context.Context, s kv.Store, texts []string) error
}

// Finishes makes repair call finish with the texts of each note under name that a dead process
// left. It is for the index classes of this module, which call it once, at start-up.
func (db *DB) Finishes(name string, finish func(ctx context.Context, s kv.Store, texts []string) error) {
	db.setOwner(name, notes{finish})
}

// Note writes texts to the journal, so that another process can finish what this one is about to
// do. The caller calls done, which is never nil, when nothing is left to finish. Without texts,
// Note only makes sure that there is a journal.
func (db *DB) Note(ctx context.Context, s kv.Store, name string, texts []string) (done func(), err error) {
	return db.core.Note(ctx, s, name, texts)
}

// RepairLine finishes the change noted in l.
func (n notes) RepairLine(ctx context.Context, s kv.Store, l journal.Line) error {
	for _, t := range l.Touched {
		if err := n.finish(ctx, s, t.Places); err != nil {
			return err
		}
	}
	return nil
}
