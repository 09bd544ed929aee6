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

// IsOver reports whether the definition def names one of fields.
func IsOver(def string, fields []string) bool {
	words := strings.FieldsFunc(def, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' })
	return slices.ContainsFunc(fields, func(field string) bool { return slices.Contains(words, field) })
}

// Class is a data class without its types, for package inspect. The methods up to Check only read.
type Class interface {
	Name() string
	Version() int
	Private() []string // stored names of fields that must not be shown
	IsNumbered() bool
	IsListed() bool // ids have a list of their own
	KeepsHistory() bool
	Counters() []string // plain counters
	Children() []string // lists of records deleted with a record
	Windows() []Window
	Defs() []string // of the indexes

	// CheckID returns an error if id cannot be an id.
	CheckID(id string) error

	Key(id string) string
	HistoryKey(id string) string
	CounterKey(counter, id string) string

	State(ctx context.Context) (State, error)

	See(ctx context.Context, s kv.Store, ids []string) ([]Sight, error)

	// Decode decodes value, stored under the key of id. "" is the id in the record.
	Decode(id string, value []byte) Sight

	// Earlier returns the undamaged bodies in value, the history of a record.
	Earlier(value []byte) [][]byte

	// Body returns the body of a live record in the current model version, fields in order.
	Body(s *Sight) ([]byte, error)

	// Fixed returns the body of a new record with only the parts that an edit cannot change.
	Fixed(id string) ([]byte, error)

	// Edit updates the record id by f, as the app does, or returns an ErrConflict if it no longer
	// has this rev.
	Edit(ctx context.Context, id string, rev uint64, f func(body []byte) ([]byte, error)) error

	// Stands returns the remaining lifetime of a record: 0 if it never expires, negative if
	// expired.
	Stands(value []byte) (time.Duration, error)

	// IDs calls f with the ids of all possible records, in batches, each with the from at which a
	// later call continues. An id may come twice. At the end, the error names lost or damaged ids.
	IDs(ctx context.Context, from string, f func(ids []string, to string) error) error

	// Check returns records with their faults in the indexes. Of the envelopes, only revs and
	// expiries are set.
	Check(ctx context.Context, s kv.Store, ids []string) ([]Sight, error)

	Mend(ctx context.Context, id string) error

	// Remove removes the record id from places, by Windows, where it does not belong.
	Remove(ctx context.Context, id string, places [][]string) error

	Enlist(ctx context.Context, ids []string) error

	// Prepare marks the indexes as incomplete, except those that whole accepts.
	Prepare(ctx context.Context, whole func(index string) bool) error

	Accept(ctx context.Context) error

	Purge(ctx context.Context, id string) error

	// Resave rewrites records of older model versions, and returns their number. With dry it only
	// checks that they can be read.
	Resave(ctx context.Context, ids []string, dry bool) (n int, err error)

	Orphans(ctx context.Context, id string) error

	Build(ctx context.Context, again bool) error
}

type State struct {
	Exists  bool
	IDs     int64 // about how many are listed, or the last number: at least the number of records
	Indexes []IndexState
	Built   error // why the states of the indexes are unknown
}

type IndexState struct {
	Name  string
	State string // "built", "building", "not built", or "unknown"
	Far   string
}

type Sight struct {
	ID       string
	Envelope *envelope.Envelope // nil if absent or damaged
	Bytes    int
	Ended    bool       // expired
	Counts   []int64    // by Class.Counters
	Places   [][]string // by Class.Windows
	Err      error      // an ErrCorrupt if damaged
	Wrong    []Wrong
}

// Live reports whether the record is visible to users.
func (s *Sight) Live() bool { return s.Envelope.Live() && !s.Ended && s.Err == nil }
