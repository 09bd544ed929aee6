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

// Class is a data class without its types, for package inspect. The methods up to Check write
// nothing.
type Class interface {
	Name() string
	Version() int       // of the model
	Private() []string  // stored names of fields with values that must not be shown
	IsNumbered() bool   // ids are assigned in order
	IsListed() bool     // ids are listed, apart from the records
	KeepsHistory() bool // earlier revisions are kept
	Counters() []string // plain ones
	Children() []string // lists, each MODEL.INDEX, of records deleted with a record
	Windows() []Window  // one for each index
	Defs() []string     // definitions of these indexes

	// CheckID returns nil if id can be the text of an id, and the reason otherwise.
	CheckID(id string) error

	Key(id string) string
	HistoryKey(id string) string
	CounterKey(counter, id string) string

	// State returns the size of the model, and the state of its indexes.
	State(ctx context.Context) (State, error)

	// See reads records. A damaged record has an Err.
	See(ctx context.Context, s kv.Store, ids []string) ([]Sight, error)

	// Decode decodes value, the record under the key of id. If id is "", it is that of the record.
	Decode(id string, value []byte) Sight

	// Earlier returns the undamaged bodies in value, the history of a record.
	Earlier(value []byte) [][]byte

	// Body returns the body of a live record in the current version of the model, with fields in
	// order. A nil record is an empty one.
	Body(s *Sight) ([]byte, error)

	// Fixed returns the body of an empty record with the parts that an edit cannot change: the id,
	// and the fields that the data class sets.
	Fixed(id string) ([]byte, error)

	// Edit replaces the body of the record id with the result of f, as an update of the app does.
	// If the record no longer has the given rev, the error is an ErrConflict.
	Edit(ctx context.Context, id string, rev uint64, f func(body []byte) ([]byte, error)) error

	// Stands returns the remaining lifetime of value, a record: 0 if it never expires, negative if
	// it has expired.
	Stands(value []byte) (time.Duration, error)

	// IDs calls f with the ids of all possible records, in batches, each with the from of a later
	// call that continues there. An id may come twice. At the end, the error names lost or damaged
	// ids.
	IDs(ctx context.Context, from string, f func(ids []string, to string) error) error

	// Check returns the records and their faults in the indexes. The envelopes have only the revs
	// and the expiries.
	Check(ctx context.Context, s kv.Store, ids []string) ([]Sight, error)

	// Mend makes the entries of the record id agree with it.
	Mend(ctx context.Context, id string) error

	// Settle removes the record id from places, by Windows, where it was before its item was
	// replaced and no longer belongs.
	Settle(ctx context.Context, id string, places [][]string) error

	// Enlist adds ids that are missing to the list of the model's ids, if it has one.
	Enlist(ctx context.Context, ids []string) error

	// Prepare marks the indexes of the model as incomplete, except those that whole accepts.
	Prepare(ctx context.Context, whole func(index string) bool) error

	// Accept acknowledges the loss of ids.
	Accept(ctx context.Context) error

	// Purge erases the record id: see Records.Purge.
	Purge(ctx context.Context, id string) error

	// Resave rewrites those of the records ids that have an older model version, and returns their
	// number. With dry it only checks that they can be read.
	Resave(ctx context.Context, ids []string, dry bool) (n int, err error)

	// Orphans deletes the children of the record id, which is gone.
	Orphans(ctx context.Context, id string) error

	// Build builds the incomplete indexes; with again, all of them.
	Build(ctx context.Context, again bool) error
}

// State is the state of a model as a whole.
type State struct {
	Exists  bool
	IDs     int64 // approximate number of ids listed, or the last number: more than there are records
	Indexes []IndexState
	Built   error // why the built indexes are unknown; nil: they are known
}

// IndexState is the state of an index.
type IndexState struct {
	Name  string
	State string // "built", "building", "not built", or "unknown" if this program has no such index
	Far   string // progress, while building
}

// Sight is a record without its type.
type Sight struct {
	ID       string
	Envelope *envelope.Envelope // nil if absent or damaged
	Bytes    int                // of the stored item
	Ended    bool               // it has expired
	Counts   []int64            // by Class.Counters
	Places   [][]string         // by Class.Windows
	Err      error              // an ErrCorrupt, if it is damaged
	Wrong    []Wrong            // if it was checked
}

// Live reports whether the record is visible to users.
func (s *Sight) Live() bool { return s.Envelope.Live() && !s.Ended && s.Err == nil }
