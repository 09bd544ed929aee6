package plug

import (
	"context"
	"errors"
	"strings"
	"time"

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
