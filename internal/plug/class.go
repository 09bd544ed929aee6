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

// Class is a data class without its types, for package inspect. The methods up to Check only read.
type Class interface {
	Name() string
	Version() int      // of the model
	Private() []string // stored names of fields that must not be shown
	IsNumbered() bool  // ids are assigned in order
	IsListed() bool    // ids are kept in a list of their own
	KeepsHistory() bool
	Counters() []string // plain counters
	Children() []string // lists of records deleted with a record
	Windows() []Window  // one for each index
	Defs() []string     // definitions of the indexes

	// CheckID returns an error if id cannot be the text of an id.
	CheckID(id string) error

	Key(id string) string
	HistoryKey(id string) string
	CounterKey(counter, id string) string

	// State returns the size of the model, and the state of its indexes.
	State(ctx context.Context) (State, error)

	// See reads records. A damaged record has an Err.
	See(ctx context.Context, s kv.Store, ids []string) ([]Sight, error)

	// Decode decodes value, stored under the key of id. An empty id is taken from the record.
	Decode(id string, value []byte) Sight

	// Earlier returns the undamaged bodies in value, the history of a record.
	Earlier(value []byte) [][]byte

	// Body returns the body of a live record in the current model version, with its fields in
	// order. A nil record is an empty one.
	Body(s *Sight) ([]byte, error)

	// Fixed returns the body of an empty record with the parts that an edit cannot change: the id
	// and the fields set by the data class.
	Fixed(id string) ([]byte, error)

	// Edit updates the record id with the result of f, as the app does. It returns an ErrConflict
	// if the record no longer has this rev.
	Edit(ctx context.Context, id string, rev uint64, f func(body []byte) ([]byte, error)) error

	// Stands returns the remaining lifetime of value, a record: 0 if it never expires, negative if
	// expired.
	Stands(value []byte) (time.Duration, error)

	// IDs calls f with the ids of all possible records, in batches, each with the from at which a
	// later call continues. An id may come twice. At the end, the error names lost or damaged ids.
	IDs(ctx context.Context, from string, f func(ids []string, to string) error) error

	// Check returns the records and their faults in the indexes. Of the envelopes, only revs and
	// expiries are set.
	Check(ctx context.Context, s kv.Store, ids []string) ([]Sight, error)

	// Mend makes the entries of the record id agree with it.
	Mend(ctx context.Context, id string) error

	// Settle removes the record id from places, by Windows, that its replaced item named and where
	// it does not belong.
	Settle(ctx context.Context, id string, places [][]string) error

	// Enlist adds missing ids to the list of the model's ids.
	Enlist(ctx context.Context, ids []string) error

	// Prepare marks the indexes of the model as incomplete, except those that whole accepts.
	Prepare(ctx context.Context, whole func(index string) bool) error

	// Accept acknowledges the loss of ids.
	Accept(ctx context.Context) error

	// Purge is Records.Purge.
	Purge(ctx context.Context, id string) error

	// Resave rewrites records of an older model version, and returns their number. With dry it only
	// checks that they can be read.
	Resave(ctx context.Context, ids []string, dry bool) (n int, err error)

	// Orphans deletes the children of the deleted record id.
	Orphans(ctx context.Context, id string) error

	// Build builds the incomplete indexes; with again, all of them.
	Build(ctx context.Context, again bool) error
}

type State struct {
	Exists  bool
	IDs     int64 // about how many are listed, or the last number: at least as many as there are records
	Indexes []IndexState
	Built   error // why the states of the indexes are unknown
}

type IndexState struct {
	Name  string
	State string // "built", "building", "not built", or "unknown": not in this program
	Far   string // progress, while building
}

// Sight is a record without its type.
type Sight struct {
	ID       string
	Envelope *envelope.Envelope // nil if absent or damaged
	Bytes    int
	Ended    bool       // expired
	Counts   []int64    // by Class.Counters
	Places   [][]string // by Class.Windows
	Err      error      // an ErrCorrupt if it is damaged
	Wrong    []Wrong
}

// Live reports whether the record is visible to users.
func (s *Sight) Live() bool { return s.Envelope.Live() && !s.Ended && s.Err == nil }
