package costs

import (
	"context"
	"errors"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
)

var sections = []section{
	records, together, edges, history, ends, unique, lists, values, totals, sequences, counters,
	timelines, events, rankings, ties, words, counted, cascades, withSessions, processes,
}

func fillPlain(w *world) error {
	return w.Plains.CreateMulti(w.ctx, many(200, func(int) *Plain { return &Plain{ID: w.id(), Text: text} }))
}

// plain makes a record that was not read yet.
func plain(w *world) error { return w.Plains.Create(w.ctx, &Plain{ID: w.id(), Text: text}) }

func rewrite(p *Plain) error { p.Text += "!"; return nil }

var records = section{
	title: "Records",
	text:  "A model without an index.",
	fill:  fillPlain,
	rows: []row{
		{name: "Get", do: func(w *world) error { return last(w.Plains.Get(w.ctx, id(1))) }},
		{name: "Get, there is none", do: func(w *world) error { return last(w.Plains.Get(w.ctx, "none")) }, want: kvmodel.ErrNotFound},
		{name: "GetMulti of 100", do: func(w *world) error { return last(w.Plains.GetMulti(w.ctx, ids(100))) }},
		{name: "Load for 100 that refer to 10", do: func(w *world) error {
			return last(kvmodel.Load(w.ctx, w.Plains.Records, ids(100), func(id string) string { return id[:len(id)-1] + "1" }))
		}},
		{name: "All of 200", do: func(w *world) error { return through(w.Plains.All(w.ctx)) }},
		{name: "Each of 200", do: func(w *world) error { return w.Plains.Each(w.ctx, kvmodel.Walk{}, func(*Plain) error { return nil }) }},
		{name: "Create", do: func(w *world) error { return w.Plains.Create(w.ctx, &Plain{ID: w.id(), Text: text}) }},
		{name: "Create, the id exists", do: func(w *world) error { return w.Plains.Create(w.ctx, &Plain{ID: id(1), Text: text}) }, want: kvmodel.ErrExists},
		{
			name: "Create, the id was deleted today", before: func(w *world) error { return errors.Join(plain(w), w.Plains.Delete(w.ctx, id(w.n))) },
			do: func(w *world) error { return w.Plains.Create(w.ctx, &Plain{ID: id(w.n), Text: text}) },
		},
		{name: "Put, there is none", do: func(w *world) error { return w.Plains.Put(w.ctx, &Plain{ID: w.id(), Text: text}) }},
		{name: "Put, there is one", do: func(w *world) error { return w.Plains.Put(w.ctx, &Plain{ID: id(2), Text: text + "?"}) }},
		{name: "Update", do: func(w *world) error { return last(w.Plains.Update(w.ctx, id(3), rewrite)) }},
		{
			name: "Update, read a moment ago", before: func(w *world) error { return last(w.Plains.Get(w.ctx, id(4))) }, wait: atOnce,
			do: func(w *world) error { return last(w.Plains.Update(w.ctx, id(4), rewrite)) },
		},
		{name: "Update that changes nothing", do: func(w *world) error { return last(w.Plains.Update(w.ctx, id(5), func(*Plain) error { return nil })) }},
		{
			name: "Update where a handler hears of changes",
			before: func(w *world) error {
				w.Heards.OnChange(func(context.Context, kvmodel.Change[Heard, string]) error { return nil })
				return w.Heards.Create(w.ctx, &Heard{ID: id(1), Text: text})
			},
			do: func(w *world) error {
				return last(w.Heards.Update(w.ctx, id(1), func(h *Heard) error { h.Text += "!"; return nil }))
			},
		},
		{name: "Upsert, there is none", do: func(w *world) error {
			return last(w.Plains.Upsert(w.ctx, w.id(), func(p *Plain) error { p.Text = text; return nil }))
		}},
		{name: "Upsert, there is one", do: func(w *world) error { return last(w.Plains.Upsert(w.ctx, id(6), rewrite)) }},
		{name: "Delete", before: plain, do: func(w *world) error { return w.Plains.Delete(w.ctx, id(w.n)) }},
		{
			name: "Delete, read a moment ago", before: func(w *world) error { return errors.Join(plain(w), last(w.Plains.Get(w.ctx, id(w.n)))) }, wait: atOnce,
			do: func(w *world) error { return w.Plains.Delete(w.ctx, id(w.n)) },
		},
		{name: "Delete, there is none", do: func(w *world) error { return w.Plains.Delete(w.ctx, "none") }, want: kvmodel.ErrNotFound},
		{name: "Purge", before: plain, do: func(w *world) error { return w.Plains.Purge(w.ctx, id(w.n)) }},
	},
}

var together = section{
	title: "Many records",
	text:  "The same methods, for 100 records in one call.",
	fill:  fillPlain,
	rows: []row{
		{name: "CreateMulti", do: func(w *world) error {
			return w.Plains.CreateMulti(w.ctx, many(100, func(int) *Plain { return &Plain{ID: w.id(), Text: text} }))
		}},
		{name: "PutMulti, there is none", do: func(w *world) error {
			return w.Plains.PutMulti(w.ctx, many(100, func(int) *Plain { return &Plain{ID: w.id(), Text: text} }))
		}},
		{name: "PutMulti, all are there", do: func(w *world) error {
			return w.Plains.PutMulti(w.ctx, many(100, func(i int) *Plain { return &Plain{ID: id(i + 1), Text: text + "?"} }))
		}},
		{name: "UpdateMulti", do: func(w *world) error { return last(w.Plains.UpdateMulti(w.ctx, ids(100), rewrite)) }},
		{name: "DeleteMulti", do: func(w *world) error { return w.Plains.DeleteMulti(w.ctx, ids(100)) }},
	},
}

var edges = section{
	title: "Edges",
	text:  "An id of two fields, and no index.",
	fill: func(w *world) error {
		return w.Votes.CreateMulti(w.ctx, many(100, func(i int) *Vote { return &Vote{User: "ann", Page: id(i)} }))
	},
	rows: []row{
		{name: "Create of an edge", do: func(w *world) error { return w.Votes.Create(w.ctx, &Vote{User: "bob", Page: id(1)}) }},
		{name: "Create of an edge that exists", do: func(w *world) error { return w.Votes.Create(w.ctx, &Vote{User: "ann", Page: id(1)}) }, want: kvmodel.ErrExists},
		{name: "GetMulti of 20 edges, of which there are 10", do: func(w *world) error {
			return last(w.Votes.GetMulti(w.ctx, many(20, func(i int) VoteID { return VoteID{User: "ann", Page: id(90 + i)} })))
		}},
		{name: "Delete of an edge", do: func(w *world) error { return w.Votes.Delete(w.ctx, VoteID{User: "ann", Page: id(2)}) }},
	},
}

var history = section{
	title: "History",
	text:  "A model with `history=20`.",
	fill: func(w *world) error {
		err := w.Kepts.Create(w.ctx, &Kept{ID: id(1), Text: text})
		for range 20 {
			err = errors.Join(err, last(w.Kepts.Update(w.ctx, id(1), rewriteKept)))
		}
		return err
	},
	rows: []row{
		{name: "Create with a history", do: func(w *world) error { return w.Kepts.Create(w.ctx, &Kept{ID: id(2), Text: text}) }},
		{name: "Update with a history", do: func(w *world) error { return last(w.Kepts.Update(w.ctx, id(1), rewriteKept)) }},
		{name: "History.Of the last 10", do: func(w *world) error { return last(w.Kepts.History.Of(w.ctx, id(1), 10)) }},
		{name: "History.Restore", do: func(w *world) error { return last(w.Kepts.History.Restore(w.ctx, id(1), 10)) }},
		{name: "Delete with a history", do: func(w *world) error { return w.Kepts.Delete(w.ctx, id(2)) }},
	},
}

func rewriteKept(k *Kept) error { k.Text += "!"; return nil }

func leased(w *world, id string) *Leased {
	return &Leased{ID: id, Owner: "ann", Until: w.clock.Now().Add(time.Hour), Text: text}
}

var ends = section{
	title: "Records that end",
	text:  "A model with `expires` and a list, and one without the list.",
	fill: func(w *world) error {
		w.n = 20
		return errors.Join(
			w.Leaseds.CreateMulti(w.ctx, many(20, func(i int) *Leased { return leased(w, id(i+1)) })),
			w.Lents.Create(w.ctx, &Lent{ID: id(1), Until: w.clock.Now().Add(time.Hour), Text: text}))
	},
	rows: []row{
		{name: "Create of a record that ends", do: func(w *world) error { return w.Leaseds.Create(w.ctx, leased(w, w.id())) }},
		{name: "Touch", do: func(w *world) error { return w.Leaseds.Touch(w.ctx, id(1), w.clock.Now().Add(2*time.Hour)) }},
		{
			name: "Touch, read a moment ago", before: func(w *world) error { return last(w.Leaseds.Get(w.ctx, id(2))) }, wait: atOnce,
			do: func(w *world) error { return w.Leaseds.Touch(w.ctx, id(2), w.clock.Now().Add(2*time.Hour)) },
		},
		{name: "Touch without an index", do: func(w *world) error { return w.Lents.Touch(w.ctx, id(1), w.clock.Now().Add(2*time.Hour)) }},
		{
			name: "Touch without an index, read a moment ago", before: func(w *world) error { return last(w.Lents.Get(w.ctx, id(1))) }, wait: atOnce,
			do: func(w *world) error { return w.Lents.Touch(w.ctx, id(1), w.clock.Now().Add(3*time.Hour)) },
		},
		{name: "Update of the end", do: func(w *world) error {
			return last(w.Leaseds.Update(w.ctx, id(3), func(l *Leased) error { l.Until = l.Until.Add(time.Hour); return nil }))
		}},
	},
}

var processes = section{
	title: "What a process has to find out",
	text: "The other tables show a process that used the same index seconds ago. A new process, and one that has " +
		"not used the index for a minute, read more.",
	fill: func(w *world) error {
		err := errors.Join(fillPlain(w), fillNamed(w), fillListed(w), fillNotes(w), fillPriced(w))
		w.n = 1000
		return err
	},
	rows: []row{
		{name: "Get, the first thing that a process does", before: (*world).restart, do: func(w *world) error { return last(w.Plains.Get(w.ctx, id(1))) }},
		{
			name: "Create, the first change of a process", before: (*world).restart,
			do: func(w *world) error { return w.Plains.Create(w.ctx, &Plain{ID: w.id(), Text: text}) },
		},
		{name: "Create, its first change of another model", do: func(w *world) error { return w.Nameds.Create(w.ctx, named(w.id())) }},
		{name: "Create, a minute later", wait: time.Minute, do: func(w *world) error { return w.Nameds.Create(w.ctx, named(w.id())) }},
		{
			name: "Create with a ranking, the first change of a process", before: (*world).restart,
			do: func(w *world) error { return w.Priceds.Create(w.ctx, priced(w.id(), 100)) },
		},
		{name: "Create with a ranking, a minute later", wait: time.Minute, do: func(w *world) error { return w.Priceds.Create(w.ctx, priced(w.id(), 200)) }},
		{name: "Find, the first of a process", before: (*world).restart, do: func(w *world) error { return last(w.Nameds.BySlug.Find(w.ctx, "slug "+id(1))) }},
		{name: "Find of a remembered value, a minute later", wait: time.Minute, do: func(w *world) error { return last(w.Nameds.BySlug.Find(w.ctx, "slug "+id(1))) }},
		{
			name: "Page of a list, the first of a process", before: (*world).restart,
			do: func(w *world) error { return last(w.Listeds.ByOwner.Of("ann").Page(w.ctx, "", 20)) },
		},
		{name: "the same, a minute later", wait: time.Minute, do: func(w *world) error { return last(w.Listeds.ByOwner.Of("ann").Page(w.ctx, "", 20)) }},
		{name: "Page of a timeline, the first of a process", before: (*world).restart, do: func(w *world) error { return last(w.Notes.Newest.Page(w.ctx, "", 20)) }},
		{name: "the same, a minute later", wait: time.Minute, do: func(w *world) error { return last(w.Notes.Newest.Page(w.ctx, "", 20)) }},
		{
			name: "Page of a board of 1,000, the first of a process", before: (*world).restart,
			do: func(w *world) error { return last(w.Priceds.TopPrice.Page(w.ctx, "", 20)) },
		},
		{name: "the same, a minute later", wait: time.Minute, do: func(w *world) error { return last(w.Priceds.TopPrice.Page(w.ctx, "", 20)) }},
		{name: "At(501, 20), the first of a process", before: (*world).restart, do: func(w *world) error { return last(w.Priceds.TopPrice.At(w.ctx, 501, 20)) }},
	},
}
