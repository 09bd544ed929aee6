package keytree

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// MaxID is the maximum length of a member's id text: a leaf must hold several.
const MaxID = 2048

func tooLong(id string) error {
	return fmt.Errorf("%w: an id of %d bytes in a ranking, at most %d", kv.ErrTooLarge, len(id), MaxID)
}

// Insert adds the entry of a member that will have score by version ver of its
// record, before the record is written. known is the state of the record as it was
// read. An entry that is never confirmed counts for nothing.
func (t *Tree) Insert(ctx context.Context, s kv.Store, id string, known State, score Score, ver uint64) (*Due, error) {
	due := new(Due)
	if len(id) > MaxID {
		return due, tooLong(id)
	}
	err := t.begin(ctx, s, func(ep *epochs) error {
		return ep.insert(ctx, s, due, id, known, score, ver)
	})
	return due, err
}

func (ep *epochs) insert(ctx context.Context, s kv.Store, due *Due, id string, known State, score Score, ver uint64) error {
	return ep.each(ctx, s, due, func(s kv.Store, p *nodes, due *reports) error {
		return p.editOne(ctx, s, p.putting(id, known, score, ver), due)
	})
}

// putting returns the edit that adds the entry that a member in state known will
// have.
func (p *nodes) putting(id string, known State, score Score, ver uint64) *edit {
	return &edit{point: p.point(score, id), id: id, known: known, put: &entry{score, ver, id}}
}

// Remove removes, from the leaf where score belongs, the entries that the member's
// record has outlived. now is the state of the record.
func (t *Tree) Remove(ctx context.Context, s kv.Store, id string, score Score, now State) (*Due, error) {
	due := new(Due)
	err := t.begin(ctx, s, func(ep *epochs) error {
		return ep.remove(ctx, s, due, id, score, now)
	})
	return due, err
}

func (ep *epochs) remove(ctx context.Context, s kv.Store, due *Due, id string, score Score, now State) error {
	return ep.each(ctx, s, due, func(s kv.Store, p *nodes, due *reports) error {
		return p.editOne(ctx, s, &edit{point: p.point(score, id), id: id, known: now}, due)
	})
}

// each does work in every epoch that is written, side by side.
func (ep *epochs) each(ctx context.Context, s kv.Store, due *Due, work func(kv.Store, *nodes, *reports) error) error {
	return each(ctx, s, ep.write, func(s kv.Store, _ int, p *nodes) error { return work(s, p, due.to(p)) })
}

// sameLeaf reports whether two scores of a member belong in one leaf of every
// epoch that is written, as far as is known.
func (ep *epochs) sameLeaf(id string, a, b Score) bool {
	for _, p := range ep.write {
		one, _ := p.guess(p.bits(p.point(a, id)))
		other, _ := p.guess(p.bits(p.point(b, id)))
		if one != other {
			return false
		}
	}
	return true
}

// SameLeaf reports whether two scores of a member belong in one leaf, as far as is
// known. Then the next change there removes the entry that is stale.
func (t *Tree) SameLeaf(id string, a, b Score) bool {
	m := t.known()
	return m != nil && t.epochsOf(m, t.Now()).sameLeaf(id, a, b)
}

// Due holds what leaves must report upward after changes. The changes do not wait
// for the reports, and no report has to be made at all.
type Due struct{ of []dueIn }

type dueIn struct {
	p       *nodes
	reports *reports
}

// to returns the reports of the epoch p.
func (d *Due) to(p *nodes) *reports {
	for _, in := range d.of {
		if in.p.name == p.name {
			return in.reports
		}
	}
	// A report does no harm, however late it is made.
	unhurried := *p
	unhurried.began = time.Time{}
	d.of = append(d.of, dueIn{&unhurried, new(reports)})
	return d.of[len(d.of)-1].reports
}

// None reports whether nothing is due.
func (d *Due) None() bool {
	return !slices.ContainsFunc(d.of, func(in dueIn) bool { return len(in.reports.of) > 0 })
}

// Merge adds what other has to report.
func (d *Due) Merge(other *Due) {
	for _, in := range other.of {
		d.to(in.p).merge(in.reports)
	}
}

// Report makes the reports.
func (d *Due) Report(ctx context.Context, s kv.Store) error {
	return each(ctx, s, d.of, func(s kv.Store, _ int, in dueIn) error { return in.p.report(ctx, s, in.reports) })
}
