package memberlog

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A list without a head takes no key once it has no members: folding it to nothing drops its only
// segment, by the version read. An earlier append makes that fail; a later one starts the list
// again.
//
// While a first segment is being replaced, its absence would look like a loss. So lists that are
// divided from the start keep it. Others replace it only when it is too large to lose its last
// member meanwhile.

// Erase removes everything about id up to rev, and reports whether place's list now takes no key.
// No such entry may still be in flight, unless Confirm will find it.
func (l *Logs) Erase(ctx context.Context, s kv.Store, place, id string, rev uint64) (gone bool, err error) {
	gone, _, err = l.eraseAt(ctx, s, place, hashOf(id), every(func(r *row) bool { return r.ID == id && r.Rev <= rev }))
	return gone, err
}

// EraseLeft is Erase for all former members.
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
	for range maxTries {
		gone, last, err = l.erase(ctx, s, place, hash, judge)
		if !errors.Is(err, errAgain) {
			return gone, last, l.failure(place, err)
		}
	}
	return false, last, l.failure(place, kv.ErrConflict)
}

func (l *Logs) erase(ctx context.Context, s kv.Store, place string, hash uint64, judge judge) (gone bool, last uint64, err error) {
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
	rows, there := without(g, is)
	if !there && len(rows) > 0 {
		return false, last, nil
	}
	rows = l.fold(rows, nil)
	err = l.foldInPlace(ctx, s, h, &get[0], rows)
	if unsettled(err) {
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

func without(g *segment, is func(*row) bool) (rows []row, there bool) {
	for i := range g.rows {
		there = there || is(&g.rows[i])
	}
	return slices.DeleteFunc(g.settled(), func(r row) bool { return is(&r) }), there
}

func (l *Logs) vanishes(h *head, rows []row) bool {
	for i := range rows {
		if !rows[i].forgettable(l.now(), l.Limits.Grace) {
			return false
		}
	}
	return l.ends(h, nil)
}

// ends reports whether a list folded to rows takes no key.
func (l *Logs) ends(h *head, rows []row) bool { return len(rows) == 0 && !h.stored && l.Hot == 0 }
