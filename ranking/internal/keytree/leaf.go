package keytree

import (
	"hash/maphash"
	"slices"
	"sort"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

func idsOf(entries []entry) []string {
	return kv.Texts(entries, func(e entry) string { return e.id })
}

func uniq(names []string) []string {
	if len(names) < 2 {
		return names
	}
	seen := make(map[string]bool, len(names))
	once := make([]string, 0, len(names))
	for _, name := range names {
		if !seen[name] {
			seen[name] = true
			once = append(once, name)
		}
	}
	return once
}

func (l *leaf) has(s Score, id string) bool {
	return slices.ContainsFunc(l.entries, func(e entry) bool { return e.score == s && e.id == id })
}

// added returns l itself if the member has an entry with that score and version, or one that counts
// with a greater version: then put's change cannot commit any more. Entries that count do not
// change: one must not get a version at which it might not be true.
//
// A leaf keeps at most two pending entries at a position, for all versions between: no split could
// separate the entries of many tries.
func (l *leaf) added(o *order, at point, put entry, room []entry) *leaf {
	begin := l.search(o, at)
	end, low, high := begin, put.ver, put.ver
	for ; end < len(l.entries) && l.entries[end].sharesPosition(put); end++ {
		e := l.entries[end]
		switch {
		case e.ver == put.ver || !e.pending && e.ver > put.ver:
			return l
		case e.pending:
			low, high = min(low, e.ver), max(high, e.ver)
		}
	}
	if low < put.ver && put.ver < high {
		return l
	}
	next := *l
	next.settled = false
	next.entries = append(slices.Grow(room[:0], len(l.entries)+1), l.entries[:begin]...)
	for _, e := range l.entries[begin:end] {
		if !e.pending || e.ver == low || e.ver == high {
			next.entries = append(next.entries, e)
		}
	}
	i := begin
	for i < len(next.entries) && next.entries[i].ver < put.ver {
		i++
	}
	next.entries = append(slices.Insert(next.entries, i, put), l.entries[end:]...)
	return &next
}

func (e entry) sharesPosition(other entry) bool { return e.score == other.score && e.id == other.id }

// tidied removes the entries of the member id that its record, once in state now, rules out.
// Entries with a greater version stay. Of the others, the newest with the record's score stays, and
// counts from now on, with the record's version. If of two pending entries at a position only the
// lower one is ruled out, an entry with the next version takes its place, since the versions
// between stay possible.
//
// This is right at any later time: a statement about one version stays true. The result is l itself
// if nothing changes, and may use room, which may overlap with the entries of l.
func (l *leaf) tidied(id string, now State, room []entry) *leaf {
	outdone := func(e *entry) bool { return e.ver <= now.Ver && e.id == id }
	n, confirmed := 0, -1
	for i := range l.entries {
		e := &l.entries[i]
		if !outdone(e) {
			continue
		}
		if n++; now.confirms(*e) {
			confirmed = i // the newest: entries at one position are ordered by version
		}
	}
	if n == 0 || n == 1 && confirmed >= 0 && !l.entries[confirmed].pending {
		return l
	}
	next := *l
	next.settled = false
	next.entries = slices.Grow(room[:0], len(l.entries))
	var low *entry // takes the place of the last pending entry up to now.Ver
	for i := range l.entries {
		e := l.entries[i]
		switch {
		case outdone(&e):
			if e.pending {
				low = &entry{e.score, now.Ver + 1, id, true}
			}
			if i != confirmed {
				continue
			}
			e.pending, e.ver = false, now.Ver
		case low != nil && e.pending && e.sharesPosition(*low):
			if low.ver < e.ver {
				next.entries = append(slices.Clone(next.entries), *low) // In room it might overtake l.
			}
			low = nil
		}
		next.entries = append(next.entries, e)
	}
	return &next
}

func (l *leaf) search(o *order, p point) int {
	return sort.Search(len(l.entries), func(i int) bool {
		e := l.entries[i]
		if e.score != p.score {
			return e.score.Compare(p.score) > 0
		}
		return o.point(e.score, e.id).compare(p) >= 0
	})
}

func (l *leaf) full(limit int) bool { return len(l.entries) > limit || l.bytes() > softBytes }

// counted returns the newest entry of each member that is not pending, in order.
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

// repeat reports whether a member has several entries. It runs at each read of a leaf, so its table
// is on the stack.
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
