package plug

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// IsOver reports whether the definition of an index names one of fields.
func IsOver(def string, fields []string) bool {
	words := strings.FieldsFunc(def, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' })
	return slices.ContainsFunc(fields, func(field string) bool { return slices.Contains(words, field) })
}

// A Class is a data class without its types, as package inspect sees it. Up to Check nothing
// is written.
type Class interface {
	Name() string
	Version() int       // of the model
	Private() []string  // stored names of the fields whose values are not shown
	IsNumbered() bool   // ids are given in order
	IsListed() bool     // ids are listed, apart from the records
	KeepsHistory() bool // bodies of the records before
	Counters() []string // plain ones
	Children() []string // lists, each MODEL.INDEX, of records that are deleted with one
	Windows() []Window  // one for each index
	Defs() []string     // the definitions of these indexes

	// CheckID returns an error that says why id cannot be the text of an id; nil: it can.
	CheckID(id string) error

	Key(id string) string
	HistoryKey(id string) string
	CounterKey(counter, id string) string

	// State says how much there is of the model, and which indexes hold all of it.
	State(ctx context.Context) (State, error)

	// See reads records. One that is damaged has an Err.
	See(ctx context.Context, s kv.Store, ids []string) ([]Sight, error)

	// Decode returns the record that value is, which stands under the key of id. An id of ""
	// is found in the record, if that can be read.
	Decode(id string, value []byte) Sight

	// Earlier returns the bodies in value, the history of a record. What is damaged it leaves out.
	Earlier(value []byte) [][]byte

	// Body returns what a record that lives says, as this version of the model writes it: its
	// fields in their order. Of nil it is that of an empty record.
	Body(s *Sight) ([]byte, error)

	// Fixed returns the body of an empty record in which all is set that an edit does not change:
	// the id, and the fields that the data class fills in.
	Fixed(id string) ([]byte, error)

	// Edit makes the record id, which has that rev, what f makes of its body, as an update of the
	// app does. If it has another rev by then, the error is an ErrConflict.
	Edit(ctx context.Context, id string, rev uint64, f func(body []byte) ([]byte, error)) error

	// Stands returns for how long value, a record, is to be stored from now on, 0 for ever. It is
	// less than 0 if that is over.
	Stands(value []byte) (time.Duration, error)

	// IDs calls f with the ids of all records there may be, some at a time, with what a
	// later call takes to go on behind them. An id may come twice. Once the rest was given,
	// the error names ids that are lost or damaged.
	IDs(ctx context.Context, from string, f func(ids []string, to string) error) error

	// Check returns what is wrong with records in the indexes, and where they belong; no more
	// of their envelopes than their revs, and when they end.
	Check(ctx context.Context, s kv.Store, ids []string) ([]Sight, error)

	// Mend makes what indexes hold of the record id agree with it.
	Mend(ctx context.Context, id string) error

	// Settle takes the record id out of places, by Windows, where it stood before its item was
	// replaced, and where it no longer belongs.
	Settle(ctx context.Context, id string, places [][]string) error

	// Enlist makes the ids of the model name those of records that they do not, if they are
	// listed.
	Enlist(ctx context.Context, ids []string) error

	// Prepare makes the model one whose indexes hold not all records, but for those that
	// whole says.
	Prepare(ctx context.Context, whole func(index string) bool) error

	// Accept says that what is lost of the ids is known to be.
	Accept(ctx context.Context) error

	// Purge erases the record id: see Records.Purge.
	Purge(ctx context.Context, id string) error

	// Resave writes those of the records ids again that an earlier version of the model has
	// written, and returns how many these are. With dry it only tries that they can be.
	Resave(ctx context.Context, ids []string, dry bool) (n int, err error)

	// Orphans deletes the children of the record id, which is gone.
	Orphans(ctx context.Context, id string) error

	// Build makes the indexes hold all records; with again, also those that do already.
	Build(ctx context.Context, again bool) error
}

// State is what a store says of a model as a whole.
type State struct {
	Exists  bool
	IDs     int64 // that its list or its keys name, about, or the last number: more than there are records
	Indexes []IndexState
	Built   error // why it is not known which indexes are built; nil: it is
}

// IndexState is how an index is.
type IndexState struct {
	Name  string
	State string // "built", "building", "not built", or "unknown" if this program has no such index
	Far   string // how far it is, if it is being built
}

// Sight is a record without its type.
type Sight struct {
	ID       string
	Envelope *envelope.Envelope // nil if it is absent or damaged
	Bytes    int                // of the stored item
	Ended    bool               // it has expired
	Counts   []int64            // by Class.Counters
	Places   [][]string         // where it belongs, by Class.Windows
	Err      error              // an ErrCorrupt, if it is damaged
	Wrong    []Wrong            // if it was checked
}

// Live reports whether a user sees the record.
func (s *Sight) Live() bool { return s.Envelope.Live() && !s.Ended && s.Err == nil }
