package memberlog

import (
	"cmp"
	"strings"
	"time"
	"unique"

	"github.com/ringtree/ringtree/internal/plug"
)

// Entry says of one member that it is in a list or out of it. Of the entries of a
// member the one with the highest Rev counts, and of those with the same Rev the
// one that says it is out. So the order in which entries arrive does not matter,
// and saying the same twice changes nothing.
type Entry struct {
	ID  string
	Rev uint64

	// At is a time in Unix seconds. For a member that is in, it is when the
	// membership ends by itself, 0 for never; for one that is out, when that
	// was said.
	At int64

	// Note is what the list keeps of a member that is in and never ends.
	Note Note

	In   bool
	late bool // it stands in the tail of a segment
}

// Note is a short text, which is held once for all entries that have it. The zero Note is the
// empty text.
type Note struct{ text unique.Handle[string] }

// NoteOf returns the note that says text.
func NoteOf(text string) Note {
	if text == "" {
		return Note{}
	}
	return Note{unique.Make(text)}
}

// String returns the text of n.
func (n Note) String() string {
	if n == (Note{}) {
		return ""
	}
	return n.text.Value()
}

// counts reports whether e, of two entries of one member, is the one that counts.
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

// Member reports whether e says that its member is in the list at now.
func (e *Entry) Member(now time.Time) bool { return e.member(now.Unix()) }

// member reports whether e's member is in the list at the time now.
func (e *Entry) member(now int64) bool { return e.In && (e.At == 0 || now < e.At) }

// forgettable reports whether e is no longer needed: its member has been out for so
// long that every entry that e might have to outdo has arrived.
func (e *Entry) forgettable(now int64, grace time.Duration) bool {
	return e.At != 0 && now-e.At > int64(grace/time.Second)
}

func (e *Entry) check() error {
	if len(e.ID) > plug.MaxID {
		return plug.TooLong("a member's id", e.ID, plug.MaxID)
	}
	return nil
}

// Position is a position in a list, whose members are in the order of the hashes
// of their ids.
type Position struct {
	Hash uint64
	ID   string
}

// PositionOf returns the position of id.
func PositionOf(id string) Position { return Position{hashOf(id), id} }

// Compare says which of p and q comes first.
func (p Position) Compare(q Position) int {
	if p.Hash != q.Hash {
		return cmp.Compare(p.Hash, q.Hash)
	}
	return strings.Compare(p.ID, q.ID)
}

// row is an entry with the hash that says where it stands.
type row struct {
	Entry
	hash uint64
}

// Position returns where the member of r stands.
func (r *row) Position() Position { return Position{r.hash, r.ID} }

func (r *row) compare(s *row) int { return r.Position().Compare(s.Position()) }

// hashOf spreads ids over the segments of a list. It is part of the stored format.
// Ids that are made to collide share a segment that cannot be split, which harms
// no other list.
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
	// The last step is that of SplitMix64, after which all bits are equally good.
	h = (h ^ rest) * k
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// word returns the first eight bytes of s, little-endian.
func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}
