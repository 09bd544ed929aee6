package plug

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A Window is how package inspect looks into an index, or into what stands alone, such as
// sets. What belongs together, such as the segments of one list, has keys that begin with
// one text, its base. All but Amend write nothing.
type Window interface {
	// Name is the index's name, or that of what stands alone.
	Name() string

	// Kind says what it is: "unique", "list", "timeline".
	Kind() string

	// Bases returns the bases of what a record stands in at place: on a board that is
	// kept by period, one for each.
	Bases(place string) []string

	// Base returns the base of key, and whether key is the one of its base by which an
	// audit finds it; "" if the key is not of the window, or too long a name is hashed in
	// it to tell.
	Base(key string) (base string, first bool)

	// Audit returns what is wrong at base, and that does not show in a record. place is one
	// of those whose base that is, "" if none is known. It matters only where a hash in the
	// base does not tell.
	Audit(ctx context.Context, s kv.Store, base, place string) ([]Wrong, error)

	// Amend puts right what Audit finds at base. A part that is lost or damaged it leaves
	// to a rebuild.
	Amend(ctx context.Context, s kv.Store, base, place string) error

	// Page returns the first n of what stands at a value, "" where there is only one.
	Page(ctx context.Context, s kv.Store, value string, n int) ([]Row, error)

	// Said returns all ids and values that value, which stands under key, names, and the msgpack
	// bodies in it. What is damaged it leaves out.
	Said(key string, value []byte) (texts []string, bodies [][]byte)

	// Show says what value, which stands under key, means, a line for each part.
	Show(key string, value []byte) ([]string, error)
}

// Shown is an Index that package inspect looks into.
type Shown interface {
	Window() Window
}

// A Parted is a Window that may have one list, ring or board for each value.
type Parted interface {
	// Parted reports whether it has. Then nothing stands at "", unless that is a value.
	Parted() bool
}

// An Ender is a Window of which some keys end.
type Ender interface {
	// Ends returns when the item under key, which is of the window, ends by itself; the zero
	// time if it does not.
	Ends(key string) time.Time
}

// A Fitter is a Window that reports which options of its tag do not suit what is stored.
type Fitter interface {
	// Fit returns what does not suit it: what was seen, and what to change. It goes by where some
	// records stand, and by how old their model is, and reads no more than a few hundred keys.
	Fit(ctx context.Context, s kv.Store, some []Standing, age time.Duration) ([]string, error)
}

// Standing is where a record stands in an index.
type Standing struct{ ID, Place string }

// Wrong is one thing that is not as it should be.
type Wrong struct {
	Kind  string // one of those below
	Index string // that it was found in, "" if none
	ID    string // of the record that it concerns, "" if none
	Text  string // a sentence
}

// What can be wrong.
const (
	MissingEntry  = "missing entry"   // a record is not where it belongs
	StrayEntry    = "stray entry"     // something counts that no record confirms
	WrongCount    = "wrong count"     // a number does not agree with what it counts
	Orphan        = "orphan"          // a child of a record that was deleted
	DamagedItem   = "damaged item"    // what cannot be read, and can be made again
	DamagedRecord = "damaged record"  // a record that cannot be read
	Unlisted      = "unlisted record" // a record that the ids of its model do not name
	LostIDs       = "lost ids"        // a part of the ids of a model
	NotBuilt      = "not built"       // an index that does not hold all records

	// Pending is a stray entry of a change that may be under way. It is one if the same is
	// there times.Settled later.
	Pending = "pending"
)

// Damage returns what err says if it is that what was read is damaged or lost. A reader that
// would have put something else in its place, and may not, has met an ErrReadOnly.
// needsRebuild is ErrNeedsRebuild.
func Damage(err, needsRebuild error) (text string, is bool) {
	switch {
	case errors.Is(err, kv.ErrReadOnly):
		before, _, _ := strings.Cut(err.Error(), kv.ErrUnavailable.Error())
		return before + "a part of it is lost", true
	case wire.IsCorrupt(err), errors.Is(err, kv.ErrLost), errors.Is(err, kv.ErrNotNumber), errors.Is(err, needsRebuild):
		return err.Error(), true
	}
	return "", false
}

// Row is a line of a page as package inspect shows it.
type Row struct {
	ID   string // text of the record's id, or a member
	Note string // its stamp, its score, or its text
	Data []byte // the msgpack of what is no record, such as an event
}

// BaseAt returns the base of key, which begins with begin and goes on behind its base with a
// "#", and what follows that. A long key has "#h" and a hash in its base.
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
