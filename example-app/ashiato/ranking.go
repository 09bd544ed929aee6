package ashiato

import "context"

// Period is what a ranking counts the views of: Today, ThisWeek, or AllTime.
type Period string

// The periods, as they stand in addresses. A day and a week, which begins on Monday,
// are those of UTC.
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

	// From where the parts around this one begin; 0: there is none.
	Next, Prev int
}

// Ranking returns the most viewed pages of a period, from the place from on,
// which is 1 for the first; a place below counts as 1, and behind the last there
// are no Rows. ErrNotFound for a period that there is not.
func (s *Site) Ranking(ctx context.Context, p Period, from int) (*Ranks, error) { panic("to follow") }

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
func (s *Site) Place(ctx context.Context, slug string) (*Place, error) { panic("to follow") }
