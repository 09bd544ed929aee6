package memberlog

import (
	"cmp"
	"strings"
	"time"
	"unique"

	"github.com/ringtree/ringtree/internal/plug"
)

// Entry says that a member is in a list or out of it. The one with a member's highest Rev counts,
// with equal Revs the one that says out, so order and repetition do not matter.
type Entry struct {
	ID  string
	Rev uint64

	// At, in Unix seconds, is the expiry of a member that is in, 0 for never, or the time of
	// removal of one that is out.
	At int64

	// Note is kept for a member that is in and never expires.
	Note Note

	In   bool
	late bool // in the tail of a segment
}

// Note is a short text, interned.
type Note struct{ text unique.Handle[string] }

func NoteOf(text string) Note {
	if text == "" {
		return Note{}
	}
	return Note{unique.Make(text)}
}

func (n Note) String() string {
	if n == (Note{}) {
		return ""
	}
	return n.text.Value()
}

// counts reports whether e takes precedence over than, of the same member.
func (e *Entry) counts(than *Entry) bool {
	if e.Rev != than.Rev {
		return e.Rev > than.Rev
	}
	if e.In != than.In {
		return !e.In
	}
	if e.At != than.At {
		return e.At > than.At
	}
	return e.Note.String() > than.Note.String()
}

func (e *Entry) Member(now time.Time) bool { return e.member(now.Unix()) }

func (e *Entry) member(now int64) bool { return e.In && (e.At == 0 || now < e.At) }

// forgettable: no older entry can still arrive.
func (e *Entry) forgettable(now int64, grace time.Duration) bool {
	return e.At != 0 && now-e.At > int64(grace/time.Second)
}

func (e *Entry) check() error {
	if len(e.ID) > plug.MaxID {
		return plug.TooLong("a member's id", e.ID, plug.MaxID)
	}
	return nil
}

// Position is a position in a list, ordered by the hashes of the ids.
type Position struct {
	Hash uint64
	ID   string
}

func PositionOf(id string) Position { return Position{hashOf(id), id} }

func (p Position) Compare(q Position) int {
	if p.Hash != q.Hash {
		return cmp.Compare(p.Hash, q.Hash)
	}
	return strings.Compare(p.ID, q.ID)
}

type row struct {
	Entry
	hash uint64
}

func (r *row) Position() Position { return Position{r.hash, r.ID} }

func (r *row) compare(s *row) int { return r.Position().Compare(s.Position()) }

// hashOf is part of the stored format. Ids chosen to collide share a segment that cannot be split,
// which harms no other list.
func hashOf(id string) uint64 {
	const k = 0x9e3779b97f4a7c15
	h := uint64(len(id)) * k
	for len(id) >= 8 {
		h = (h ^ word(id)) * k
		h ^= h >> 29
		id = id[8:]
	}
	var rest uint64
	for i := len(id) - 1; i >= 0; i-- {
		rest = rest<<8 | uint64(id[i])
	}
	// the finalizer of SplitMix64
	h = (h ^ rest) * k
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}
