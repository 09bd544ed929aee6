package whole

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/timeline"
)

func (l *Library) Look(ctx context.Context) Shown {
	s := Shown{}
	l.lookAtRecords(ctx, s)
	l.lookByValue(ctx, s)
	l.lookAtBoards(ctx, s)
	l.lookAtTimelines(ctx, s)
	l.lookAtEvents(ctx, s)
	last, err := l.Tickets.Sequence.Count(ctx)
	s.say("Ticket Count", err, last)
	return s
}

func workID(w *Work) string   { return w.ID }
func offerID(o *Offer) string { return o.ID }
func bidID(b *Bid) string     { return b.ID }
func likeID(v *Like) string   { return fmt.Sprint(LikeID{v.User, v.Work}) }
func pieceID(p *Piece) string { return p.ID }
func pollID(p *Poll) string   { return p.ID }
func voteID(v *Vote) string   { return fmt.Sprint(VoteID{v.User, v.Poll}) }
func ticketID(t *Ticket) string {
	return fmt.Sprint(t.ID)
}

// The likes of a work are no part of its record.
func (l *Library) lookAtRecords(ctx context.Context, s Shown) {
	records(ctx, s, "Work", l.Works.Records, workID, func(w *Work, err error) {
		s.say("Work Likes "+w.ID, err, w.Likes)
		w.Likes = 0
		w.Created, w.Updated = w.Created.Truncate(day), w.Updated.Truncate(day)
	})
	records(ctx, s, "Like", l.Likes.Records, likeID, func(*Like, error) {})
	records(ctx, s, "Offer", l.Offers.Records, offerID, func(*Offer, error) {})
	records(ctx, s, "Bid", l.Bids.Records, bidID, func(*Bid, error) {})
	records(ctx, s, "Ticket", l.Tickets.Records, ticketID, func(*Ticket, error) {})
	records(ctx, s, "Piece", l.Pieces.Records, pieceID, func(p *Piece, _ error) { p.Made = p.Made.Truncate(day) })
	records(ctx, s, "Poll", l.Polls.Records, pollID, func(p *Poll, err error) {
		s.say("Poll Numbers "+p.ID, err, p.Votes, p.Against, p.Score)
		*p = Poll{ID: p.ID}
	})
	records(ctx, s, "Vote", l.Votes.Records, voteID, func(*Vote, error) {})
	n, err := l.Pieces.Count(ctx)
	s.say("Piece Count", err, n)
}

const day = 24 * time.Hour

func records[T any, K comparable](ctx context.Context, s Shown, name string, r *kvmodel.Records[T, K], id func(*T) string, apart func(*T, error)) {
	sayAll(s, name+" All", r.All(ctx), id, true)
	for v, err := range r.All(ctx) {
		if v == nil {
			continue
		}
		apart(v, err)
		text, _ := json.Marshal(v)
		s.say(name+" "+id(v), err, string(text))
	}
}

// LookByID reads every record by its id. [Library.Look] shows the records that All yields.
func (l *Library) LookByID(ctx context.Context, s Shown) {
	byID(ctx, s, "Work", l.Works.Records, append(WorkIDs, "later"), workID)
	byID(ctx, s, "Offer", l.Offers.Records, Numbered("f", 151), offerID)
	byID(ctx, s, "Bid", l.Bids.Records, Numbered("f", 151), bidID)
	byID(ctx, s, "Piece", l.Pieces.Records, PieceIDs, pieceID)
	byID(ctx, s, "Ticket", l.Tickets.Records, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}, ticketID)
	for _, user := range Users {
		for _, work := range WorkIDs {
			byID(ctx, s, "Like", l.Likes.Records, []LikeID{{user, work}}, likeID)
		}
	}
}

func byID[T any, K comparable](ctx context.Context, s Shown, name string, r *kvmodel.Records[T, K], ids []K, text func(*T) string) {
	for _, id := range ids {
		v, err := r.Get(ctx, id)
		if v == nil {
			s.say(fmt.Sprint(name, " Get ", id), err)
			continue
		}
		s.say(fmt.Sprint(name, " Get ", id), err, text(v))
	}
}

func (l *Library) lookByValue(ctx context.Context, s Shown) {
	for w, err := range l.Works.All(ctx) {
		if w == nil {
			s.say("Work BySlug", err)
			continue
		}
		found(ctx, s, "Work BySlug", l.Works.BySlug, w.Slug, workID)
		l.lookAtHistory(ctx, s, w.ID)
	}
	for o, err := range l.Offers.All(ctx) {
		if o == nil {
			s.say("Offer ByCode", err)
			continue
		}
		found(ctx, s, "Offer ByCode", l.Offers.ByCode, o.Code, offerID)
	}
	l.lookAtLists(ctx, s)
}

func (l *Library) Browse(ctx context.Context) { l.lookAtLists(ctx, Shown{}) }

func (l *Library) lookAtLists(ctx context.Context, s Shown) {
	for _, author := range Authors {
		list(ctx, s, "Work ByAuthor "+author, l.Works.ByAuthor.Of(author), workID)
	}
	for _, tag := range Tags {
		list(ctx, s, "Work ByTags "+tag, l.Works.ByTags.Of(tag), workID)
	}
	for _, room := range Rooms {
		for shelf := range Shelves {
			list(ctx, s, fmt.Sprint("Work ByRoomShelf ", room, shelf), l.Works.ByRoomShelf.Of(RoomShelf{room, shelf}), workID)
		}
	}
	for _, user := range Users {
		list(ctx, s, "Like ByUser "+user, l.Likes.ByUser.Of(user), likeID)
	}
	for _, work := range WorkIDs {
		list(ctx, s, "Like ByWork "+work, l.Likes.ByWork.Of(work), likeID)
	}
	for _, poll := range PollIDs {
		list(ctx, s, "Vote ByPoll "+poll, l.Votes.ByPoll.Of(poll), voteID)
	}
	for _, kind := range Kinds {
		list(ctx, s, "Offer ByKind "+kind, l.Offers.ByKind.Of(kind), offerID)
	}
	for _, tag := range Tags {
		list(ctx, s, "Piece ByTags "+tag, l.Pieces.ByTags.Of(tag), pieceID)
	}
	for _, motto := range Mottos {
		if _, err := l.Pieces.ByMotto.Find(ctx, motto); !errors.Is(err, kvmodel.ErrNotFound) {
			found(ctx, s, "Piece ByMotto", l.Pieces.ByMotto, motto, pieceID)
		}
	}
	values(ctx, s, "Piece ByTags Values", l.Pieces.ByTags.Values, Tags)
	for _, text := range Texts {
		list(ctx, s, "Ticket ByText "+text, l.Tickets.ByText.Of(text), ticketID)
	}
}

func found[T any](ctx context.Context, s Shown, name string, u *index.Unique[T, string], value string, id func(*T) string) {
	if value == "" {
		return
	}
	v, err := u.Find(ctx, value)
	if err != nil {
		s.say(name+" "+value, err)
		return
	}
	s.say(name+" "+value, nil, id(v))
}

func (l *Library) lookAtHistory(ctx context.Context, s Shown, id string) {
	revisions, err := l.Works.History.Of(ctx, id, 9)
	var texts []string
	for _, r := range revisions {
		text := fmt.Sprint(r.Rev, " gone")
		if r.Item != nil {
			text = fmt.Sprint(r.Rev, " ", strings.Join(r.Item.Marks, "+"))
		}
		texts = append(texts, text)
	}
	s.say("Work History "+id, err, strings.Join(texts, "; "))
}

func (l *Library) lookAtBoards(ctx context.Context, s Shown) {
	w := l.Works
	board(ctx, s, "Work TopPrice", w.TopPrice, workID)
	board(ctx, s, "Work TopGrade", w.TopGrade, workID)
	boardBy(ctx, s, "Work Archive", w.Archive, workID, time.Time.UnixMilli)
	board(ctx, s, "Work TopViews", w.TopViews, workID)
	board(ctx, s, "Work TopLikes", w.TopLikes, workID)
	// A work without likes may be there with 0 likes.
	s["Work TopLikes liked"] = atZero.ReplaceAllString(s["Work TopLikes At"], "")
	board(ctx, s, "Work Front", w.Front, workID)
	board(ctx, s, "Work TopViewsPerDay", w.TopViewsPerDay, workID)
	for _, author := range Authors {
		board(ctx, s, "Work TopPriceByAuthor "+author, w.TopPriceByAuthor.Of(author), workID)
	}
	board(ctx, s, "Bid TopPrice", l.Bids.TopPrice, bidID)
	for _, kind := range Kinds {
		board(ctx, s, "Bid TopPriceByKind "+kind, l.Bids.TopPriceByKind.Of(kind), bidID)
	}
	board(ctx, s, "Piece TopStars", l.Pieces.TopStars, pieceID)
	boardBy(ctx, s, "Piece Latest", l.Pieces.Latest, pieceID, func(int64) int { return 0 })
	boardBy(ctx, s, "Piece TitleAZ", l.Pieces.TitleAZ, pieceID, inTitles)
	for _, prefix := range prefixes {
		sayAll(s, "Piece TitleAZ Prefix "+prefix, pages(ctx, l.Pieces.TitleAZ.Prefix(prefix), 4), pieceID, true)
		n, err := l.Pieces.TitleAZ.Prefix(prefix).Count(ctx)
		s.say("Piece TitleAZ Prefix Count "+prefix, err, n)
	}
	for _, bounds := range bounds {
		n, err := w.TopPrice.Between(bounds[0], bounds[1]).Count(ctx)
		s.say(fmt.Sprint("Work TopPrice Between ", bounds), err, n)
		n, err = l.Bids.TopPrice.Between(bounds[0], bounds[1]).Count(ctx)
		s.say(fmt.Sprint("Bid TopPrice Between ", bounds), err, n)
	}
}

var atZero = regexp.MustCompile(` ?\d+: [^;]* at 0;$`)

func inTitles(title string) int { return slices.Index(Titles, title) }

var prefixes = []string{"RAIN", "rê"}

var bounds = [][2]int64{{-100, 5}, {5, 20}, {20, 1000}}

func (l *Library) lookAtTimelines(ctx context.Context, s Shown) {
	ring := func(name string, r *timeline.Ring[Work]) {
		sayAll(s, name, r.All(ctx), workID, false)
		sayAll(s, name+" Page", pages(ctx, r, 3), workID, false)
	}
	ring("Work Newest", l.Works.Newest)
	ring("Work Notes", l.Works.Notes)
	for _, author := range Authors {
		ring("Work NewestByAuthor "+author, l.Works.NewestByAuthor.Of(author))
	}
	ring("Work NewestByAuthor of all", l.Works.NewestByAuthor.Of(Authors...))
}

func (l *Library) lookAtEvents(ctx context.Context, s Shown) {
	for _, owner := range Owners {
		events(ctx, s, "Visit "+owner, l.Visits, owner, func(v Visit) string { return v.Guest })
		events(ctx, s, "Glance "+owner, l.Glances, owner, func(v Glance) string { return v.Guest })
		events(ctx, s, "Notice "+owner, l.Notices, owner, func(v Notice) string { return v.Text })
		events(ctx, s, "Shot "+owner, l.Shots, owner, func(v Shot) string { return v.Text })
	}
}

func events[T any, E interface {
	Latest(context.Context, string, int) ([]T, error)
}](ctx context.Context, s Shown, name string, e E, owner string, text func(T) string) {
	latest, err := e.Latest(ctx, owner, 10)
	var texts []string
	for _, v := range latest {
		texts = append(texts, text(v))
	}
	s.say(name, err, strings.Join(texts, " "))
}
