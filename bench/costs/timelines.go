package costs

import (
	"errors"
	"fmt"
	"time"
)

func note(id string) *Note { return &Note{ID: id, Text: text} }

func fillNotes(w *world) error {
	for i := range 200 {
		if err := w.Notes.Create(w.ctx, note(id(i+1))); err != nil {
			return err
		}
	}
	return nil
}

func post(w *world, author string) *Post {
	return &Post{ID: w.id(), Author: author, Made: w.clock.Now(), Text: text}
}

const authors = 64

func author(i int) string { return fmt.Sprint("author", i) }

func authorNames(n int) []string { return many(n, author) }

func story(w *world, tags ...string) *Story {
	return &Story{ID: w.id(), Tags: tags, Made: w.clock.Now(), Text: text}
}

var timelines = section{
	title: "Timelines",
	text:  "200 records, 64 authors with 20 each, and records with three tags.",
	fill: func(w *world) error {
		err := fillNotes(w)
		w.n = 200
		for range 20 {
			for i := range authors {
				err = errors.Join(err, w.Posts.Create(w.ctx, post(w, author(i))))
			}
		}
		return errors.Join(err, w.Stories.Create(w.ctx, story(w, "a", "b", "c")))
	},
	rows: []row{
		{name: "Create with a timeline", do: func(w *world) error { return w.Notes.Create(w.ctx, note(w.id())) }},
		{name: "Create with a timeline of its author", do: func(w *world) error { return w.Posts.Create(w.ctx, post(w, author(3))) }},
		{name: "Create with a timeline, the first of its author", do: func(w *world) error { return w.Posts.Create(w.ctx, post(w, "new")) }},
		{name: "Create with timelines of three tags", do: func(w *world) error { return w.Stories.Create(w.ctx, story(w, "a", "b", "c")) }},
		{name: "CreateMulti of 100 with a timeline", do: func(w *world) error {
			return w.Notes.CreateMulti(w.ctx, many(100, func(int) *Note { return note(w.id()) }))
		}},
		{
			name: "Update that takes it to the top, as the last ones of the model did",
			before: func(w *world) error {
				var err error
				for i := range 4 {
					err = errors.Join(err, last(w.Notes.Update(w.ctx, id(50+i), rewriteNote)))
				}
				return err
			},
			do: func(w *world) error { return last(w.Notes.Update(w.ctx, id(60), rewriteNote)) },
		},
		{name: "Update that does not move it", do: func(w *world) error {
			return last(w.Notes.Update(w.ctx, id(61), func(n *Note) error { n.Rest += "!"; return nil }))
		}},
		{
			name: "Update that gives it another tag",
			before: func(w *world) error {
				return errors.Join(w.Stories.Create(w.ctx, story(w, "d")), w.Stories.Create(w.ctx, story(w, "a", "b", "c")))
			},
			do: func(w *world) error {
				return last(w.Stories.Update(w.ctx, id(w.n), func(s *Story) error { s.Tags = []string{"a", "b", "d"}; return nil }))
			},
		},
		{name: "Update that gives it a tag that is new", do: func(w *world) error {
			return last(w.Stories.Update(w.ctx, id(w.n), func(s *Story) error { s.Tags = []string{"a", "b", "e"}; return nil }))
		}},
		{name: "Delete with a timeline", do: func(w *world) error { return w.Notes.Delete(w.ctx, id(62)) }},
		{
			name: "Page of 20, with something new",
			before: func(w *world) error {
				return errors.Join(last(w.Notes.Newest.Page(w.ctx, "", 20)), w.Notes.Create(w.ctx, note(w.id())))
			},
			do: func(w *world) error { return last(w.Notes.Newest.Page(w.ctx, "", 20)) },
		},
		{name: "Page of 20, as it was read last", do: func(w *world) error { return last(w.Notes.Newest.Page(w.ctx, "", 20)) }},
		{name: "Page of 20 further on", do: func(w *world) error {
			first, err := w.Notes.Newest.Page(w.own, "", 20)
			if err != nil {
				return err
			}
			return last(w.Notes.Newest.Page(w.ctx, first.Next, 20))
		}},
		{
			name: "Page of 20 of 4 authors", before: func(w *world) error { return last(w.Posts.NewestByAuthor.Of(authorNames(4)...).Page(w.ctx, "", 19)) },
			do: func(w *world) error { return last(w.Posts.NewestByAuthor.Of(authorNames(4)...).Page(w.ctx, "", 20)) },
		},
		{
			name: "Page of 20 of 64 authors", before: func(w *world) error {
				return last(w.Posts.NewestByAuthor.Of(authorNames(authors)...).Page(w.ctx, "", 19))
			},
			do: func(w *world) error {
				return last(w.Posts.NewestByAuthor.Of(authorNames(authors)...).Page(w.ctx, "", 20))
			},
		},
		{name: "All", do: func(w *world) error { return through(w.Notes.Newest.All(w.ctx)) }},
		{name: "Head", do: func(w *world) error { return last(w.Notes.Newest.Head(w.ctx)) }},
		{name: "Since, with nothing new", do: func(w *world) error {
			head, err := w.Notes.Newest.Head(w.own)
			if err != nil {
				return err
			}
			return last(w.Notes.Newest.Since(w.ctx, head))
		}},
		{name: "Since, with three that are new", do: func(w *world) error {
			head, err := w.Notes.Newest.Head(w.own)
			for range 3 {
				err = errors.Join(err, w.Notes.Create(w.own, note(w.id())))
			}
			if err != nil {
				return err
			}
			return last(w.Notes.Newest.Since(w.ctx, head))
		}},
	},
}

func rewriteNote(n *Note) error { n.Text += "!"; return nil }

func guest(i int) string { return fmt.Sprintf("guest%04d", i) }
func owner(i int) string { return fmt.Sprintf("owner%04d", i) }

var events = section{
	title: "Events",
	text:  "An owner with 30 events, in each layout.",
	fill: func(w *world) (err error) {
		for i := range 30 {
			for o := range 2 {
				err = errors.Join(err,
					w.Visits.Push(w.ctx, Visit{Owner: owner(o), Guest: guest(i)}),
					w.AllPacked.Push(w.ctx, Packed{Owner: owner(o), Guest: guest(i)}),
					w.AllRinged.Push(w.ctx, Ringed{Owner: owner(o), Guest: guest(i)}))
			}
		}
		return err
	},
	rows: []row{
		{name: "Push, append", do: func(w *world) error { return w.Visits.Push(w.ctx, Visit{Owner: owner(0), Guest: guest(99)}) }},
		{name: "Push, packed", do: func(w *world) error { return w.AllPacked.Push(w.ctx, Packed{Owner: owner(0), Guest: guest(99)}) }},
		{name: "Push, ring", do: func(w *world) error { return w.AllRinged.Push(w.ctx, Ringed{Owner: owner(0), Guest: guest(99)}) }},
		{name: "Push to 500 owners, append", do: func(w *world) error {
			return w.Visits.Push(w.ctx, many(500, func(i int) Visit { return Visit{Owner: owner(i), Guest: guest(100)} })...)
		}},
		{name: "Push to 500 owners, packed", do: func(w *world) error {
			return w.AllPacked.Push(w.ctx, many(500, func(i int) Packed { return Packed{Owner: owner(i), Guest: guest(100)} })...)
		}},
		{name: "Push to 500 owners, ring", do: func(w *world) error {
			return w.AllRinged.Push(w.ctx, many(500, func(i int) Ringed { return Ringed{Owner: owner(i), Guest: guest(100)} })...)
		}},
		{name: "Latest 10, append", do: func(w *world) error { return last(w.Visits.Latest(w.ctx, owner(0), 10)) }},
		{name: "Latest 10, packed", do: func(w *world) error { return last(w.AllPacked.Latest(w.ctx, owner(0), 10)) }},
		{name: "Latest 10, ring", do: func(w *world) error { return last(w.AllRinged.Latest(w.ctx, owner(0), 10)) }},
		{name: "Unread, append", do: func(w *world) error { return last(w.Visits.Unread(w.ctx, owner(0), w.clock.Now().Add(-time.Hour))) }},
		{name: "Clear, append", do: func(w *world) error { return w.Visits.Clear(w.ctx, owner(0)) }},
		{name: "Clear, ring", do: func(w *world) error { return w.AllRinged.Clear(w.ctx, owner(0)) }},
	},
}

var cascades = section{
	title: "What goes along with a deletion",
	text:  "A record with 100 children by `list,with=`, before the reply.",
	fill: func(w *world) error {
		return errors.Join(
			w.Folders.Create(w.ctx, &Folder{ID: id(1), Text: text}),
			w.Files.CreateMulti(w.ctx, many(100, func(i int) *File { return &File{ID: id(i + 1), Folder: id(1), Text: text} })))
	},
	rows: []row{
		{name: "Delete of a record to which others belong", do: func(w *world) error { return w.Folders.Delete(w.ctx, id(1)) }},
	},
}
