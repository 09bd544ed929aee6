package ashiato

import (
	"context"
	"slices"

	"github.com/ringtree/ringtree/kvmodel"
)

// Entry is a page in a listing, with its author.
type Entry struct {
	*Page
	By *Member // nil if they are gone
}

// Listing is a part of a list of pages, with the cursors of the parts after and
// before it. A cursor is empty if there is no such part.
type Listing struct {
	Entries    []Entry
	Next, Prev string
}

// Home is what the home page of the site shows.
type Home struct {
	Newest Listing
	Week   []Placed // the top of this week's ranking
}

const homeRanked = 10

// Home returns what the home page of the site shows.
func (s *Site) Home(ctx context.Context) (*Home, error) {
	var newest kvmodel.Listing[Page]
	var week []viewPlace
	err := s.db.SideBySide(ctx, func(ctx context.Context) (err error) {
		newest, err = s.Models.Pages.Newest.Page(ctx, "", pageSize)
		return err
	}, func(ctx context.Context) (err error) {
		week, err = s.week(ctx, homeRanked)
		return err
	})
	if err != nil {
		return nil, err
	}
	pages := slices.Clone(newest.Items)
	for _, p := range week {
		pages = append(pages, p.Item)
	}
	authors, err := kvmodel.Load(ctx, s.Models.Members.Records, pages, authorOf)
	if err != nil {
		return nil, err
	}
	return &Home{listingBy(newest, authors), placedBy(week, authors)}, nil
}

// Newest returns the pages published last, from the cursor on. It returns
// ErrBadCursor.
func (s *Site) Newest(ctx context.Context, cursor string) (Listing, error) {
	page, err := s.Models.Pages.Newest.Page(ctx, cursor, pageSize)
	if err != nil {
		return Listing{}, err
	}
	return s.listing(ctx, page)
}

// listing returns page with its authors. One trip.
func (s *Site) listing(ctx context.Context, page kvmodel.Listing[Page]) (Listing, error) {
	authors, err := kvmodel.Load(ctx, s.Models.Members.Records, page.Items, authorOf)
	if err != nil {
		return Listing{}, err
	}
	return listingBy(page, authors), nil
}

func authorOf(p *Page) string { return p.Author }

// listingBy returns page with authors, which are by id.
func listingBy(page kvmodel.Listing[Page], authors map[string]*Member) Listing {
	l := Listing{Entries: make([]Entry, len(page.Items)), Next: page.Next, Prev: page.Prev}
	for i, p := range page.Items {
		l.Entries[i] = Entry{p, authors[p.Author]}
	}
	return l
}
