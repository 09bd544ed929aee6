package plug

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Window is how package inspect reads an index. Keys that belong together, such as the segments of
// one list, begin with a common text, their base. All methods except Amend write nothing.
type Window interface {
	// Name is the name of the index.
	Name() string

	// Kind is its kind: "unique", "list", "timeline".
	Kind() string

	// Bases returns the bases for place: on a board kept by period, one for each period.
	Bases(place string) []string

	// Base returns the base of key, and whether key is the first of its base, by which an audit
	// finds it. It returns "" if key is not in the window, or a hash in it hides too long a name.
	Base(key string) (base string, first bool)

	// Audit returns faults at base that do not show in a record. place is a place with that base,
	// or "" if unknown, which matters only if base contains a hash.
	Audit(ctx context.Context, s kv.Store, base, place string) ([]Wrong, error)

	// Amend repairs the faults that Audit finds at base. It leaves lost and damaged parts to a
	// rebuild.
	Amend(ctx context.Context, s kv.Store, base, place string) error

	// Page returns the first n rows at a value, which is "" if there is only one.
	Page(ctx context.Context, s kv.Store, value string, n int) ([]Row, error)

	// Said returns all ids and values named in value, stored under key, and the msgpack bodies in
	// it, without damaged parts.
	Said(key string, value []byte) (texts []string, bodies [][]byte)

	// Show describes value, stored under key, with one line for each part.
	Show(key string, value []byte) ([]string, error)
}

// Shown is an Index with a Window.
type Shown interface {
	Window() Window
}

// Parted is a Window that may have one list, ring or board for each value.
type Parted interface {
	// Parted reports whether it has. Then nothing is stored at "", unless that is a value.
	Parted() bool
}

// Ender is a Window with keys that expire.
type Ender interface {
	// Ends returns the expiry of the item under key, which is in the window, or the zero time.
	Ends(key string) time.Time
}

// Fitter is a Window that reports tag options that do not fit the stored data.
type Fitter interface {
	// Fit returns such options, each with the observation and the change to make. It judges by the
	// places of some records and the age of their model, and reads at most a few hundred keys.
	Fit(ctx context.Context, s kv.Store, some []Standing, age time.Duration) ([]string, error)
}

// Standing is the place of a record in an index.
type Standing struct{ ID, Place string }

// Wrong is one fault.
type Wrong struct {
	Kind  string // one of the kinds below
	Index string // the index it was found in, "" if none
	ID    string // the record it concerns, "" if none
	Text  string // a sentence
}

// Kinds of faults.
const (
	MissingEntry  = "missing entry"   // a record is missing at its place
	StrayEntry    = "stray entry"     // a counted entry that no record confirms
	WrongCount    = "wrong count"     // a number that disagrees with what it counts
	Orphan        = "orphan"          // a child of a deleted record
	DamagedItem   = "damaged item"    // an unreadable item that can be restored
	DamagedRecord = "damaged record"  // an unreadable record
	Unlisted      = "unlisted record" // a record missing in the ids of its model
	LostIDs       = "lost ids"        // a lost part of a model's ids
	NotBuilt      = "not built"       // an index that does not hold all records

	// PendingEntry is a stray entry of a change that may be in progress. If it is still there
	// times.Settled later, it is a stray entry.
	PendingEntry = "pending"
)

// Damage returns the text of err if it means that an item is damaged or lost. A read-only reader
// that would have replaced such an item gets an ErrReadOnly instead.
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

// Row is a line of a page in package inspect.
type Row struct {
	ID   string // text of the record's id, or a member
	Note string // its stamp, score, or text
	Data []byte // msgpack of data that is not a record, such as an event
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
