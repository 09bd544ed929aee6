package memberlog

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A list without a head takes no key once it has no members: folding it to nothing drops its only
// segment, by the version read. An earlier append makes that fail; a later one starts the list
// again.
//
// While a first segment is being replaced, its absence would look like a loss. So lists that are
// divided from the start keep it. Others replace it only when it is large, and drop it only when it
// is small.

// EraseMany removes everything about each id up to the rev given for it, and reports whether place's
// list now takes no key. No such entry may still be in flight, unless Confirm will find it.
func (l *Logs) EraseMany(ctx context.Context, s kv.Store, place string, revs map[string]uint64) (gone bool, err error) {
	is := every(func(r *row) bool { rev, known := revs[r.ID]; return known && r.Rev <= rev })
	var hashes []uint64
	for id := range revs {
		hashes = append(hashes, hashOf(id))
	}
	slices.Sort(hashes)
	for len(hashes) > 0 {
		var last uint64
		if gone, last, err = l.eraseAt(ctx, s, place, hashes[0], is); err != nil {
			return false, err
		}
		hashes = slices.DeleteFunc(hashes, func(hash uint64) bool { return hash <= last })
	}
	return gone, nil
}

// EraseLeft is EraseMany for all former members.
func (l *Logs) EraseLeft(ctx context.Context, s kv.Store, place string) (gone bool, err error) {
	now := l.now()
	return l.eraseAll(ctx, s, place, every(func(r *row) bool { return !r.member(now) }))
}

// EraseOne removes id. Between each read and the removal it calls fence, which returns an error if
// id must stay.
func (l *Logs) EraseOne(ctx context.Context, s kv.Store, place, id string, fence func() error) error {
	is := func(r *row) bool { return r.ID == id }
	_, _, err := l.eraseAt(ctx, s, place, hashOf(id), func(rows []row) (func(*row) bool, error) {
		if !slices.ContainsFunc(rows, func(r row) bool { return is(&r) }) {
			return is, nil
		}
		return is, fence()
	})
	return err
}

// Keep removes the members that keep rejects. It calls keep with the members of a segment just
// read, so a member that is written again later stays.
func (l *Logs) Keep(ctx context.Context, s kv.Store, place string, keep func(ids []string) ([]bool, error)) error {
	_, err := l.eraseAll(ctx, s, place, func(rows []row) (func(*row) bool, error) {
		ids := kv.Texts(rows, func(r row) string { return r.ID })
		kept, err := keep(ids)
		out := make(map[string]bool)
		for i := range kept {
			out[ids[i]] = !kept[i]
		}
		return func(r *row) bool { return out[r.ID] }, err
	})
	return err
}

type judge func(rows []row) (is func(*row) bool, err error)

func every(is func(*row) bool) judge { return func([]row) (func(*row) bool, error) { return is, nil } }

func (l *Logs) eraseAll(ctx context.Context, s kv.Store, place string, judge judge) (gone bool, err error) {
	for hash, last := uint64(0), uint64(0); last < math.MaxUint64; hash = last + 1 {
		if gone, last, err = l.eraseAt(ctx, s, place, hash, judge); err != nil {
			return false, err
		}
	}
	return gone, nil
}

// eraseAt erases from the segment for hash, and also returns its last hash.
func (l *Logs) eraseAt(ctx context.Context, s kv.Store, place string, hash uint64, judge judge) (gone bool, last uint64, err error) {
	for try := range maxTries {
		gone, last, err = l.erase(ctx, s, place, hash, judge, try)
		if !errors.Is(err, errAgain) {
			return gone, last, l.failure(place, err)
		}
		if !kv.Pause(ctx, s, kv.Jitter(time.Millisecond<<min(try, 4))) {
			return false, last, l.failure(place, kv.TooLate(ctx))
		}
	}
	return false, last, l.failure(place, kv.ErrConflict)
}

func (l *Logs) erase(ctx context.Context, s kv.Store, place string, hash uint64, judge judge, try int) (gone bool, last uint64, err error) {
	h, err := l.readHead(ctx, s, place)
	if err != nil {
		return false, 0, err
	}
	p := h.parts[h.find(hash)]
	last = p.last()
	get := []kv.Op{kv.OpGet(l.key(place, p.name))}
	if h.indexOf(name{}) < 0 {
		get = append(get, kv.OpGet(l.key(place, name{})))
	}
	if err := s.Do(ctx, get); err != nil {
		return false, last, err
	}
	if err := eraseRetired(ctx, s, get[1:]); err != nil {
		return false, last, err
	}
	if absent(&get[0]) {
		return !h.stored, last, nil // if it is lost, the next reader notices
	}
	g, err := l.decodeSegment(&get[0])
	switch {
	case err != nil || g.retired:
		return false, last, err
	case g.sealed:
		if err := l.roll(ctx, s, place, p.name); err != nil {
			return false, last, err
		}
		return false, last, errAgain
	}
	is, err := judge(g.rows)
	if err != nil {
		return false, last, err
	}
	rows, erased, there := without(g, is)
	if !there && len(rows) > 0 {
		return false, last, nil
	}
	if try >= maxFolds && (h.stored || g.size > l.Limits.Merge) {
		// Appends of others were faster each time. A seal stops them.
		_, err := l.rollAlone(ctx, s, place, erased, p.name)
		return false, last, cmp.Or(err, errAgain)
	}
	rows = l.fold(rows, nil)
	err = l.foldInPlace(ctx, s, h, &get[0], rows)
	if retryable(err) || err == nil && l.ends(h, rows) && !l.drops(h, &get[0], rows) {
		return false, last, errAgain
	}
	return l.ends(h, rows), last, err
}

// eraseRetired removes the entries that writers unaware of other segments have appended to a
// retired first segment.
func eraseRetired(ctx context.Context, s kv.Store, first []kv.Op) error {
	if len(first) == 0 || absent(&first[0]) || bytes.Equal(first[0].Result.Value, retired) {
		return nil
	}
	_, err := kv.One(ctx, s, kv.OpSwap(first[0].Key, first[0].Result.Version, retired))
	if kv.Raced(err) {
		return errAgain
	}
	return err
}

// without returns the rows of g but for those that is accepts. gone says that these were removed
// long ago, so that a fold drops them.
func without(g *segment, is func(*row) bool) (rows []row, gone certain, there bool) {
	for i := range g.rows {
		there = there || is(&g.rows[i])
	}
	gone = make(certain)
	rows = slices.DeleteFunc(g.newest(), func(r row) bool {
		if is(&r) {
			gone[r.Entry] = Entry{ID: r.ID, Rev: r.Rev, At: 1}
			return true
		}
		return false
	})
	return rows, gone, there
}

func (l *Logs) vanishes(h *head, rows []row) bool {
	for i := range rows {
		if !rows[i].forgettable(l.now(), l.Limits.Grace) {
			return false
		}
	}
	return l.ends(h, nil)
}

// drops reports whether a fold of the segment read by get to rows drops it.
func (l *Logs) drops(h *head, get *kv.Op, rows []row) bool {
	return l.ends(h, rows) && len(get.Result.Value) <= l.Limits.Merge
}

// ends reports whether a list folded to rows takes no key.
func (l *Logs) ends(h *head, rows []row) bool { return len(rows) == 0 && !h.stored && l.Hot == 0 }
