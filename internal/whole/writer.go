package whole

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
)

// Writer makes random changes of every class. Most works are shared by all writers. Nobody but its
// writer creates, deletes, views or likes a writer's own work, so the writer knows the results
// of its writes.
type Writer struct {
	name  string
	l     *Library
	rng   *rand.Rand
	diary *Diary
	calls int

	own      string
	likes    map[string]bool
	unclear  bool // an edge of its own work may or may not exist
	latePush bool // an event of its own may still arrive

	// Within limits a call; nil: to 10 seconds.
	Within func(context.Context) (context.Context, context.CancelFunc)
}

const ownWorks = 4

// NewWriter returns writer number n, which records its calls in d.
func NewWriter(l *Library, n int, rng *rand.Rand, d *Diary) *Writer {
	return &Writer{
		name: fmt.Sprint("p", n), l: l, rng: rng, diary: d,
		own: WorkIDs[len(WorkIDs)-ownWorks+n%ownWorks], likes: map[string]bool{},
	}
}

const callTime = 10 * time.Second

func (w *Writer) Step(ctx context.Context) {
	within := w.Within
	if within == nil {
		within = func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, callTime)
		}
	}
	ctx, cancel := within(ctx)
	defer cancel()
	w.calls++
	at := w.rng.IntN(100)
	for _, c := range choices {
		if at -= c.odds; at < 0 {
			c.call(w, ctx)
			return
		}
	}
}

var choices = []struct {
	odds int
	call func(*Writer, context.Context)
}{
	{8, (*Writer).makeWork},
	{2, (*Writer).makeWorks},
	{10, (*Writer).editWork},
	{5, (*Writer).wavering},
	{6, (*Writer).deleteWork},
	{4, (*Writer).restoreWork},
	{8, (*Writer).hit},
	{10, (*Writer).like},
	{8, (*Writer).unlike},
	{6, (*Writer).offer},
	{3, (*Writer).withdraw},
	{2, (*Writer).touch},
	{5, (*Writer).piece},
	{6, (*Writer).vote},
	{2, (*Writer).smash},
	{9, (*Writer).Ticket},
	{3, (*Writer).push},
	{3, (*Writer).read},
}

func (w *Writer) token() string { return fmt.Sprint(w.name, "-", w.calls) }

func pick[V any](w *Writer, from []V) V { return from[w.rng.IntN(len(from))] }

func (w *Writer) work() string {
	if w.rng.IntN(4) == 0 {
		return w.own
	}
	return pick(w, WorkIDs[:len(WorkIDs)-ownWorks])
}

func (w *Writer) note(what, about string, f func() error) error {
	return w.diary.do(w.name, what, about, w.token(), f)
}

func (w *Writer) fill(v *Work) {
	v.Slug = pick(w, []string{"", "s1", "s2", "s3", v.ID})
	v.Author, v.Room, v.Shelf = pick(w, append(Authors, "")), pick(w, Rooms), w.rng.IntN(Shelves)
	v.Tags = w.tags()
	v.Title, v.Note = w.token(), pick(w, []string{"", "a", "b"})
	v.Price, v.Grade = pick(w, []int64{-3, 1, 4, 7, 15, 40}), pick(w, []float64{0.5, 1.25, 3})
	v.Taken = pick(w, []time.Time{{}, time.Unix(1000, 0), time.Unix(2000, 0)})
}

func (w *Writer) tags() []string {
	return slices.Compact(slices.Sorted(slices.Values([]string{pick(w, Tags), pick(w, Tags)})))
}

func (w *Writer) makeWork(ctx context.Context) {
	v := &Work{ID: w.work(), Marks: []string{w.token()}}
	w.fill(v)
	err := w.note("make", v.ID, func() error { return w.l.Works.Create(ctx, v) })
	if taken := (*kvmodel.TakenError)(nil); errors.As(err, &taken) {
		v.Slug = ""
		_ = w.note("make", v.ID, func() error { return w.l.Works.Create(ctx, v) })
	}
}

func (w *Writer) makeWorks(ctx context.Context) {
	shared := WorkIDs[:len(WorkIDs)-ownWorks]
	i := w.rng.IntN(len(shared) - 1)
	a, b := &Work{ID: shared[i], Marks: []string{w.token()}}, &Work{ID: shared[i+1], Marks: []string{w.token()}}
	w.fill(a)
	w.fill(b)
	var err error
	_ = w.note("make", a.ID, func() error {
		_ = w.note("make", b.ID, func() error {
			err = w.l.Works.CreateMulti(ctx, []*Work{a, b})
			return ofItem(err, 1)
		})
		return ofItem(err, 0)
	})
}

func ofItem(err error, index int) error {
	all, _ := err.(interface{ Unwrap() []error })
	if all == nil {
		return nil
	}
	for _, err := range all.Unwrap() {
		if item := (*kvmodel.ItemError)(nil); errors.As(err, &item) && item.Index == index {
			return item.Err
		}
	}
	return nil
}

func (w *Writer) editWork(ctx context.Context) {
	var next Work
	w.fill(&next)
	all, part := w.rng.IntN(3) == 0, w.rng.IntN(6)
	id := w.work()
	_ = w.note("edit", id, func() error {
		_, err := w.l.Works.Update(ctx, id, func(v *Work) error {
			if all || part == 0 {
				v.Title = next.Title
			}
			if all || part == 1 {
				v.Price, v.Grade = next.Price, next.Grade
			}
			if all || part == 2 {
				v.Tags, v.Author = next.Tags, next.Author
			}
			if all || part == 3 {
				v.Room, v.Shelf, v.Note, v.Taken = next.Room, next.Shelf, next.Note, next.Taken
			}
			if part == 4 {
				v.Slug = next.Slug
			}
			v.Marks = w.marked(v.Marks)
			return nil
		})
		return err
	})
}

func (w *Writer) marked(marks []string) []string {
	marks = append(marks, w.token())
	return marks[max(0, len(marks)-3):]
}

var errWavered = errors.New("it has decided otherwise")

// wavering makes a change that decides differently after a lost race.
func (w *Writer) wavering(ctx context.Context) {
	id, price, then := w.work(), pick(w, []int64{100, -100}), w.rng.IntN(3)
	_ = w.note("waver", id, func() error {
		tries := 0
		_, err := w.l.Works.Update(ctx, id, func(v *Work) error {
			switch tries++; {
			case tries == 1:
				v.Price, v.Grade = price, 9
			case then == 0:
				return errWavered
			case then == 1:
				v.Price = 6
			}
			v.Marks = w.marked(v.Marks)
			return nil
		})
		return err
	})
}

func (w *Writer) deleteWork(ctx context.Context) {
	id := w.work()
	_ = w.note("delete", id, func() error { return w.l.Works.Delete(ctx, id) })
}

func (w *Writer) restoreWork(ctx context.Context) {
	id := w.work()
	revisions, err := w.l.Works.History.Of(ctx, id, 5)
	if err != nil || len(revisions) == 0 {
		return
	}
	rev := pick(w, revisions).Rev
	_ = w.note("restore", id, func() error {
		_, err := w.l.Works.History.Restore(ctx, id, rev)
		return err
	})
}

func (w *Writer) hit(ctx context.Context) {
	id := w.work()
	_ = w.note("hit", id, func() error {
		_, err := w.l.Works.Views.Hit(ctx, id)
		return err
	})
}

func (w *Writer) like(ctx context.Context) {
	v := &Like{User: pick(w, Users), Work: w.work()}
	err := w.note("like", v.User+" "+v.Work, func() error { return w.l.Likes.Create(ctx, v) })
	w.liked(ctx, v, err, true)
}

func (w *Writer) unlike(ctx context.Context) {
	v := &Like{User: pick(w, Users), Work: w.work()}
	err := w.note("unlike", v.User+" "+v.Work, func() error { return w.l.Likes.Delete(ctx, LikeID{v.User, v.Work}) })
	w.liked(ctx, v, err, false)
}

// liked requires that the writer reads its own writes.
func (w *Writer) liked(ctx context.Context, v *Like, err error, is bool) {
	if v.Work != w.own {
		return
	}
	switch {
	case err == nil && is:
		w.likes[v.User] = true
	case err == nil:
		delete(w.likes, v.User)
	case !errors.Is(err, kvmodel.ErrExists) && !errors.Is(err, kvmodel.ErrNotFound):
		w.unclear = true
	}
	if err == nil && !w.unclear {
		w.readLikes(ctx)
	}
}

func (w *Writer) readLikes(ctx context.Context) {
	list := w.l.Likes.ByWork.Of(w.own)
	if n, err := list.Size(ctx); err == nil && n != len(w.likes) {
		w.diary.blame(w.name, "Size of the likes of %s: want %d, got %d", w.own, len(w.likes), n)
	}
	if n, err := list.Count(ctx); err == nil && n != len(w.likes) {
		w.diary.blame(w.name, "Count of the likes of %s: want %d, got %d", w.own, len(w.likes), n)
	}
	// If an addition was not answered, Likes is in doubt until it has been recounted, and Stats
	// reports that. Size and Count are not affected.
	doubts := w.l.DB.Stats().InDoubt
	v, err := w.l.Works.Get(ctx, w.own)
	doubts += w.l.DB.Stats().InDoubt
	if err == nil && doubts == 0 && v.Likes != int64(len(w.likes)) {
		w.diary.blame(w.name, "Likes of %s: want %d, got %d", w.own, len(w.likes), v.Likes)
	}
}

func (w *Writer) offer(ctx context.Context) {
	o := &Offer{ID: pick(w, OfferIDs), Code: pick(w, []string{"", "c1", "c2"}), Kind: pick(w, Kinds)}
	if w.rng.IntN(2) == 0 {
		o.Until = w.until()
	}
	_ = w.note("put", o.ID, func() error { return w.l.Offers.Put(ctx, o) })
	b := &Bid{ID: o.ID, Kind: o.Kind, Price: pick(w, []int64{2, 5, 30})}
	_ = w.note("bid", b.ID, func() error { return w.l.Bids.Put(ctx, b) })
}

// Some offers expire while the writers work, and some while a dead one is repaired.
func (w *Writer) until() time.Time {
	return w.l.DB.Now().Add(pick(w, []time.Duration{20 * time.Second, time.Hour, 100 * time.Hour}))
}

func (w *Writer) touch(ctx context.Context) {
	id, until := pick(w, OfferIDs), w.until()
	_ = w.note("touch", id, func() error { return w.l.Offers.Touch(ctx, id, until) })
}

func (w *Writer) withdraw(ctx context.Context) {
	id := pick(w, OfferIDs)
	_ = w.note("withdraw", id, func() error { return w.l.Offers.Delete(ctx, id) })
	_ = w.note("unbid", id, func() error { return w.l.Bids.Delete(ctx, id) })
}

func (w *Writer) piece(ctx context.Context) {
	id, tags, stars := pick(w, PieceIDs), w.tags(), w.rng.Int64N(5)
	motto := append(Mottos, "")[stars%3]
	put := func() error {
		_, err := w.l.Pieces.Upsert(ctx, id, func(p *Piece) error {
			if p.Made.IsZero() && len(tags) > 1 {
				p.Made = w.l.DB.Now().Add(time.Duration(stars)*time.Second - mottoHeld)
			}
			p.Tags, p.Stars, p.Motto = tags, stars, motto
			return nil
		})
		return err
	}
	if taken := (*kvmodel.TakenError)(nil); errors.As(w.note("piece", id, put), &taken) {
		motto = ""
		_ = w.note("piece", id, put)
	}
}

func (w *Writer) smash(ctx context.Context) {
	id := pick(w, PieceIDs)
	_ = w.note("smash", id, func() error { return w.l.Pieces.Delete(ctx, id) })
}

func (w *Writer) vote(ctx context.Context) {
	v := &Vote{User: pick(w, Users), Poll: pick(w, PollIDs), Value: w.rng.Int64N(7) - 3}
	about := v.User + " " + v.Poll
	switch w.rng.IntN(8) {
	case 0:
		_ = w.note("unvote", about, func() error { return w.l.Votes.Delete(ctx, VoteID{v.User, v.Poll}) })
	case 1, 2:
		_ = w.note("poll", v.Poll, func() error { return w.l.Polls.Put(ctx, &Poll{ID: v.Poll}) })
	default:
		_ = w.note("vote", about, func() error { return w.l.Votes.Put(ctx, v) })
	}
}

// Ticket takes a ticket, and may tear up one of those that exist.
func (w *Writer) Ticket(ctx context.Context) {
	v := &Ticket{Text: pick(w, Texts)}
	if w.note("ticket", v.Text, func() error { return w.l.Tickets.Create(ctx, v) }) == nil {
		_ = w.note("numbered", fmt.Sprint(v.ID), func() error { return nil })
	}
	if v.ID > 1 && w.rng.IntN(2) == 0 {
		id := 1 + w.rng.Int64N(v.ID)
		_ = w.note("tear", fmt.Sprint(id), func() error { return w.l.Tickets.Delete(ctx, id) })
	}
}

// The owner is known only to this writer.
func (w *Writer) push(ctx context.Context) {
	owner, text := w.name, w.token()
	err := w.note("push", owner, func() error {
		return errors.Join(
			w.l.Visits.Push(ctx, Visit{Owner: owner, Guest: text}), w.l.Glances.Push(ctx, Glance{Owner: owner, Guest: text}),
			w.l.Notices.Push(ctx, Notice{To: owner, Text: text, About: text}), w.l.Shots.Push(ctx, Shot{Of: owner, Text: text}))
	})
	// An event without an answer may still arrive, above later ones.
	if w.latePush = w.latePush || err != nil; w.latePush {
		return
	}
	s := Shown{}
	events(ctx, s, "visits", w.l.Visits, owner, func(v Visit) string { return v.Guest })
	events(ctx, s, "glances", w.l.Glances, owner, func(v Glance) string { return v.Guest })
	events(ctx, s, "notices", w.l.Notices, owner, func(v Notice) string { return v.Text })
	events(ctx, s, "shots", w.l.Shots, owner, func(v Shot) string { return v.Text })
	for name, got := range s {
		if first, _, _ := strings.Cut(got, " "); first != text && first != "error:" {
			w.diary.blame(w.name, "%s of %s: want %s first, got %s", name, owner, text, got)
		}
	}
}

// read requires that listings show only records that belong there, once.
func (w *Writer) read(ctx context.Context) {
	author, tag := pick(w, Authors), pick(w, Tags)
	seen := map[string]bool{}
	for v, err := range w.l.Works.ByTags.Of(tag).All(ctx) {
		if err != nil {
			break
		}
		if seen[v.ID] || !slices.Contains(v.Tags, tag) {
			w.diary.blame(w.name, "the list of %s shows %s twice, or with %v", tag, v.ID, v.Tags)
		}
		seen[v.ID] = true
	}
	if page, err := w.l.Works.NewestByAuthor.Of(author).Page(ctx, "", 20); err == nil {
		w.once(page.Items, "timeline of "+author, func(v *Work) bool { return v.Author == author })
	}
	if places, err := w.l.Works.TopPrice.At(ctx, 1, 20); err == nil {
		var items []*Work
		for _, p := range places {
			if p.Score != p.Item.Price {
				w.diary.blame(w.name, "the board shows %s at %d with price %d", p.Item.ID, p.Score, p.Item.Price)
			}
			items = append(items, p.Item)
		}
		w.once(items, "board", func(*Work) bool { return true })
	}
	if v, err := w.l.Works.BySlug.Find(ctx, "s1"); err == nil && v.Slug != "s1" {
		w.diary.blame(w.name, "found by s1: %s with %s", v.ID, v.Slug)
	}
}

func (w *Writer) once(items []*Work, where string, belongs func(*Work) bool) {
	seen := map[string]bool{}
	for _, v := range items {
		if seen[v.ID] || !belongs(v) {
			w.diary.blame(w.name, "the %s shows %s, seen before: %t", where, v.ID, seen[v.ID])
		}
		seen[v.ID] = true
	}
}
