// Package core reads, stores, fences and repairs the records of a model by the texts of their ids,
// without their types. Packages write, erase and rebuild build on it.
//
// These packages and those below hold no mutex during a trip.
//
// Read db.go, model.go, read.go and repair.go first.
package core

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/numbering"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/internal/work"
	"github.com/ringtree/ringtree/kvmodel/internal/built"
	"github.com/ringtree/ringtree/kvmodel/internal/enumeration"
	"github.com/ringtree/ringtree/kvmodel/internal/handlers"
	"github.com/ringtree/ringtree/kvmodel/internal/journal"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// MaxTries limits the attempts at a step that others can disturb.
const MaxTries = 8

var recordKey = kv.NewClass("r", 2) // model, id text

type Model struct {
	Db       Scope
	Name     string
	Version  int
	Codec    bodies
	Decoder  kv.Decoder // nil: they cannot be cached
	Empty    func() plug.Record
	IdOf     func(plug.Record) string             // as text
	Parses   func(id string) error                // nil: id is the text of an id
	WithID   func(id string) (plug.Record, error) // otherwise empty
	Schema   func(plug.Record) Fields
	Private  []string // fields whose values must not be shown
	Plugged  atomic.Pointer[plugged]
	Counters []Counter
	IsEdge   bool        // ids have several parts
	Keys     []kv.Family // of a record and of its counters
	History  int
	Forgets  bool     // a deletion also removes the history
	Children []string // lists of records deleted with a record: see package erase
	Ends     bool     // records may expire
	All      *enumeration.Enumeration
	Numbers  *numbering.Row // nil: not assigned in order
	Handlers handlers.Handlers
	Built    *built.Item

	Uncleaned uncleaned // by record id
	Deletions deletions

	Cleans    plug.Latch
	Cascade   func(ctx context.Context, id string) error
	OnMissing func(missing []string)
}

// numbersHint holds a number known to exist.
var numbersHint = kv.NewClass("seq", 1) // model

func (m *Model) Init(sequential, integers bool) {
	m.Plugged.Store(new(plugged))
	m.Deletions.most = MaxDeletions
	m.All = enumeration.New(m.Name, m.Db.Store, m.Db.Now, m.Db.DB.Soon)
	m.Keys = []kv.Family{recordKey.Family(m.Name)}
	for i := range m.Counters {
		m.Keys = append(m.Keys, m.Counters[i].keys())
	}
	m.Keys = slices.Clip(m.Keys)
	if m.Codec.Copies() {
		m.Decoder = m.decodeKept
	}
	if m.History > 0 && m.Ends {
		panic("kvmodel: " + m.Name + " cannot have a history: its records expire")
	}
	if sequential {
		if m.Ends || !integers {
			panic("kvmodel: the ids of " + m.Name + " cannot be given in order: they must be integers, and the records must not expire")
		}
		m.Numbers = &numbering.Row{
			Key:  func(n int64) string { return m.Key(strconv.FormatInt(n, 10)) },
			Hint: numbersHint.Key(m.Name),
		}
	}
	m.Built = built.New(m.builtConfig())
}

// plugged is immutable: adding an index replaces it, so an operation of several steps sees the same
// indexes throughout.
type plugged struct {
	Indexes []plug.Index
	Streaks []*Streak // by index position
}

// Fields points to the fields of a record that the write path sets; nil if the model has none.
type Fields struct {
	Revision                  *int64
	Created, Updated, Expires *time.Time
}

func (m *Model) Plug(index plug.Index) {
	if m.Index(index.Name()) != nil {
		panic("kvmodel: model " + m.Name + " has an index " + index.Name() + " already")
	}
	p := m.Plugged.Load()
	if len(p.Indexes) == envelope.MaxIndexes {
		panic("kvmodel: model " + m.Name + " has too many indexes")
	}
	m.Plugged.Store(&plugged{append(slices.Clip(p.Indexes), index), append(slices.Clip(p.Streaks), new(Streak))})
}

func (m *Model) Indexes() []plug.Index { return m.Plugged.Load().Indexes }

func (m *Model) Index(name string) plug.Index {
	for _, index := range m.Indexes() {
		if index.Name() == name {
			return index
		}
	}
	return nil
}

func (m *Model) Definitions() []string {
	var defs []string
	for _, index := range m.Indexes() {
		defs = append(defs, Definition(index))
	}
	slices.Sort(defs)
	return defs
}

func (m *Model) UnbuiltIndexes() (all []string) {
	missing, _, _ := m.Built.Known()
	for _, index := range Names(missing) {
		all = append(all, m.Name+"."+index)
	}
	return all
}

func IsAmong(index plug.Index, definitions []string) bool {
	return len(definitions) > 0 && slices.Contains(definitions, Definition(index))
}

func Definition(index plug.Index) string { return index.Name() + "=" + index.Def() }

func (m *Model) Key(id string) string { return m.Keys[0].Key(id) }

// Failure returns err with the record it concerns, unless it names it already.
func (m *Model) Failure(id string, err error) error {
	if err == nil {
		return nil
	}
	what := m.Name + " " + kv.Quote(id)
	if len(id) > plug.MaxID {
		what = m.Name + " " + plug.Briefly(id)
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

type recordError struct {
	what string
	err  error
}

func (e *recordError) Error() string { return e.what + ": " + e.err.Error() }

func (e *recordError) Unwrap() error { return e.err }

const handlerWait = 5 * time.Second

// Changed calls all handlers, even if one fails, but never concurrently for two changes of a
// record.
func (m *Model) Changed(ctx context.Context, age time.Duration, id string, created bool) error {
	if !m.Handlers.Any() {
		return nil
	}
	wait, cancel := context.WithTimeout(ctx, handlerWait)
	defer cancel()
	leave, err := m.Db.Handling.Take(wait, m.Key(id))
	if err != nil {
		return m.Failure(id, fmt.Errorf("OnChange: %w: it is being called for an earlier change", work.ErrNotYet))
	}
	defer leave()
	if err = m.Handlers.Call(ctx, id, created); err == nil {
		return nil
	}
	err = m.Failure(id, fmt.Errorf("OnChange: %w", err))
	if age >= times.Handlers {
		m.Db.Failures.Log(slog.LevelError, "OnChange handlers have failed for a day and will not be called again", work.About(m.Name, "", err))
		return nil
	}
	return err
}

// DeleteChildren does nothing if the record was created again.
func (m *Model) DeleteChildren(ctx context.Context, id string) error {
	if len(m.Children) == 0 {
		return nil
	}
	return m.Cascade(ctx, id)
}

func (m *Model) IsBuilt(index plug.Index) bool {
	missing, known, _ := m.Built.Known()
	return known && !IsAmong(index, missing)
}

type bodies interface {
	Append(dst []byte, v plug.Record) ([]byte, error)
	Unmarshal(data []byte, v plug.Record) (unknown bool, err error)
	Merge(prev, next []byte) ([]byte, error)

	// UnmarshalShared is Unmarshal, but v may refer to parts of data.
	UnmarshalShared(data []byte, v plug.Record) (unknown bool, err error)

	// Copies reports whether CopyOf may be called. A copy shares nothing mutable with v. room is
	// nil or the result of another call for the wanted remaining records.
	Copies() bool
	CopyOf(v plug.Record, room any, wanted int) (plug.Record, any)
}

func Names(defs []string) (all []string) {
	for _, def := range defs {
		all = append(all, NameOf(def))
	}
	return all
}

func NameOf(def string) string {
	name, _, _ := strings.Cut(def, "=")
	return name
}

// ErrRaced means that the record has changed since the change read it.
var ErrRaced = fmt.Errorf("lost a race: %w", kv.ErrConflict)

type Streak struct{ n atomic.Int32 }

// After longStreak of them, the next change is expected to.
const longStreak = 3

func (s *Streak) IsLong() bool { return s.n.Load() >= longStreak }

func (s *Streak) Note(moved bool) {
	if !moved {
		s.n.Store(0)
	} else if !s.IsLong() {
		s.n.Add(1)
	}
}

// InTurn runs f while no other change of the same record runs in this process.
func (m *Model) InTurn(ctx context.Context, id string, f func(id string) error) error {
	leave, err := m.Db.Turns.Take(ctx, m.Key(id))
	if err != nil {
		return m.Failure(id, err)
	}
	defer leave()
	return f(id)
}

func (m *Model) EmptyID() error {
	return fmt.Errorf("%s: %w: the id or a part of it is empty", m.Name, plug.ErrInvalid)
}

// A process writes a model only while no other can mark an index as complete that it does not know.
//
//	W1  it opens a journal under a new name, whose head names its indexes
//	W2  it removes the indexes it does not know from the built item, and
//	W3  waits until no reader uses them any more
//
// A build writes the built item and then reads the heads, so one finds the other. A process that
// has slept counts as dead, so it checks the built item again beside its reads or preparations.

// GoodFor is how long after that check, or the last tick without a gap, a change may be sent.
const GoodFor = 2 * times.Change

// Writable does W1 to W3 as needed.
func (m *Model) Writable(ctx context.Context) error {
	if m.Db.Work.IsClosed() {
		return kv.Unavailable(ErrDBClosed)
	}
	if err := m.Db.Writable(); err != nil {
		return err
	}
	name := built.Alone
	if !m.Db.Alone {
		if err := m.Db.Journal.Ready(ctx); err != nil {
			return err
		}
		name = m.Db.Journal.Process()
	}
	return m.Built.Claim(ctx, name, func(missing []string) {
		if m.Db.Alone {
			m.OnMissing(missing)
		}
	})
}

// IsCurrent reports whether a change that begins now can skip the check of the built item.
func (m *Model) IsCurrent() bool {
	if m.Db.Alone {
		return true
	}
	looked, claimed := m.Built.Looked(m.Db.Journal.Process())
	ticked, since := m.Db.Journal.Alive()
	recent := func(t time.Time) bool { return m.Db.Now().Sub(t) < GoodFor-times.Change }
	return claimed && (recent(looked) || recent(ticked) && !looked.Before(since))
}

// LookAgain checks the built item and the journal's head in a shared trip. If the process must
// claim the model again, the change has lost.
func (m *Model) LookAgain(ctx context.Context, s kv.Store) error {
	process := m.Db.Journal.Process()
	if process == "" {
		return ErrRaced
	}
	head, err := m.Built.Check(ctx, s, journal.HeadKey(process))
	if err != nil {
		return err
	}
	if err := m.Db.Journal.Seen(process, head); errors.Is(err, journal.ErrNone) {
		return ErrRaced
	} else if err != nil {
		return err
	}
	if _, claimed := m.Built.Looked(process); !claimed {
		return ErrRaced
	}
	return nil
}

func Set[V any](p *V, v V) {
	if p != nil {
		*p = v
	}
}

func Value[V any](p *V) (v V) {
	if p != nil {
		v = *p
	}
	return v
}

type validator interface{ Validate() error }

func Validate(v plug.Record) error {
	if v, ok := v.(validator); ok {
		if err := v.Validate(); err != nil {
			return fmt.Errorf("%w: %w", plug.ErrInvalid, err)
		}
	}
	return nil
}

// TakenError names a unique value that another record holds. It is an ErrExists.
type TakenError struct {
	Model  string
	Index  string
	Fields []string // or the method that returns the value
	Value  string   // as text
	ID     string   // of the other record
	By     string   // of the record that wants the value, if a build finds it

	Private bool // the index is over a private field, so the error masks the value
}

func (e *TakenError) Error() string {
	value := kv.Quote(e.Value)
	if e.Private {
		value = "***"
	}
	return e.Model + "." + e.Index + ": " + strings.Join(e.Fields, ", ") + " " + value + " is taken by " + kv.Quote(e.ID)
}

func (e *TakenError) Is(target error) bool { return target == kv.ErrExists }
