package ashiato

import (
	"context"
	"errors"
	"fmt"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/ranking"
)

// Period is what a ranking counts the views of: Today, ThisWeek, or AllTime.
type Period string

// The periods, as they stand in addresses. A day is one of UTC; the week is today
// and the six days before.
const (
	Today    Period = "today"
	ThisWeek Period = "week"
	AllTime  Period = "all"
)

const (
	weekDays   = 7
	weekRanked = 100 // how many places the ranking of the week has
)

// Placed is a page at its place in a ranking.
type Placed struct {
	Entry
	Rank  int
	Score int64 // its views in the period
}

// Ranks is a part of a ranking.
type Ranks struct {
	Period Period
	Rows   []Placed
	Of     int // how many pages are ranked

	// From where the parts around this one begin; 0: there is none.
	Next, Prev int
}

// Ranking returns the most viewed pages of a period, from the place from on,
// which is 1 for the first; a place below counts as 1, and behind the last there
// are no Rows. The ranking of the week ends with the hundredth. ErrNotFound for a
// period that there is not.
func (s *Site) Ranking(ctx context.Context, p Period, from int) (*Ranks, error) {
	r := &Ranks{Period: p}
	from = max(from, 1)
	places, of, err := s.places(ctx, p, from)
	if err != nil {
		return nil, err
	}
	if r.Rows, err = s.placed(ctx, places); err != nil {
		return nil, err
	}
	r.Of = max(of, from+len(places)-1)
	if from > 1 {
		r.Prev = max(1, from-pageSize)
	}
	if next := from + pageSize; len(places) == pageSize && next <= r.Of {
		r.Next = next
	}
	return r, nil
}

type viewPlace = ranking.Place[Page, int64]

// places returns the places from from on, and how many there are in all.
func (s *Site) places(ctx context.Context, p Period, from int) (places []viewPlace, of int, err error) {
	switch p {
	case AllTime:
		return boardPlaces(ctx, s.Models.Pages.TopViews, from)
	case Today:
		return boardPlaces(ctx, s.Models.Pages.TopViewsPerDay.On(s.now()), from)
	case ThisWeek:
		all, err := s.week(ctx, weekRanked)
		begin, end := min(from-1, len(all)), min(from-1+pageSize, len(all))
		return all[begin:end], len(all), err
	}
	return nil, 0, fmt.Errorf("%w: a ranking of %q", kvmodel.ErrNotFound, p)
}

// week returns the first n places of this week.
func (s *Site) week(ctx context.Context, n int) ([]viewPlace, error) {
	places, err := s.Models.Pages.TopViewsPerDay.Last(ctx, weekDays, n)
	for i := range places {
		places[i].Rank = i + 1
	}
	return places, err
}

func boardPlaces(ctx context.Context, board *ranking.Board[Page, string, int64], from int) (places []viewPlace, of int, err error) {
	err = SideBySide(ctx, func(ctx context.Context) (err error) {
		places, err = board.At(ctx, from, pageSize)
		return err
	}, func(ctx context.Context) (err error) {
		of, err = board.Len(ctx)
		return err
	})
	return places, of, err
}

// placed returns places with the authors of the pages. One trip.
func (s *Site) placed(ctx context.Context, places []viewPlace) ([]Placed, error) {
	authors, err := kvmodel.Load(ctx, s.Models.Members.Records, places, func(p viewPlace) string { return p.Item.Author })
	if err != nil {
		return nil, err
	}
	return placedBy(places, authors), nil
}

func placedBy(places []viewPlace, authors map[string]*Member) []Placed {
	rows := make([]Placed, len(places))
	for i, p := range places {
		rows[i] = Placed{Entry{p.Item, authors[p.Item.Author]}, p.Rank, p.Score}
	}
	return rows
}

// Place is where a page stands in the ranking by all views.
type Place struct {
	Page       *Page
	Rank, Of   int
	Percentile float64  // the share of pages behind it, 0 to 100
	Around     []Placed // it and up to two before and behind it
	ToRise     int64    // how many views more than it the next one before it has; 0: it is first
}

// Place returns where the page with that slug stands. ErrNotFound if there is
// no such page, or if nobody has looked at it.
func (s *Site) Place(ctx context.Context, slug string) (*Place, error) {
	page, err := s.Models.Pages.BySlug.Find(ctx, slug)
	if err != nil {
		return nil, err
	}
	place := &Place{Page: page}
	err = SideBySide(ctx, func(ctx context.Context) error {
		standing, err := s.Models.Pages.TopViews.Standing(ctx, page.ID)
		place.Rank, place.Of, place.Percentile = standing.Rank, standing.Len, standing.Percentile
		return err
	}, func(ctx context.Context) error {
		around, err := s.Models.Pages.TopViews.Around(ctx, page.ID, 2)
		if err != nil {
			return err
		}
		place.ToRise = toRise(around, page.ID)
		place.Around, err = s.placed(ctx, around)
		return err
	})
	if err != nil {
		return nil, err
	}
	return place, nil
}

// toRise returns by how much the last one that stands before the page with id,
// and has more, is ahead of it.
func toRise(around []viewPlace, id string) int64 {
	ahead := int64(0)
	for i, p := range around {
		if p.Item.ID == id && i > 0 {
			ahead = around[i-1].Score - p.Score
		}
	}
	return ahead
}

// standing returns where the page with id stands in the ranking by all views; 0
// of so many, if it is not ranked yet.
func (s *Site) standing(ctx context.Context, id string) (rank, of int, err error) {
	standing, err := s.Models.Pages.TopViews.Standing(ctx, id)
	if errors.Is(err, kvmodel.ErrNotFound) {
		return 0, 0, nil
	}
	return standing.Rank, standing.Len, err
}
