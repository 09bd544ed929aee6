package ashiato

import (
	"context"
	"fmt"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/ranking"
)

// Order is the order of a ranking, as in addresses.
type Order string

// All orders but the last are by views. Days and weeks are in UTC, and a week begins on Monday.
const (
	Today     Order = "today"
	ThisWeek  Order = "week"
	LastWeek  Order = "last"
	AllTime   Order = "all"
	MostLiked Order = "liked"
)

type Placed struct {
	Entry
	Rank  int
	Score int64 // views in that time, or likes
}

// Ranks is a part of a ranking. Cursors are empty at its ends.
type Ranks struct {
	Order      Order
	Rows       []Placed
	Of         int   // number of ranked pages
	First      int64 // the score of the first page
	Next, Prev string
	Near       []Placed // the requested page, with up to two before it and two after it
}

type (
	viewBoard = ranking.Board[Page, string, int64]
	viewPlace = ranking.Place[Page, int64]
)

// board returns nil for an unknown order.
func (s *Site) board(o Order) *viewBoard {
	switch pages := s.Models.Pages; o {
	case Today:
		return pages.TopViewsPerDay
	case ThisWeek:
		return pages.TopViewsPerWeek
	case LastWeek:
		return pages.TopViewsPerWeek.On(s.now().AddDate(0, 0, -7))
	case AllTime:
		return pages.TopViews
	case MostLiked:
		return pages.TopLikes
	}
	return nil
}

// Ranking returns the pages of an order from the cursor on, and the neighbors of the page near, if
// any. It returns ErrNotFound for an unknown order, or ErrBadCursor.
func (s *Site) Ranking(ctx context.Context, o Order, cursor, near string) (*Ranks, error) {
	board := s.board(o)
	if board == nil {
		return nil, fmt.Errorf("%w: no ranking of %q", kvmodel.ErrNotFound, o)
	}
	ranks := &Ranks{Order: o}
	var table, first ranking.Table[Page, int64]
	err := s.db.SideBySide(ctx, func(ctx context.Context) (err error) {
		table, err = board.Table(ctx, cursor, pageSize)
		return err
	}, func(ctx context.Context) (err error) {
		first, err = board.Table(ctx, "", 1)
		return err
	}, func(ctx context.Context) error {
		if near == "" {
			return nil
		}
		around, err := board.Around(ctx, near, 2)
		ranks.Near = placedBy(around, nil)
		return unlessGone(err)
	})
	if err != nil {
		return nil, err
	}
	authors, err := kvmodel.Load(ctx, s.Models.Members.Records, table.Places, func(p viewPlace) string { return p.Item.Author })
	ranks.Rows = placedBy(table.Places, authors)
	ranks.Of, ranks.Next, ranks.Prev = table.Len, table.Next, table.Prev
	for _, p := range first.Places {
		ranks.First = p.Score
	}
	return ranks, err
}

func placedBy(places []viewPlace, authors map[string]*Member) (rows []Placed) {
	for _, p := range places {
		rows = append(rows, Placed{Entry: Entry{p.Item, authors[p.Item.Author]}, Rank: p.Rank, Score: p.Score})
	}
	return rows
}
