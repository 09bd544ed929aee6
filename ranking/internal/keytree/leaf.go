package keytree

import (
	"hash/maphash"
	"slices"
	"sort"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// edit is a change of one member's entries in the leaf where point belongs: it adds
// one entry, or tidies, or both.
type edit struct {
	point point
	bits  string // of point
	id    string

	put   *entry // what to add, if not nil
	known *State // of the record, to tidy with, if not nil
	err   error  // why it was not carried out, once its owner has ended

	// restores: put is added only if the member has no entry at that score.
	restores bool

	// absent: an edit that tidies where the record is in has met no entry.
	absent bool

	// began is when the operation began, or the read of the record that the edit
	// relies on. Long after that, no other operation writes the edit along: the entry
	// of a record that has changed since would come back, and its owner may no longer
	// be there to look at the record once more. Zero: it may take any time.
	began time.Time

	// Guarded by the mutex of the queues:
	queue *queue // where it waits
	seen  int    // the queue's writes when the node was read
	done  bool   // some write included it
}

func idsOf(entries []entry) []string {
	return kv.Texts(entries, func(e entry) string { return e.id })
}

// with returns l after e, or l itself if nothing changes. What it returns may have its
// entries in room, which must not be where those of l are.
func (l *leaf) with(o *order, e *edit, room []entry) *leaf {
	if e.put != nil && !(e.restores && l.has(e.put.score, e.id)) {
		l = l.added(o, e.point, *e.put, room)
	}
	if e.known != nil {
		e.absent = e.known.In && e.known.Score == e.point.score && !l.has(e.point.score, e.id)
		l = l.tidied(e.id, *e.known, room)
	}
	return l
}

// has reports whether the member id has an entry with score s in l.
func (l *leaf) has(s Score, id string) bool {
	return slices.ContainsFunc(l.entries, func(e entry) bool { return e.score == s && e.id == id })
}

// added returns l with put, whose position is at, or l itself if the member has an
// entry with that score and version already. It leaves entries that are there as
// they are: one that counts must not get a version at which it might not be true. What
// it returns may have its entries in room.
func (l *leaf) added(o *order, at point, put entry, room []entry) *leaf {
	i := l.search(o, at)
	for ; i < len(l.entries) && l.entries[i].sharesPosition(put) && l.entries[i].ver <= put.ver; i++ {
		if l.entries[i].ver == put.ver {
			return l
		}
	}
	next := *l
	next.settled = false
	next.entries = slices.Grow(room[:0], len(l.entries)+1)
	next.entries = append(append(append(next.entries, l.entries[:i]...), put), l.entries[i:]...)
	return &next
}

func (e entry) sharesPosition(other entry) bool { return e.score == other.score && e.id == other.id }

// tidied returns l with those entries of the member id that its record, once in
// state now, allows, or l itself if nothing changes. Entries with a greater version
// stay as they are. Of the others, the newest with the record's score stays, and
// counts from here on; the rest goes.
//
// This is right at any later time: what has been true of a version stays true, and says
// nothing of a later one. What tidied returns may have its entries in room, where those of l
// may be as well.
func (l *leaf) tidied(id string, now State, room []entry) *leaf {
	outdone := func(e entry) bool { return e.id == id && e.ver <= now.Ver }
	confirmed, changed := -1, false
	for i, e := range l.entries {
		if e.id == id && now.settles(e) {
			confirmed = i // Entries at one position are ordered by version.
		}
	}
	for i, e := range l.entries {
		if outdone(e) {
			changed = changed || i != confirmed || e.pending
		}
	}
	if !changed {
		return l
	}
	next := *l
	next.settled = false
	next.entries = slices.Grow(room[:0], len(l.entries))
	for i, e := range l.entries {
		if outdone(e) {
			if i != confirmed {
				continue
			}
			e.pending = false
		}
		next.entries = append(next.entries, e)
	}
	return &next
}

// search returns how many entries are below p.
func (l *leaf) search(o *order, p point) int {
	return sort.Search(len(l.entries), func(i int) bool {
		e := l.entries[i]
		if e.score != p.score {
			return e.score.Compare(p.score) > 0
		}
		return o.point(e.score, e.id).compare(p) >= 0
	})
}

// full reports whether l should be split, if its name allows it.
func (l *leaf) full(limit int) bool { return len(l.entries) > limit || l.bytes() > softBytes }

// counted returns the entries of l that count, in order: of each member the newest
// that is not pending.
func (l *leaf) counted() []entry {
	entries := l.entries
	if l.settled {
		return entries
	}
	if slices.ContainsFunc(entries, func(e entry) bool { return e.pending }) {
		entries = slices.DeleteFunc(slices.Clone(entries), func(e entry) bool { return e.pending })
	}
	return newest(entries)
}

// newest returns entries without those of which there is a newer one of the same
// member.
func newest(entries []entry) []entry {
	if !repeat(entries) {
		return entries
	}
	last := make(map[string]int, len(entries))
	for i, e := range entries {
		if at, twice := last[e.id]; !twice || entries[at].ver <= e.ver {
			last[e.id] = i
		}
	}
	kept := make([]entry, 0, len(last))
	for i, e := range entries {
		if last[e.id] == i {
			kept = append(kept, e)
		}
	}
	return kept
}

// repeat reports whether a member has several entries, which is rare and asked at each
// look at a leaf. It keeps their indexes in a table by the hash of the id, which is on the
// stack for all but the largest leaves.
func repeat(entries []entry) bool {
	var room [512]int32
	table := room[:]
	for len(table) < 2*len(entries) {
		table = make([]int32, 2*len(table))
	}
	for i, e := range entries {
		at := int(maphash.String(hashes, e.id) % uint64(len(table)))
		for ; table[at] > 0; at = (at + 1) % len(table) {
			if entries[table[at]-1].id == e.id {
				return true
			}
		}
		table[at] = int32(i + 1)
	}
	return false
}

var hashes = maphash.MakeSeed()

// repeated returns the ids of the members that have several entries in l.
func (l *leaf) repeated() []string {
	if !repeat(l.entries) {
		return nil
	}
	times := make(map[string]int, len(l.entries))
	var ids []string
	for _, e := range l.entries {
		if times[e.id]++; times[e.id] == 2 {
			ids = append(ids, e.id)
		}
	}
	return ids
}
