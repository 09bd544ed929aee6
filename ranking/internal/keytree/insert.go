package keytree

import (
	"context"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// MaxID is the length limit of a member's id text: a leaf holds several.
const MaxID = 2048

func tooLong(id string) error {
	return fmt.Errorf("%w: an id of %d bytes in a ranking, at most %d", kv.ErrTooLarge, len(id), MaxID)
}

// Insert puts in the entry of a member that is to have score by version ver of
// its record, before the record says so. known is the record as it was read. An
// entry that never becomes true counts for nothing.
func (t *Tree) Insert(ctx context.Context, s kv.Store, id string, known State, score Score, ver uint64) (*Due, error) {
	due := new(Due)
	if len(id) > MaxID {
		return due, tooLong(id)
	}
	err := t.begin(ctx, s, func(se *session) error {
		return se.insert(ctx, s, due, id, known, score, ver)
	})
	return due, err
}

func (se *session) insert(ctx context.Context, s kv.Store, due *Due, id string, known State, score Score, ver uint64) error {
	return se.each(ctx, s, due, func(s kv.Store, p *pages, due *reports) error {
		put := &edit{point: p.point(score, id), id: id, known: known, put: &entry{score, ver, id}}
		return p.edit(ctx, s, put, nil, due)
	})
}

// Remove takes out of the leaf where score belongs what the member's record,
// now in the state now, has outlived.
func (t *Tree) Remove(ctx context.Context, s kv.Store, id string, score Score, now State) (*Due, error) {
	due := new(Due)
	err := t.begin(ctx, s, func(se *session) error {
		return se.remove(ctx, s, due, id, score, now)
	})
	return due, err
}

func (se *session) remove(ctx context.Context, s kv.Store, due *Due, id string, score Score, now State) error {
	return se.each(ctx, s, due, func(s kv.Store, p *pages, due *reports) error {
		return p.edit(ctx, s, &edit{point: p.point(score, id), id: id, known: now}, nil, due)
	})
}

// each does work on all pages that the session writes, side by side.
func (se *session) each(ctx context.Context, s kv.Store, due *Due, work func(kv.Store, *pages, *reports) error) error {
	works := make([]func(kv.Store) error, len(se.write))
	for i, p := range se.write {
		works[i] = func(s kv.Store) error { return work(s, p, due.to(p)) }
	}
	return together(ctx, s, works...)
}

// sameLeaf tells whether two scores of a member belong in one leaf of all pages
// that the session writes, as far as is known.
func (se *session) sameLeaf(id string, a, b Score) bool {
	for _, p := range se.write {
		one, _ := p.guess(p.bits(p.point(a, id)))
		other, _ := p.guess(p.bits(p.point(b, id)))
		if one != other {
			return false
		}
	}
	return true
}

// SameLeaf tells whether two scores of a member belong in one leaf, as far as is
// known: then what is left of the one goes with the next change there.
func (t *Tree) SameLeaf(id string, a, b Score) bool {
	m := t.known()
	return m != nil && t.sessionOf(m, t.Now()).sameLeaf(id, a, b)
}

// Due is what leaves have to report upward after changes. It need not be done
// before the changes count as done, nor at all.
type Due struct{ of []dueIn }

type dueIn struct {
	p       *pages
	reports *reports
}

// to returns the reports of the pages p.
func (d *Due) to(p *pages) *reports {
	for _, in := range d.of {
		if in.p.name == p.name {
			return in.reports
		}
	}
	// A report does no harm however late it is.
	unhurried := *p
	unhurried.began = time.Time{}
	d.of = append(d.of, dueIn{&unhurried, new(reports)})
	return d.of[len(d.of)-1].reports
}

// None tells whether nothing is due.
func (d *Due) None() bool {
	for _, in := range d.of {
		if len(in.reports.of) > 0 {
			return false
		}
	}
	return true
}

// Merge adds what other has to report.
func (d *Due) Merge(other *Due) {
	for _, in := range other.of {
		d.to(in.p).merge(in.reports)
	}
}

// Report makes the reports.
func (d *Due) Report(ctx context.Context, s kv.Store) error {
	works := make([]func(kv.Store) error, len(d.of))
	for i, in := range d.of {
		works[i] = func(s kv.Store) error { return in.p.report(ctx, s, in.reports) }
	}
	return together(ctx, s, works...)
}
