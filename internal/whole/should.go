package whole

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Should returns the correct answers, according to the records. It reads each record by its id, not
// through an index.
func (l *Library) Should(ctx context.Context) (Shown, error) {
	r, err := l.read(ctx)
	if err != nil {
		return nil, err
	}
	s := Shown{}
	r.saysIDs(s)
	r.saysFound(s)
	r.saysLists(s)
	r.saysBoards(s)
	r.saysPieces(s)
	r.saysPolls(s)
	for _, w := range r.works {
		s["Work Likes "+w.ID] = fmt.Sprint(r.likesOf(w.ID))
	}
	return s, nil
}

type truth struct {
	works   []*Work
	likes   []*Like
	offers  []*Offer
	bids    []*Bid
	tickets []*Ticket
	pieces  []*Piece
	polls   []*Poll
	votes   []*Vote
	today   map[string]int64
	now     time.Time
}

// Offers and bids with unknown ids are taken from the enumeration.
func (l *Library) read(ctx context.Context) (truth, error) {
	var r truth
	var errs [9]error
	r.works, errs[0] = live(ctx, l.Works.Records, WorkIDs)
	var edges []LikeID
	for _, user := range Users {
		for _, work := range WorkIDs {
			edges = append(edges, LikeID{user, work})
		}
	}
	r.likes, errs[1] = live(ctx, l.Likes.Records, edges)
	r.offers, errs[2] = allOf(ctx, l.Offers.Records, OfferIDs)
	r.bids, errs[6] = allOf(ctx, l.Bids.Records, OfferIDs)
	last, err := l.Tickets.Sequence.Count(ctx)
	errs[3] = err
	var numbers []int64
	for n := range last {
		numbers = append(numbers, n+1)
	}
	r.tickets, errs[4] = live(ctx, l.Tickets.Records, numbers)
	r.pieces, errs[5] = live(ctx, l.Pieces.Records, PieceIDs)
	r.polls, errs[7] = live(ctx, l.Polls.Records, PollIDs)
	var votes []VoteID
	for _, user := range Users {
		for _, poll := range PollIDs {
			votes = append(votes, VoteID{user, poll})
		}
	}
	r.votes, errs[8] = live(ctx, l.Votes.Records, votes)
	r.now, r.today = l.DB.Now(), map[string]int64{}
	today := l.DB.Now().UTC().Format("2006-01-02")
	for _, w := range r.works {
		got, err := kv.One(ctx, l.DB.Store(), kv.OpGet(kv.NewClass("per", 4).Key("Work", "TopViewsPerDay", today, w.ID)))
		if err == nil {
			r.today[w.ID], err = kv.ParseNumber(got.Value)
		}
		if err != nil && !errors.Is(err, kv.ErrNotFound) {
			return r, err
		}
	}
	return r, errors.Join(errs[:]...)
}

func allOf[T any](ctx context.Context, r *kvmodel.Records[T, string], ids []string) ([]*T, error) {
	ids = slices.Clone(ids)
	for v, err := range r.All(ctx) {
		if err == nil && !slices.Contains(ids, r.ID(v)) {
			ids = append(ids, r.ID(v))
		}
	}
	return live(ctx, r, ids)
}

func live[T any, K comparable](ctx context.Context, r *kvmodel.Records[T, K], ids []K) ([]*T, error) {
	all, err := r.GetMulti(ctx, ids)
	return slices.DeleteFunc(all, func(v *T) bool { return v == nil }), err
}

func (r *truth) saysIDs(s Shown) {
	s["Work All"] = those(r.works, workID, all)
	s["Like All"] = those(r.likes, likeID, all)
	s["Offer All"] = those(r.offers, offerID, all)
	s["Bid All"] = those(r.bids, bidID, all)
	s["Ticket All"] = those(r.tickets, ticketID, all)
	s["Piece All"] = those(r.pieces, pieceID, all)
}

func all[T any](*T) bool { return true }

func those[T any](records []*T, id func(*T) string, meant func(*T) bool) string {
	var ids []string
	for _, v := range records {
		if meant(v) {
			ids = append(ids, id(v))
		}
	}
	slices.Sort(ids)
	return strings.Join(ids, " ")
}

func (r *truth) saysFound(s Shown) {
	for _, w := range r.works {
		if w.Slug != "" {
			s["Work BySlug "+w.Slug] = w.ID
		}
	}
	for _, o := range r.offers {
		if o.Code != "" {
			s["Offer ByCode "+o.Code] = o.ID
		}
	}
}

func (r *truth) saysLists(s Shown) {
	for _, author := range Authors {
		saysList(s, "Work ByAuthor "+author, r.works, workID, func(w *Work) bool { return w.Author == author })
	}
	for _, tag := range Tags {
		saysList(s, "Work ByTags "+tag, r.works, workID, func(w *Work) bool { return slices.Contains(w.Tags, tag) })
	}
	for _, room := range Rooms {
		for shelf := range Shelves {
			saysList(s, fmt.Sprint("Work ByRoomShelf ", room, shelf), r.works, workID, func(w *Work) bool { return w.Room == room && w.Shelf == shelf })
		}
	}
	for _, user := range Users {
		saysList(s, "Like ByUser "+user, r.likes, likeID, func(v *Like) bool { return v.User == user })
	}
	for _, work := range WorkIDs {
		saysList(s, "Like ByWork "+work, r.likes, likeID, func(v *Like) bool { return v.Work == work })
	}
	for _, kind := range Kinds {
		saysList(s, "Offer ByKind "+kind, r.offers, offerID, func(o *Offer) bool { return o.Kind == kind })
	}
	for _, text := range Texts {
		saysList(s, "Ticket ByText "+text, r.tickets, ticketID, func(t *Ticket) bool { return t.Text == text })
	}
}

func saysList[T any](s Shown, name string, records []*T, id func(*T) string, meant func(*T) bool) {
	ids := those(records, id, meant)
	for _, question := range []string{" All", " IDs", " Page"} {
		s[name+question] = ids
	}
	n := fmt.Sprint(number(records, meant))
	s[name+" Size"], s[name+" Count"] = n, n
}

func (r *truth) saysBoards(s Shown) {
	price := func(w *Work) (int64, bool) { return w.Price, true }
	saysBoard(s, "Work TopPrice", r.works, workID, price, false)
	saysBoard(s, "Work TopGrade", r.works, workID, func(w *Work) (float64, bool) { return math.Round(w.Grade*100) / 100, true }, true)
	saysBoard(s, "Work Archive", r.works, workID, func(w *Work) (int64, bool) { return w.Taken.UnixMilli(), !w.Taken.IsZero() }, false)
	saysBoard(s, "Work Front", r.works, workID, func(w *Work) (int64, bool) { return w.Price + 10*r.likesOf(w.ID), true }, false)
	seen := func(w *Work) (int64, bool) { return w.Views, w.Views > 0 }
	saysBoard(s, "Work TopViews", r.works, workID, seen, false)
	today := func(w *Work) (int64, bool) { return r.today[w.ID], r.today[w.ID] > 0 }
	saysBoard(s, "Work TopViewsPerDay", r.works, workID, today, false)
	liked := Shown{}
	likes := func(w *Work) (int64, bool) { n := r.likesOf(w.ID); return n, n > 0 }
	saysBoard(liked, "Work TopLikes", r.works, workID, likes, false)
	s["Work TopLikes liked"] = liked["Work TopLikes At"]
	for _, author := range Authors {
		saysBoard(s, "Work TopPriceByAuthor "+author, r.works, workID, func(w *Work) (int64, bool) { return w.Price, w.Author == author }, false)
	}
	saysBoard(s, "Bid TopPrice", r.bids, bidID, func(b *Bid) (int64, bool) { return b.Price, true }, false)
	for _, kind := range Kinds {
		saysBoard(s, "Bid TopPriceByKind "+kind, r.bids, bidID, func(b *Bid) (int64, bool) { return b.Price, b.Kind == kind }, false)
	}
	for _, b := range bounds {
		within := func(price int64) bool { return b[0] <= price && price < b[1] }
		s[fmt.Sprint("Work TopPrice Between ", b)] = fmt.Sprint(number(r.works, func(w *Work) bool { return within(w.Price) }))
		s[fmt.Sprint("Bid TopPrice Between ", b)] = fmt.Sprint(number(r.bids, func(v *Bid) bool { return within(v.Price) }))
	}
}

func (r *truth) saysPolls(s Shown) {
	s["Poll All"], s["Vote All"] = those(r.polls, pollID, all), those(r.votes, voteID, all)
	for _, id := range PollIDs {
		saysList(s, "Vote ByPoll "+id, r.votes, voteID, func(v *Vote) bool { return v.Poll == id })
	}
	for _, p := range r.polls {
		var votes, against, score int64
		for _, v := range r.votes {
			if v.Poll != p.ID {
				continue
			}
			votes, score = votes+1, score+v.Value
			if v.Bad() {
				against++
			}
		}
		s.say("Poll Numbers "+p.ID, nil, votes, against, score)
	}
}

func (r *truth) saysPieces(s Shown) {
	s["Piece Count"] = fmt.Sprint(len(r.pieces))
	for _, p := range r.pieces {
		if p.holds(r.now) {
			question := "Piece ByMotto " + p.Motto
			s[question] = strings.TrimSpace(s[question] + " " + p.ID) // two are one too many
		}
	}
	const name = "Piece ByTags Values"
	for _, tag := range Tags {
		saysList(s, "Piece ByTags "+tag, r.pieces, pieceID, func(p *Piece) bool { return slices.Contains(p.Tags, tag) })
	}
	var there []string
	for _, tag := range append(slices.Clone(Tags), "nobody's") {
		n := number(r.pieces, func(p *Piece) bool { return slices.Contains(p.Tags, tag) })
		s[name+" Count "+tag] = fmt.Sprint(n)
		if n > 0 {
			there = append(there, fmt.Sprint(tag, "=", n))
		}
	}
	s[name+" Page"], s[name+" Words"] = strings.Join(there, " "), strings.Join(there, " ")
	s[name+" Len"], s[name+" odd order"] = fmt.Sprint(len(there)), ""

	saysBoard(s, "Piece TopStars", r.pieces, pieceID, func(p *Piece) (int64, bool) { return p.Stars, true }, false)
	saysBoard(s, "Piece Latest", r.pieces, pieceID, func(*Piece) (int, bool) { return 0, true }, false)
	s["Piece TopStars At"] = dense(s["Piece TopStars At"])
	saysBoard(s, "Piece TitleAZ", r.pieces, pieceID, func(p *Piece) (int, bool) { return inTitles(p.Title()), p.Title() != "" }, true)
	for i, with := range [][]string{{"rain", "Rainbow"}, {"réd"}} {
		name := "Piece TitleAZ Prefix "
		begins := func(p *Piece) bool { return slices.Contains(with, p.Title()) }
		s[name+prefixes[i]] = those(r.pieces, pieceID, begins)
		s[name+"Count "+prefixes[i]] = fmt.Sprint(number(r.pieces, begins))
	}
}

func dense(at string) string {
	rank := 0
	return ranks.ReplaceAllStringFunc(at, func(string) string { rank++; return fmt.Sprint(rank, ":") })
}

var ranks = regexp.MustCompile(`\d+:`)

func (r *truth) likesOf(work string) int64 {
	return int64(number(r.likes, func(v *Like) bool { return v.Work == work }))
}

func number[T any](records []*T, meant func(*T) bool) (n int) {
	for _, v := range records {
		if meant(v) {
			n++
		}
	}
	return n
}

func saysBoard[T any, S cmp.Ordered](s Shown, name string, records []*T, id func(*T) string, score func(*T) (S, bool), low bool) {
	type member struct {
		id    string
		score S
	}
	var members []member
	for _, v := range records {
		if at, in := score(v); in {
			members = append(members, member{id(v), at})
		}
	}
	slices.SortFunc(members, func(a, b member) int {
		order := cmp.Compare(b.score, a.score)
		if low {
			order = -order
		}
		return cmp.Or(order, strings.Compare(a.id, b.id))
	})
	var at, ids []string
	rank := 1
	for _, group := range groups(members, func(m member) S { return m.score }) {
		var here []string
		for _, m := range group {
			here = append(here, m.id)
		}
		ids = append(ids, here...)
		at = append(at, fmt.Sprintf("%d: %s at %v;", rank, strings.Join(here, " "), group[0].score))
		rank += len(group)
	}
	slices.Sort(ids)
	s[name+" Len"] = fmt.Sprint(len(members))
	s[name+" At"] = strings.Join(at, " ")
	s[name+" odd ranks"] = ""
	s[name+" Page"] = strings.Join(ids, " ")
}
