package keytree

import (
	"context"
	"slices"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

const MaxID = plug.MaxID

// Insert adds the entry of a member before the record that puts it in state to is written. It does
// not count until Tidy sees the written record.
func (t *Tree) Insert(ctx context.Context, s kv.Store, id string, to State) (*Due, error) {
	return t.insert(ctx, s, nil, Insertion{id, to})
}

// InsertNow is for one transaction with the writes of the records: the entries count at once, and
// replace older ones in their leaves.
func (t *Tree) InsertNow(ctx context.Context, s kv.Store, all ...Insertion) (*Due, error) {
	known := make(map[string]*State) // at the end of the transaction
	for i := range all {
		known[all[i].ID] = &all[i].To
	}
	return t.insert(ctx, s, known, all...)
}

type Insertion struct {
	ID string
	To State
}

func (t *Tree) insert(ctx context.Context, s kv.Store, known map[string]*State, all ...Insertion) (*Due, error) {
	due := new(Due)
	for _, in := range all {
		if len(in.ID) > MaxID {
			return due, plug.TooLong("an id in a ranking", in.ID, MaxID)
		}
	}
	return due, t.begin(ctx, s, func(ep *epochs) error { return ep.insert(ctx, s, due, known, all) })
}

func (ep *epochs) insert(ctx context.Context, s kv.Store, due *Due, known map[string]*State, all []Insertion) error {
	return ep.each(ctx, s, due, func(s kv.Store, p *nodes, due *reports) error {
		with := p.knowing(known)
		edits := make([]*edit, len(all))
		for i, in := range all {
			edits[i] = with.putting(in.ID, in.To)
			edits[i].known = known[in.ID]
		}
		with.edit(ctx, s, edits, nil, due)
		return failure(edits)
	})
}

func (p *nodes) putting(id string, to State) *edit {
	e := p.editing(to.Score, id)
	e.put = &entry{to.Score, to.Ver, id, true}
	return e
}

func (p *nodes) tidying(id string, score Score, now State) *edit {
	e := p.editing(score, id)
	e.known = &now
	return e
}

func (p *nodes) editing(score Score, id string) *edit {
	at := p.point(score, id)
	return &edit{point: at, bits: p.bits(at), id: id, began: p.began}
}

// Tidy removes the stale entries of members from the leaves of scores, and makes confirmed ones count.
func (t *Tree) Tidy(ctx context.Context, s kv.Store, all ...Tidying) (*Due, error) {
	due := new(Due)
	return due, t.begin(ctx, s, func(ep *epochs) error { return ep.tidy(ctx, s, due, all...) })
}

type Tidying struct {
	ID    string
	Score Score
	Now   State // of the record, current or older
}

// tidy also adds missing entries: while a process slept, the tree may have moved to an epoch without
// them.
func (ep *epochs) tidy(ctx context.Context, s kv.Store, due *Due, all ...Tidying) error {
	return ep.each(ctx, s, due, func(s kv.Store, p *nodes, due *reports) error {
		edits := make([]*edit, len(all))
		for i, a := range all {
			edits[i] = p.tidying(a.ID, a.Score, a.Now)
		}
		p.edit(ctx, s, edits, nil, due)
		if err := failure(edits); err != nil {
			return err
		}
		var absent []string
		for _, e := range edits {
			if e.absent {
				absent = append(absent, e.id)
			}
		}
		if len(absent) == 0 {
			return nil
		}
		return p.restore(ctx, s, absent, due)
	})
}

// Repair is Tidy after a crash. It adds a missing entry, and corrects the counts on the path: a
// dead process may have changed the leaf without a report.
func (t *Tree) Repair(ctx context.Context, s kv.Store, id string, score Score, now State) (*Due, error) {
	due := new(Due)
	return due, t.repair(ctx, s, id, score, now, due)
}

func (t *Tree) repair(ctx context.Context, s kv.Store, id string, score Score, now State, due *Due) error {
	return t.begin(ctx, s, func(ep *epochs) error {
		return ep.each(ctx, s, due, func(s kv.Store, p *nodes, due *reports) error {
			return p.repair(ctx, s, id, score, now, due)
		})
	})
}

func (p *nodes) repair(ctx context.Context, s kv.Store, id string, score Score, now State, due *reports) (err error) {
	if now.In && now.Score == score {
		err = p.restore(ctx, s, []string{id}, due)
	} else {
		err = p.editOne(ctx, s, p.tidying(id, score, now), due)
	}
	name, _ := p.guess(p.bits(p.point(score, id)))
	due.doubt(name)
	return err
}

// restore adds entries as pending, and rereads the records before it tidies: a record may have left
// the score since the first read, and its change may have tidied before the entry was added.
func (p *nodes) restore(ctx context.Context, s kv.Store, ids []string, due *reports) error {
	began := p.now()
	states, err := p.truth.States(ctx, s, ids)
	if err != nil {
		return err
	}
	var in []string
	var edits []*edit
	for i, st := range states {
		if st.Broken != nil {
			return st.Broken
		}
		if st.In {
			put := p.putting(ids[i], st)
			put.restores, put.began = true, began
			in, edits = append(in, ids[i]), append(edits, put)
		}
	}
	p.edit(ctx, s, edits, nil, due)
	if err := failure(edits); err != nil || len(in) == 0 {
		return err
	}
	now, err := p.truth.States(ctx, s, in)
	if err != nil {
		return err
	}
	for i, id := range in {
		edits[i] = p.tidying(id, edits[i].put.score, now[i])
	}
	p.edit(ctx, s, edits, nil, due)
	return failure(edits)
}

func (ep *epochs) each(ctx context.Context, s kv.Store, due *Due, work func(kv.Store, *nodes, *reports) error) error {
	return each(ctx, s, ep.write, func(s kv.Store, _ int, p *nodes) error { return work(s, p, due.to(p)) })
}

// Due holds the remaining work of changes for after the reply.
type Due struct {
	of    []dueIn
	works []dueWork // run before the reports
	done  []func()  // called after the reports
}

type dueWork func(context.Context, kv.Store, *Due) error

type dueIn struct {
	p       *nodes
	reports *reports
}

func (d *Due) to(p *nodes) *reports {
	for _, in := range d.of {
		if in.p.name == p.name {
			return in.reports
		}
	}
	// A report is harmless however late.
	unhurried := *p
	unhurried.began = time.Time{}
	d.of = append(d.of, dueIn{&unhurried, new(reports)})
	return d.of[len(d.of)-1].reports
}

func (d *Due) None() bool {
	return len(d.works)+len(d.done) == 0 && !slices.ContainsFunc(d.of, func(in dueIn) bool { return !in.reports.none() })
}

func (d *Due) Way() (nodes int) {
	for _, in := range d.of {
		nodes = max(nodes, in.reports.way())
	}
	return nodes
}

func (d *Due) Merge(other *Due) {
	for _, in := range other.of {
		d.to(in.p).merge(in.reports)
	}
	d.works, d.done = append(d.works, other.works...), append(d.done, other.done...)
}

// Report runs the due work. After an error it can be called again.
func (d *Due) Report(ctx context.Context, s kv.Store) error {
	for len(d.works) > 0 {
		if err := d.works[0](ctx, s, d); err != nil {
			return err
		}
		d.works = d.works[1:]
	}
	err := each(ctx, s, d.of, func(s kv.Store, _ int, in dueIn) error { return in.p.report(ctx, s, in.reports) })
	if err != nil {
		return err
	}
	for _, done := range d.done {
		done()
	}
	d.done = nil
	return nil
}
