package kvmodel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/numbering"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/kvmodel/internal/built"
	"github.com/ringtree/ringtree/kvmodel/internal/enumeration"
	"github.com/ringtree/ringtree/kvmodel/internal/handlers"
	"github.com/ringtree/ringtree/kvmodel/internal/work"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// maxTries limits the attempts at a step that others can disturb.
const maxTries = 8

// errInvalid is package kvmodel's ErrInvalid.
var errInvalid = errors.New("invalid")

var recordKey = kv.NewClass("r", 2) // model, id text

// model is a data class without its types: it reads and writes records by the text of their ids.
type model struct {
	db       behalf
	name     string
	version  int
	codec    bodies
	decoder  kv.Decoder                           // of records; nil: they cannot be cached
	empty    func() plug.Record                   // returns an empty record
	idOf     func(plug.Record) string             // the text of its id
	parses   func(id string) error                // nil error if id is the text of an id
	withID   func(id string) (plug.Record, error) // an empty record with that id
	schema   func(plug.Record) fields             // the fields of a record that the write path sets
	private  []string                             // fields with values that must not be shown
	plugged  atomic.Pointer[plugged]
	counters []counter
	isEdge   bool        // ids have several parts
	keys     []kv.Family // of a record and of its counters
	history  int
	forgets  bool     // a deletion also removes the history
	children []string // lists of records deleted with a record: see children.go
	ends     bool     // records may expire
	all      *enumeration.Enumeration
	numbers  *numbering.Row // if ids are assigned in order; else nil
	handlers handlers.Handlers
	built    *built.Item

	uncleaned uncleaned // by record id
	deletions deletions

	cleans    plug.Latch                                 // cleans the tombstones that are due
	cascade   func(ctx context.Context, id string) error // deletes the children of a deleted record
	onMissing func(missing []string)                     // builds indexes, on a store held by one process
}

// numbersHint is the class of the keys that hold a number known to exist.
var numbersHint = kv.NewClass("seq", 1) // model

// init makes m ready for use. It panics if the schema is not valid.
func (m *model) init(sequential, integers bool) {
	m.plugged.Store(new(plugged))
	m.deletions.most = maxDeletions
	m.all = enumeration.New(m.name, m.db.store, m.db.now, m.db.base.Soon)
	m.keys = []kv.Family{recordKey.Family(m.name)}
	for i := range m.counters {
		m.keys = append(m.keys, m.counters[i].keys())
	}
	m.keys = slices.Clip(m.keys)
	if m.codec.Copies() {
		m.decoder = m.decodeKept
	}
	if m.history > 0 && m.ends {
		panic("kvmodel: " + m.name + " cannot have a history: its records expire")
	}
	if sequential {
		if m.ends || !integers {
			panic("kvmodel: the ids of " + m.name + " cannot be given in order: they must be integers, and the records must not expire")
		}
		m.numbers = &numbering.Row{
			Key:  func(n int64) string { return m.key(strconv.FormatInt(n, 10)) },
			Hint: numbersHint.Key(m.name),
		}
	}
	m.built = built.New(m.builtConfig())
}

// plugged is the indexes of a model. It is immutable: adding an index replaces it, so an operation
// of several steps sees the same indexes throughout.
type plugged struct {
	indexes []plug.Index
	streaks []*streak // by index position
}

// fields points to the fields of a record that the write path sets; nil if the model has none.
type fields struct {
	revision                  *int64
	created, updated, expires *time.Time
}

func (m *model) plug(index plug.Index) {
	if m.index(index.Name()) != nil {
		panic("kvmodel: model " + m.name + " has an index " + index.Name() + " already")
	}
	p := m.plugged.Load()
	if len(p.indexes) == envelope.MaxIndexes {
		panic("kvmodel: model " + m.name + " has too many indexes")
	}
	m.plugged.Store(&plugged{append(slices.Clip(p.indexes), index), append(slices.Clip(p.streaks), new(streak))})
}

func (m *model) indexes() []plug.Index { return m.plugged.Load().indexes }

func (m *model) index(name string) plug.Index {
	for _, index := range m.indexes() {
		if index.Name() == name {
			return index
		}
	}
	return nil
}

// definitions returns m's indexes as name and definition, sorted.
func (m *model) definitions() []string {
	var defs []string
	for _, index := range m.indexes() {
		defs = append(defs, definition(index))
	}
	slices.Sort(defs)
	return defs
}

func (m *model) unbuiltIndexes() (all []string) {
	missing, _, _ := m.built.Known()
	for _, index := range names(missing) {
		all = append(all, m.name+"."+index)
	}
	return all
}

// isAmong reports whether index is one of definitions.
func isAmong(index plug.Index, definitions []string) bool {
	return len(definitions) > 0 && slices.Contains(definitions, definition(index))
}

func definition(index plug.Index) string { return index.Name() + "=" + index.Def() }

func (m *model) key(id string) string { return m.keys[0].Key(id) }

// failure returns err with the record it concerns, unless it already names it. A TakenError needs
// no addition.
func (m *model) failure(id string, err error) error {
	if err == nil {
		return nil
	}
	what := m.name + " " + kv.Quote(id)
	if len(id) > plug.MaxID {
		what = m.name + " " + briefly(id)
	}
	switch e := err.(type) {
	case *TakenError:
		return err
	case *recordError:
		if e.what == what {
			return err
		}
	}
	return &recordError{what, err}
}

// recordError is an error with the record it concerns.
type recordError struct {
	what string
	err  error
}

func (e *recordError) Error() string { return e.what + ": " + e.err.Error() }

func (e *recordError) Unwrap() error { return e.err }

// handlerWait is how long a handler call waits for another of the same record.
const handlerWait = 5 * time.Second

// Changed calls all handlers for a change of id, even if one fails, but never concurrently for two
// changes of a record. Once the change is a day old, errors are only logged.
func (m *model) Changed(ctx context.Context, age time.Duration, id string, created bool) error {
	if !m.handlers.Any() {
		return nil
	}
	wait, cancel := context.WithTimeout(ctx, handlerWait)
	defer cancel()
	leave, err := m.db.handling.Take(wait, m.key(id))
	if err != nil {
		return m.failure(id, fmt.Errorf("OnChange: %w: it is being called for an earlier change", work.ErrNotYet))
	}
	defer leave()
	if err = m.handlers.Call(ctx, id, created); err == nil {
		return nil
	}
	err = m.failure(id, fmt.Errorf("OnChange: %w", err))
	if age >= times.Handlers {
		m.db.failures.Note(slog.LevelError, "OnChange handlers have failed for a day and will not be called again", work.About(m.name, "", err))
		return nil
	}
	return err
}

// DeleteChildren deletes the children of the deleted record id, unless the record is created again
// first. An ErrNotYet means that it must be called again.
func (m *model) DeleteChildren(ctx context.Context, id string) error {
	if len(m.children) == 0 {
		return nil
	}
	return m.cascade(ctx, id)
}
