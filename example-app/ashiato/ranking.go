package ashiato

import (
	"context"
	"errors"
	"fmt"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/ranking"
)

// Order is what a ranking of the pages goes by: Today, ThisWeek, AllTime or MostLiked.
type Order string

// The orders, as addresses name them. The first three go by views. Days and weeks are
// in UTC, and a week begins on Monday.
const (
	Today     Order = "today"
	ThisWeek  Order = "week"
	AllTime   Order = "all"
	MostLiked Order = "liked"
)

// Placed is a page with its rank.
type Placed struct {
	Entry
	Rank  int
	Score int64 // its views in that time, or its likes

	// How it has moved since the day or the week before: Up is how many ranks, and
	// negative if it has fallen. New says that it was not ranked then. Without Known
	// that is not known.
	Up         int
	New, Known bool
}

// Ranks is a part of a ranking, with the cursors of the parts after and before it.
type Ranks struct {
	Order      Order
	Rows       []Placed
	Of         int   // how many pages are ranked
	First      int64 // the score of the first page
	Next, Prev string
	Near       []Placed // the page that was asked for, with up to two before it and two behind it
	Rebuilding bool     // it has no rows, because its index has to be rebuilt first
}

type (
	viewBoard = ranking.Board[Page, string, int64]
	viewPlace = ranking.Place[Page, int64]
)

// board returns the board of an order, and what it was in the day or the week before: nil
// if that is not kept.
func (s *Site) board(o Order) (now, before *viewBoard, err error) {
	pages := s.Models.Pages
	switch o {
	case Today:
		return pages.TopViewsPerDay, pages.TopViewsPerDay.On(s.now().AddDate(0, 0, -1)), nil
	case ThisWeek:
		return pages.TopViewsPerWeek, pages.TopViewsPerWeek.On(s.now().AddDate(0, 0, -7)), nil
	case AllTime:
		return pages.TopViews, nil, nil
	case MostLiked:
		return pages.TopLikes, nil, nil
	}
	return nil, nil, fmt.Errorf("%w: no ranking of %q", kvmodel.ErrNotFound, o)
}

// Ranking returns the first pages of an order, from the cursor on, and the neighbors of
// the page with the id near, unless that is empty or not ranked. It returns ErrNotFound
// for an unknown order, or ErrBadCursor.
func (s *Site) Ranking(ctx context.Context, o Order, cursor, near string) (*Ranks, error) {
	now, before, err := s.board(o)
	if err != nil {
		return nil, err
	}
	ranks := &Ranks{Order: o}
	var table, first ranking.Table[Page, int64]
	var moves movement
	err = s.db.SideBySide(ctx, func(ctx context.Context) (err error) {
		table, err = now.Table(ctx, cursor, pageSize)
		return orRebuilding(&ranks.Rebuilding, err)
	}, func(ctx context.Context) (err error) {
		if cursor != "" {
			first, err = now.Table(ctx, "", 1)
		}
		return unlessRebuilding(err)
	}, func(ctx context.Context) (err error) {
		ranks.Near, err = neighbors(ctx, now, near)
		return err
	}, func(ctx context.Context) (err error) {
		moves, err = movementSince(ctx, before)
		return err
	})
	if err != nil {
		return nil, err
	}
	authors, err := kvmodel.Load(ctx, s.Models.Members.Records, table.Places, func(p viewPlace) string { return p.Item.Author })
	if err != nil {
		return nil, err
	}
	ranks.Rows = placedBy(table.Places, authors)
	ranks.Of, ranks.Next, ranks.Prev = table.Len, table.Next, table.Prev
	if cursor == "" {
		first = table
	}
	ranks.First = firstScore(first)
	moves.note(ranks.Rows)
	moves.note(ranks.Near)
	return ranks, nil
}

func placedBy(places []viewPlace, authors map[string]*Member) []Placed {
	rows := make([]Placed, len(places))
	for i, p := range places {
		rows[i] = Placed{Entry: Entry{p.Item, authors[p.Item.Author]}, Rank: p.Rank, Score: p.Score}
	}
	return rows
}

// firstScore returns the score of the first page of a table; 0 if it has none.
func firstScore(t ranking.Table[Page, int64]) int64 {
	if len(t.Places) == 0 {
		return 0
	}
	return t.Places[0].Score
}

// neighbors returns the page with that id, with up to two on either side of it and
// without authors. It returns nothing if the page is not on the board.
func neighbors(ctx context.Context, b *viewBoard, id string) ([]Placed, error) {
	if id == "" {
		return nil, nil
	}
	around, err := b.Around(ctx, id, 2)
	return placedBy(around, nil), unlessRebuilding(unlessGone(err))
}

// movement is where pages stood in the day or the week before.
type movement struct {
	ranks map[string]int
	all   bool // it has all pages that were ranked then
}

// remembered is how many ranks a movement goes by. Of a page that was further down it is
// not known how far it has moved.
const remembered = 100

func movementSince(ctx context.Context, before *viewBoard) (movement, error) {
	if before == nil {
		return movement{}, nil
	}
	ids, next, err := before.IDs(ctx, "", remembered)
	m := movement{ranks: make(map[string]int, len(ids)), all: next == ""}
	for i, id := range ids {
		m.ranks[id] = i + 1
	}
	return m, unlessRebuilding(err)
}

// note fills in how rows have moved. Where nothing was ranked before, nothing has.
func (m movement) note(rows []Placed) {
	if len(m.ranks) == 0 {
		return
	}
	for i, row := range rows {
		was, ranked := m.ranks[row.ID]
		rows[i].Known, rows[i].New = ranked || m.all, !ranked && m.all
		if ranked {
			rows[i].Up = was - row.Rank
		}
	}
}

// standing returns the rank of the page with id by all views, and how many pages
// are ranked. Both are 0 if the page is not ranked yet, or the ranking has to be rebuilt
// first.
func (s *Site) standing(ctx context.Context, id string) (rank, of int, err error) {
	standing, err := s.Models.Pages.TopViews.Standing(ctx, id)
	if errors.Is(err, kvmodel.ErrNotFound) || errors.Is(err, kvmodel.ErrNeedsRebuild) {
		return 0, 0, nil
	}
	return standing.Rank, standing.Len, err
}
