package costs

import (
	"errors"
	"fmt"
	"iter"

	"github.com/ringtree/ringtree/kvmodel"
)

func named(id string) *Named { return &Named{ID: id, Slug: "slug " + id, Text: text} }

func fillNamed(w *world) error {
	return w.Nameds.CreateMulti(w.ctx, many(200, func(i int) *Named { return named(id(i + 1)) }))
}

var unique = section{
	title: "Unique values",
	text:  "A model with a unique value.",
	fill: func(w *world) error {
		w.n = 200
		return fillNamed(w)
	},
	rows: []row{
		{name: "Create with a unique value", do: func(w *world) error { return w.Nameds.Create(w.ctx, named(w.id())) }},
		{name: "Create with a unique value that is taken", do: func(w *world) error {
			n := named(id(1))
			n.ID = w.id()
			return w.Nameds.Create(w.ctx, n)
		}, want: kvmodel.ErrExists},
		{name: "CreateMulti of 100 with a unique value", do: func(w *world) error {
			return w.Nameds.CreateMulti(w.ctx, many(100, func(int) *Named { return named(w.id()) }))
		}},
		{name: "Update of another field", do: func(w *world) error {
			return last(w.Nameds.Update(w.ctx, id(1), func(n *Named) error { n.Text += "!"; return nil }))
		}},
		{name: "Update of a unique value", do: func(w *world) error {
			return last(w.Nameds.Update(w.ctx, id(2), func(n *Named) error { n.Slug += "!"; return nil }))
		}},
		{
			name: "Update of a unique value, read a moment ago", before: func(w *world) error { return last(w.Nameds.Get(w.ctx, id(3))) }, wait: atOnce,
			do: func(w *world) error {
				return last(w.Nameds.Update(w.ctx, id(3), func(n *Named) error { n.Slug += "!"; return nil }))
			},
		},
		{name: "Delete with a unique value", do: func(w *world) error { return w.Nameds.Delete(w.ctx, id(4)) }},
		{
			name: "Find", before: func(w *world) error {
				return errors.Join(w.restart(), last(w.Nameds.BySlug.Find(w.ctx, "slug "+id(7))))
			},
			do: func(w *world) error { return last(w.Nameds.BySlug.Find(w.ctx, "slug "+id(6))) },
		},
		{name: "Find of a value that was found before", do: func(w *world) error { return last(w.Nameds.BySlug.Find(w.ctx, "slug "+id(6))) }},
		{name: "Find, there is none", do: func(w *world) error { return last(w.Nameds.BySlug.Find(w.ctx, "none")) }, want: kvmodel.ErrNotFound},
		{name: "FindMulti of 100", do: func(w *world) error {
			slugs := ids(200)[100:]
			for i := range slugs {
				slugs[i] = "slug " + slugs[i]
			}
			return last(w.Nameds.BySlug.FindMulti(w.ctx, slugs))
		}},
	},
}

func listed(id, owner string) *Listed { return &Listed{ID: id, Owner: owner, Text: text} }

func fillListed(w *world) error {
	return w.Listeds.CreateMulti(w.ctx, many(200, func(i int) *Listed { return listed(id(i+1), "ann") }))
}

func through[T any](all iter.Seq2[T, error]) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

var lists = section{
	title: "Lists",
	text:  "A list of 200, and an edge with lists on both sides, one of them counted, and another that is summed as well.",
	fill: func(w *world) error {
		w.n = 200
		return errors.Join(
			fillListed(w),
			w.Taggeds.Create(w.ctx, &Tagged{ID: w.id(), Tags: []string{"a", "b", "c"}, Text: text}),
			w.Photos.CreateMulti(w.ctx, many(3, func(i int) *Photo { return &Photo{ID: id(i + 1), Text: text} })),
			w.Ballots.CreateMulti(w.ctx, many(100, func(i int) *Ballot { return &Ballot{User: id(i + 1), Talk: id(1), Value: 1} })),
			w.Likes.CreateMulti(w.ctx, many(100, func(i int) *Like { return &Like{User: id(i + 1), Photo: id(1)} })),
		)
	},
	rows: []row{
		{name: "Create with a list", do: func(w *world) error { return w.Listeds.Create(w.ctx, listed(w.id(), "ann")) }},
		{name: "Create, the first in its list", do: func(w *world) error { return w.Listeds.Create(w.ctx, listed(w.id(), "bob")) }},
		{name: "Create with three values in lists", do: func(w *world) error {
			return w.Taggeds.Create(w.ctx, &Tagged{ID: w.id(), Tags: []string{"a", "b", "c"}, Text: text})
		}},
		{name: "CreateMulti of 100 in one list", do: func(w *world) error {
			return w.Listeds.CreateMulti(w.ctx, many(100, func(int) *Listed { return listed(w.id(), "cid") }))
		}},
		{name: "Update of what is in a list", do: func(w *world) error {
			return last(w.Listeds.Update(w.ctx, id(4), func(l *Listed) error { l.Text += "!"; return nil }))
		}},
		{name: "Update that moves it to another list", do: func(w *world) error {
			return last(w.Listeds.Update(w.ctx, id(1), func(l *Listed) error { l.Owner = "bob"; return nil }))
		}},
		{name: "Update that moves it to a list that is new", do: func(w *world) error {
			return last(w.Listeds.Update(w.ctx, id(3), func(l *Listed) error { l.Owner = "dan"; return nil }))
		}},
		{name: "Delete with a list", do: func(w *world) error { return w.Listeds.Delete(w.ctx, id(2)) }},
		{
			name: "Page of 20, not the first of a process", before: func(w *world) error { return last(w.Listeds.ByOwner.Of("ann").Page(w.ctx, "", 10)) },
			do: func(w *world) error { return last(w.Listeds.ByOwner.Of("ann").Page(w.ctx, "", 20)) },
		},
		{name: "Page of 20, as it was read last", do: func(w *world) error { return last(w.Listeds.ByOwner.Of("ann").Page(w.ctx, "", 20)) }},
		{name: "Page of 20 further on", do: func(w *world) error {
			// The previous page must not have warmed the context that is measured.
			first, err := w.Listeds.ByOwner.Of("ann").Page(w.own, "", 20)
			if err != nil {
				return err
			}
			return last(w.Listeds.ByOwner.Of("ann").Page(w.ctx, first.Next, 20))
		}},
		{name: "Numbered(3, 20)", do: func(w *world) error { return last(w.Listeds.ByOwner.Of("ann").Numbered(w.ctx, 3, 20)) }},
		{name: "Contains", do: func(w *world) error { return last(w.Listeds.ByOwner.Of("ann").Contains(w.ctx, id(9))) }},
		{name: "Size", do: func(w *world) error { return last(w.Listeds.ByOwner.Of("ann").Size(w.ctx)) }},
		{name: "Count", do: func(w *world) error { return last(w.Listeds.ByOwner.Of("ann").Count(w.ctx)) }},
		{name: "IDs", do: func(w *world) error { return through(w.Listeds.ByOwner.Of("ann").IDs(w.ctx)) }},
		{name: "All", do: func(w *world) error { return through(w.Listeds.ByOwner.Of("ann").All(w.ctx)) }},
		{name: "Create of an edge that is counted", do: func(w *world) error { return w.Likes.Create(w.ctx, &Like{User: id(1), Photo: id(2)}) }},
		{name: "the same, not the first of the photo", do: func(w *world) error { return w.Likes.Create(w.ctx, &Like{User: id(2), Photo: id(2)}) }},
		{name: "Delete of an edge that is counted", do: func(w *world) error { return w.Likes.Delete(w.ctx, LikeID{User: id(1), Photo: id(2)}) }},
		{name: "Likes.Get", do: func(w *world) error { return last(w.Photos.Likes.Get(w.ctx, id(1))) }},
		{name: "Create of an edge that is counted and summed", do: func(w *world) error {
			return w.Ballots.Create(w.ctx, &Ballot{User: w.id(), Talk: id(1), Value: -1})
		}},
		{name: "Update of what it adds", do: func(w *world) error {
			return last(w.Ballots.Update(w.ctx, BallotID{User: id(2), Talk: id(1)}, func(b *Ballot) error { b.Value = -b.Value; return nil }))
		}},
		{name: "Delete of an edge that is counted and summed", do: func(w *world) error { return w.Ballots.Delete(w.ctx, BallotID{User: id(1), Talk: id(1)}) }},
	},
}

var values = section{
	title: "The values of a list",
	text:  "100 records with `list,values`, each with one of ten tags.",
	fill: func(w *world) error {
		w.n = 100
		return w.Valueds.CreateMulti(w.ctx, many(100, func(i int) *Valued {
			return &Valued{ID: id(i + 1), Tags: []string{fmt.Sprint("tag", i%10)}, Text: text}
		}))
	},
	warm: func(w *world) error { return last(w.Valueds.ByTags.Values.Len(w.ctx)) },
	rows: []row{
		{name: "Create with a value of those that are counted", do: func(w *world) error {
			return w.Valueds.Create(w.ctx, &Valued{ID: w.id(), Tags: []string{"tag1"}, Text: text})
		}},
		{name: "Create with a value that is new", do: func(w *world) error {
			return w.Valueds.Create(w.ctx, &Valued{ID: w.id(), Tags: []string{"new"}, Text: text})
		}},
		{name: "Update to another value", do: func(w *world) error {
			return last(w.Valueds.Update(w.ctx, id(3), func(v *Valued) error { v.Tags = []string{"tag9"}; return nil }))
		}},
		{name: "Update to a value that is new", do: func(w *world) error {
			return last(w.Valueds.Update(w.ctx, id(5), func(v *Valued) error { v.Tags = []string{"newer"}; return nil }))
		}},
		{name: "Delete with a value of those that are counted", do: func(w *world) error { return w.Valueds.Delete(w.ctx, id(4)) }},
		{
			name: "Values.Page, with something new", before: func(w *world) error { return last(w.Valueds.ByTags.Values.Page(w.ctx, "", 5)) },
			do: func(w *world) error { return last(w.Valueds.ByTags.Values.Page(w.ctx, "", 10)) },
		},
		{name: "Values.Page, as it was read last", do: func(w *world) error { return last(w.Valueds.ByTags.Values.Page(w.ctx, "", 10)) }},
		{name: "Values.Words", do: func(w *world) error { return last(w.Valueds.ByTags.Values.Words(w.ctx, "", 10)) }},
		{name: "Values.Has", do: func(w *world) error { return last(w.Valueds.ByTags.Values.Has(w.ctx, "tag5")) }},
		{name: "Values.Count", do: func(w *world) error { return last(w.Valueds.ByTags.Values.Count(w.ctx, "tag5")) }},
		{name: "Values.Len", do: func(w *world) error { return last(w.Valueds.ByTags.Values.Len(w.ctx)) }},
	},
}

var totals = section{
	title: "How many there are",
	text:  "A model with `count` and 1,000 records.",
	fill: func(w *world) error {
		w.n = 1000
		return w.AllSummed.CreateMulti(w.ctx, many(1000, func(i int) *Summed { return &Summed{ID: id(i + 1), Text: text} }))
	},
	rows: []row{
		{name: "Create of a record that is counted", do: func(w *world) error { return w.AllSummed.Create(w.ctx, &Summed{ID: w.id(), Text: text}) }},
		{name: "Update of a record that is counted", do: func(w *world) error {
			return last(w.AllSummed.Update(w.ctx, id(1), func(s *Summed) error { s.Text += "!"; return nil }))
		}},
		{name: "Delete of a record that is counted", do: func(w *world) error { return w.AllSummed.Delete(w.ctx, id(2)) }},
		{name: "Count of all", do: func(w *world) error { return last(w.AllSummed.Count(w.ctx)) }},
	},
}

var sequences = section{
	title: "Sequences",
	text:  "1,000 records with `id,seq`.",
	fill: func(w *world) error {
		return errors.Join(
			w.Tickets.CreateMulti(w.ctx, many(1000, func(int) *Ticket { return &Ticket{Text: text} })),
			w.Invoices.Create(w.ctx, &Invoice{Owner: "ann", Text: text}))
	},
	rows: []row{
		{name: "Create with the next number", do: func(w *world) error { return w.Tickets.Create(w.ctx, &Ticket{Text: text}) }},
		{name: "Create with the next number and a list", do: func(w *world) error { return w.Invoices.Create(w.ctx, &Invoice{Owner: "ann", Text: text}) }},
		{name: "CreateMulti of 100 with the next numbers", do: func(w *world) error {
			return w.Tickets.CreateMulti(w.ctx, many(100, func(int) *Ticket { return &Ticket{Text: text} }))
		}},
		{name: "Sequence.Count", do: func(w *world) error { return last(w.Tickets.Sequence.Count(w.ctx)) }},
		{name: "Sequence.Page of 20", do: func(w *world) error { return last(w.Tickets.Sequence.Page(w.ctx, "", 20)) }},
		{name: "Sequence.LastPage 20", do: func(w *world) error { return last(w.Tickets.Sequence.LastPage(w.ctx, 20)) }},
		{name: "Sequence.Range of 200", do: func(w *world) error { return through(w.Tickets.Sequence.Range(w.ctx, 101, 300)) }},
		{name: "Before, a page of 20", do: func(w *world) error { return last(w.Tickets.Before(500).Page(w.ctx, "", 20)) }},
	},
}

var counters = section{
	title: "Counters",
	text:  "Counters without a ranking.",
	fill: func(w *world) error {
		return errors.Join(w.Seens.Create(w.ctx, &Seen{ID: id(1), Text: text}), last(w.Seens.Views.Hit(w.ctx, id(1))))
	},
	rows: []row{
		{name: "Hit", do: func(w *world) error { return last(w.Seens.Views.Hit(w.ctx, id(1))) }},
		{name: "Hit, the first of a record", do: func(w *world) error { return last(w.Seens.Views.Hit(w.ctx, id(2))) }},
		{name: "Add", do: func(w *world) error { return last(w.Seens.Views.Add(w.ctx, id(1), 5)) }},
		{name: "Views.Get", do: func(w *world) error { return last(w.Seens.Views.Get(w.ctx, id(1))) }},
		{name: "Set", do: func(w *world) error { return w.Seens.Views.Set(w.ctx, id(1), 7) }},
		{name: "Get of a record with a counter", do: func(w *world) error { return last(w.Seens.Get(w.ctx, id(1))) }},
	},
}
