package kvmodel

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/ringtree/ringtree/kvmodel/internal/core"
	"github.com/ringtree/ringtree/kvmodel/internal/journal"
	"github.com/ringtree/ringtree/kvmodel/internal/repair"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func (db *DB) register(name string, o repair.Owner) {
	if db.owner(name) != nil {
		panic("kvmodel: the DB has a model " + name + " already: open it once, or give one of the two another name " +
			"with `kv:\"model,name=...\"` on a field _ struct{}")
	}
	db.setOwner(name, o)
}

func (db *DB) setOwner(name string, o repair.Owner) {
	db.mu.Lock()
	db.owners[name] = o
	db.mu.Unlock()
	db.knowsMore()
}

func (db *DB) owner(name string) repair.Owner {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.owners[name]
}

func (db *DB) addGone(name string) {
	db.mu.Lock()
	db.gone[name] = true
	db.mu.Unlock()
	db.knowsMore()
}

// repairs returns the owner of lines under name, or nil if this process has none.
func (db *DB) repairs(name string) repair.Owner {
	if o := db.owner(name); o != nil {
		return o
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	model, isNote := core.NoteOf(name)
	if db.gone[name] || isNote && db.gone[model] {
		return notes{func(context.Context, kv.Store, []string) error { return nil }}
	}
	return nil
}

func (db *DB) archive(ctx context.Context, created map[string][]string) error {
	for _, name := range slices.Sorted(maps.Keys(created)) {
		if m, ok := db.repairs(name).(*core.Model); ok {
			if err := m.Archive(ctx, created[name]); err != nil {
				return err
			}
		}
	}
	return nil
}

// linesLost distrusts the indexes of models, or of all if nil, because of damaged lines.
func (db *DB) linesLost(ctx context.Context, process string, models []string, damaged error) error {
	db.core.Failures.Log(slog.LevelError, "journal lines of a dead process are damaged, so indexes need a Rebuild", fmt.Errorf("process %s: %w", process, damaged))
	var errs []error
	for _, m := range db.allModels() {
		if models == nil || slices.Contains(models, m.Name) {
			errs = append(errs, m.Distrust(ctx))
		}
	}
	return kv.Join(errs...)
}

// notes are journal lines that an index writes on its own. To repair they look like lines of a
// model.
type notes struct {
	finish func(ctx context.Context, s kv.Store, texts []string) error
}

// Finishes makes repair call finish with the texts of each note under name that a dead process
// left. Index classes call it once, at start-up.
func (db *DB) Finishes(name string, finish func(ctx context.Context, s kv.Store, texts []string) error) {
	db.setOwner(name, notes{finish})
}

// Note writes texts to the journal, so that another process can finish them. The caller calls done,
// which is never nil, when nothing is left to finish. Without texts Note only opens the journal.
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
