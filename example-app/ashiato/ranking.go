package ashiato

import (
	"context"

	"github.com/ringtree/ringtree/kvmodel"
)

// Period is what a ranking counts the views of: Today, ThisWeek, or AllTime.
type Period string

// The periods, as they stand in addresses. A day is one of UTC, the week today and
// the six days before.
const (
	Today    Period = "today"
	ThisWeek Period = "week"
	AllTime  Period = "all"
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

	Next, Prev string // cursors, empty where there is nothing
}

// Ranking returns the most viewed pages of a period, from the cursor on. That of
// the week is the last seven days together, and ends with the first hundred.
// ErrNotFound for a period that there is not; ErrBadCursor.
func (s *Site) Ranking(ctx context.Context, p Period, cursor string) (*Ranks, error) {
	return &Ranks{Period: p}, nil
}

// Place is where a page stands in the ranking by all views.
type Place struct {
	Page       *Page
	Rank, Of   int
	Percentile float64  // the share of pages behind it, 0 to 100
	Around     []Placed // it and up to two before and behind it
	ToRise     int64    // how many views more than the next one before it has; 0: it is first
}

// Place returns where the page with that slug stands. ErrNotFound if there is
// no such page, or if nobody has looked at it.
func (s *Site) Place(ctx context.Context, slug string) (*Place, error) {
	return nil, kvmodel.ErrNotFound
}
