package ashiato

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/ranking"
)

// Period is the time in which a ranking counts views: Today, ThisWeek, or AllTime.
type Period string

// The periods, as addresses name them. Days are in UTC. The week is today and the
// six days before.
const (
	Today    Period = "today"
	ThisWeek Period = "week"
	AllTime  Period = "all"
)

const (
	weekDays   = 7
	weekRanked = 100 // how many pages the ranking of the week has
)

// Placed is a page with its rank.
type Placed struct {
	Entry
	Rank  int
	Score int64 // its views in the period
}

// Ranks is a part of a ranking, with the cursors of the parts after and before it.
type Ranks struct {
	Period     Period
	Rows       []Placed
	Of         int // how many pages are ranked
	Next, Prev string
	Rebuilding bool // it has no rows, because its index has to be rebuilt first
}

// Ranking returns the most viewed pages of a period, from the cursor on. The
// ranking of the week ends with the 100th page. It returns ErrNotFound for an
// unknown period, or ErrBadCursor.
func (s *Site) Ranking(ctx context.Context, p Period, cursor string) (*Ranks, error) {
	ranks := &Ranks{Period: p}
	table, err := s.table(ctx, p, cursor)
	if err := orRebuilding(&ranks.Rebuilding, err); err != nil {
		return nil, err
	}
	if ranks.Rows, err = s.placed(ctx, table.Places); err != nil {
		return nil, err
	}
	ranks.Of, ranks.Next, ranks.Prev = table.Len, table.Next, table.Prev
	return ranks, nil
}

type (
	viewPlace = ranking.Place[Page, int64]
	viewTable = ranking.Table[Page, int64]
)

func (s *Site) table(ctx context.Context, p Period, cursor string) (viewTable, error) {
	switch p {
	case AllTime:
		return s.Models.Pages.TopViews.Table(ctx, cursor, pageSize)
	case Today:
		return s.Models.Pages.TopViewsPerDay.On(s.now()).Table(ctx, cursor, pageSize)
	case ThisWeek:
		return s.weekTable(ctx, cursor)
	}
	return viewTable{}, fmt.Errorf("%w: no ranking of %q", kvmodel.ErrNotFound, p)
}

// weekTable returns a part of the week's ranking. Its cursors hold how many pages
// come before that part.
func (s *Site) weekTable(ctx context.Context, cursor string) (viewTable, error) {
	before, err := weekStart(cursor)
	if err != nil {
		return viewTable{}, err
	}
	all, err := s.week(ctx, weekRanked)
	begin, end := min(before, len(all)), min(before+pageSize, len(all))
	t := viewTable{Places: all[begin:end], Len: len(all)}
	if end < len(all) {
		t.Next = weekCursor(end)
	}
	if before > 0 {
		t.Prev = weekCursor(max(0, before-pageSize))
	}
	return t, err
}

const weekListing = "Page.Week"

func weekCursor(before int) string {
	return kvmodel.Cursor(weekListing, strconv.AppendInt(nil, int64(before), 10))
}

func weekStart(cursor string) (before int, err error) {
	if cursor == "" {
		return 0, nil
	}
	text, err := kvmodel.ParseCursor(weekListing, cursor)
	if err != nil {
		return 0, err
	}
	before, err = strconv.Atoi(string(text))
	if err != nil || before < 0 || before > weekRanked {
		return 0, fmt.Errorf("%w: past the end of the week's ranking", kvmodel.ErrBadCursor)
	}
	return before, nil
}

// week returns the top n pages of this week. Where very many have nearly as many
// views, another page may belong among the last of them.
func (s *Site) week(ctx context.Context, n int) ([]viewPlace, error) {
	places, _, err := s.Models.Pages.TopViewsPerDay.Last(ctx, weekDays, n)
	for i := range places {
		places[i].Rank = i + 1
	}
	return places, err
}

// placed returns places with the authors of their pages. One trip.
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
	Around     []Placed // the page, with up to two before it and two behind it
	ToRise     int64    // how many views the page before it is ahead; 0 if it is first
}

// Place returns where the page with that slug stands. It returns ErrNotFound if
// there is no such page, or if nobody has viewed it.
func (s *Site) Place(ctx context.Context, slug string) (*Place, error) {
	page, err := s.Models.Pages.BySlug.Find(ctx, normal(slug))
	if err != nil {
		return nil, err
	}
	place := &Place{Page: page}
	err = s.db.SideBySide(ctx, func(ctx context.Context) error {
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

// toRise returns how many views the page before the one with id is ahead, 0 if
// there is none.
func toRise(around []viewPlace, id string) int64 {
	at := slices.IndexFunc(around, func(p viewPlace) bool { return p.Item.ID == id })
	if at < 1 {
		return 0
	}
	return around[at-1].Score - around[at].Score
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
