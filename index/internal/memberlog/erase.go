package memberlog

import (
	"bytes"
	"context"
	"errors"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Most lists have no head, and take no key at all once they have no members: what folds
// such a list to nothing drops its only segment, at the version that was read. An append
// that came first makes that fail, and one that comes later finds no segment and begins
// the list again.
//
// A first segment that is gone while a process replaces it is taken for lost. So a list
// that is divided from the start keeps it. Of the others, one is replaced only when it is
// large, and a large one does not lose its last member within that time.

// Erase removes what place's list says of id up to rev, as if it had never been
// written. Nothing that says so may still be on its way, unless Confirm finds it out.
// It reports whether the list takes no key any more.
func (l *Logs) Erase(ctx context.Context, s kv.Store, place, id string, rev uint64) (gone bool, err error) {
	for range maxTries {
		gone, err = l.erase(ctx, s, place, id, rev)
		if !errors.Is(err, errAgain) {
			return gone, l.failure(place, err)
		}
	}
	return false, l.failure(place, kv.ErrConflict)
}

func (l *Logs) erase(ctx context.Context, s kv.Store, place, id string, rev uint64) (gone bool, err error) {
	h, err := l.readHead(ctx, s, place)
	if err != nil {
		return false, err
	}
	n := h.parts[h.find(hashOf(id))].name
	get := []kv.Op{kv.OpGet(l.key(place, n))}
	if h.indexOf(name{}) < 0 {
		get = append(get, kv.OpGet(l.key(place, name{})))
	}
	if err := s.Do(ctx, get); err != nil {
		return false, err
	}
	if err := eraseRetired(ctx, s, get[1:]); err != nil {
		return false, err
	}
	if absent(&get[0]) {
		return !h.stored, nil // If it is lost, the next reader notices.
	}
	g, err := l.decodeSegment(&get[0])
	switch {
	case err != nil || g.retired:
		return false, err
	case g.sealed:
		if err := l.roll(ctx, s, place, n); err != nil {
			return false, err
		}
		return false, errAgain
	}
	rows, there := without(&g, id, rev)
	if !there && len(rows) > 0 {
		return false, nil
	}
	rows = l.fold(rows, nil)
	err = l.foldInPlace(ctx, s, h, &get[0], rows)
	if unsettled(err) {
		return false, errAgain
	}
	return l.ends(h, rows), err
}

// eraseRetired removes what follows the mark of a first segment that was retired, if first
// has one that was read: writers that did not know of others have appended to it.
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

// without returns the rows of g that count, less what it says of id up to rev, and
// whether there is any of that.
func without(g *segment, id string, rev uint64) (rows []row, there bool) {
	for i := range g.rows {
		there = there || g.rows[i].ID == id && g.rows[i].Rev <= rev
	}
	for _, row := range g.settled() {
		if row.ID != id || row.Rev > rev {
			rows = append(rows, row)
		}
	}
	return rows, there
}

// vanishes reports whether nothing is left of place's list, which has no head, once
// rows are folded.
func (l *Logs) vanishes(h *head, rows []row) bool {
	for i := range rows {
		if !rows[i].forgettable(l.now(), l.Limits.Grace) {
			return false
		}
	}
	return l.ends(h, nil)
}

// ends reports whether a list with head h takes no key any more when it is folded to
// rows.
func (l *Logs) ends(h *head, rows []row) bool { return len(rows) == 0 && !h.stored && l.Hot == 0 }
