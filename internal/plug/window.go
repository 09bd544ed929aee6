package plug

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Window is how package inspect reads an index. Related keys, such as the segments of a list, begin
// with a common text, their base. All methods except Amend only read.
type Window interface {
	Name() string

	// Kind is "unique", "list", "timeline" or the like.
	Kind() string

	// Bases returns the bases for place: several for a board kept by period.
	Bases(place string) []string

	// Base returns the base of key, and whether key is the first of its base, by which an audit
	// finds it. It returns "" if key is not in the window, or a hash hides a part of its name.
	Base(key string) (base string, first bool)

	// Audit returns faults at base that no record shows. place may be "" unless base contains a
	// hash.
	Audit(ctx context.Context, s kv.Store, base, place string) ([]Wrong, error)

	// Amend repairs the faults found by Audit, except lost and damaged parts.
	Amend(ctx context.Context, s kv.Store, base, place string) error

	Page(ctx context.Context, s kv.Store, value string, n int) ([]Row, error)

	// Said returns all ids and values named in value, and its msgpack bodies, without damaged
	// parts.
	Said(key string, value []byte) (texts []string, bodies [][]byte)

	Show(key string, value []byte) ([]string, error)
}

type Shown interface {
	Window() Window
}

type Parted interface {
	// Parted reports whether it may have one list, ring or board for each value. Then nothing is
	// stored at "".
	Parted() bool
}

type Ender interface {
	// Ends returns the expiry of the item under key.
	Ends(key string) time.Time
}

type Fitter interface {
	// Fit returns the limits that the stored data comes near, each with the change to make. It
	// judges by the places of some records, and reads at most a few hundred keys.
	Fit(ctx context.Context, s kv.Store, some []Standing) ([]string, error)
}

type Standing struct{ ID, Place string }

type Wrong struct {
	Kind  string // see below
	Index string // "" if none
	ID    string // "" if none
	Text  string // a sentence
}

// Kinds of faults.
const (
	MissingEntry  = "missing entry"   // a record missing at its place
	StrayEntry    = "stray entry"     // a counted entry that no record confirms
	WrongCount    = "wrong count"     // a number that disagrees with its list
	Orphan        = "orphan"          // a child of a deleted record
	DamagedItem   = "damaged item"    // unreadable, but can be restored
	DamagedRecord = "damaged record"  // unreadable
	Unlisted      = "unlisted record" // missing in the ids of its model
	LostIDs       = "lost ids"
	NotBuilt      = "not built"

	// PendingEntry is an entry of a change that may be in progress. It is stray if it is still
	// there times.Settled later.
	PendingEntry = "pending"
)

// Damage returns the text of err if it means a damaged or lost item. A read-only reader gets an
// ErrReadOnly instead of replacing it.
func Damage(err error) (text string, is bool) {
	switch {
	case errors.Is(err, kv.ErrReadOnly):
		before, _, _ := strings.Cut(err.Error(), kv.ErrUnavailable.Error())
		return before + "a part of it is lost", true
	case wire.IsCorrupt(err), errors.Is(err, kv.ErrLost), errors.Is(err, kv.ErrNotNumber), errors.Is(err, ErrNeedsRebuild):
		return err.Error(), true
	}
	return "", false
}

type Row struct {
	ID   string // or a member
	Note string // stamp, score, or text
	Data []byte // msgpack of an event or the like
}

// BaseAt splits key, which must begin with begin, into its base and the rest after a "#". The base
// of a long key contains "#h" and a hash.
func BaseAt(key, begin string) (base, rest string, ok bool) {
	const hashed, hash = "#h", 52
	if !strings.HasPrefix(key, begin) {
		return "", "", false
	}
	from := len(begin)
	if at := strings.Index(key, hashed); at >= 0 && len(key) >= at+len(hashed)+hash {
		from = at + len(hashed) + hash
	}
	if at := strings.IndexByte(key[from:], '#'); at >= 0 {
		return key[:from+at], key[from+at+1:], true
	}
	return key, "", true
}

type Drawn interface {
	Picture(ctx context.Context, s kv.Store, value string, most int) (Picture, error)
}

// Picture is a layout in the store: rings, one per shard, or a tree, or the segments of a list.
type Picture struct {
	Rings []Ring
	Root  *Node
	Room  int // entries in a leaf, or about so many in a part
	Parts []Part
	Words string // what was left out
}

type Ring struct {
	Head     int64 // last number assigned
	Newest   int   // segment of Head
	Segments []Segment
}

// Segment has slots as in package timeline.
type Segment struct {
	Name  string
	Slots []uint8
}

type Node struct {
	Name   string
	Count  int
	Closed bool
	Below  []Node // highest first
}

type Part struct {
	Name        string
	Key         string
	Bytes       int
	Live, Stale int
}

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
