package ashiato

import (
	"context"
	"slices"

	"github.com/ringtree/ringtree/kvmodel"
)

// Entry is a page in a list, with who wrote it; nil: they are gone.
type Entry struct {
	*Page
	By *Member
}

// Listing is one page of pages, with the cursors of those around it, which are
// empty where there is nothing.
type Listing struct {
	Entries    []Entry
	Next, Prev string
}

// Home is what the first page of the site shows.
type Home struct {
	Newest Listing
	Week   []Placed // the first of this week's ranking
}

const homeRanked = 10

// Home returns the first page of the site.
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

// Newest returns the pages that were published last, from the cursor on.
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

// listingBy returns page with authors by their ids.
func listingBy(page kvmodel.Listing[Page], authors map[string]*Member) Listing {
	l := Listing{Entries: make([]Entry, len(page.Items)), Next: page.Next, Prev: page.Prev}
	for i, p := range page.Items {
		l.Entries[i] = Entry{p, authors[p.Author]}
	}
	return l
}
