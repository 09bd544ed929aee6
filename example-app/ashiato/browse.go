package ashiato

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/ranking"
	"github.com/ringtree/ringtree/timeline"
)

const pageSize = 20

// Entry is a page in a listing, with its author.
type Entry struct {
	*Page
	By *Member // nil if they have left
}

// Listing is a part of a list of pages. Cursors are empty at its ends.
type Listing struct {
	Entries    []Entry
	Next, Prev string
}

// Home is the content of the home page, without lists that are Rebuilding.
type Home struct {
	Newest     Listing
	Week       []Placed // the top of this week's ranking
	Rebuilding struct{ Newest, Week bool }

	Pages, Members int // their number
}

const homeRanked = 10

func (s *Site) Home(ctx context.Context) (*Home, error) {
	home := &Home{}
	var newest kvmodel.Listing[Page]
	var week ranking.Table[Page, int64]
	err := s.db.SideBySide(ctx, func(ctx context.Context) (err error) {
		newest, err = s.Models.Pages.Newest.Page(ctx, "", pageSize)
		return orRebuilding(&home.Rebuilding.Newest, err)
	}, func(ctx context.Context) (err error) {
		week, err = s.Models.Pages.TopViewsPerWeek.Table(ctx, "", homeRanked)
		return orRebuilding(&home.Rebuilding.Week, err)
	}, func(ctx context.Context) (err error) {
		home.Pages, err = s.Models.Pages.Archive.Len(ctx)
		return unlessRebuilding(err)
	}, func(ctx context.Context) (err error) {
		home.Members, err = s.Models.Members.Newcomers.Len(ctx)
		return unlessRebuilding(err)
	})
	if err != nil {
		return nil, err
	}
	pages := slices.Clone(newest.Items)
	for _, p := range week.Places {
		pages = append(pages, p.Item)
	}
	authors, err := s.authors(ctx, pages)
	home.Newest, home.Week = listingBy(newest, authors), placedBy(week.Places, authors)
	return home, err
}

// A page leaves out a list that is noted as rebuilding.
func orRebuilding(noted *bool, err error) error {
	if errors.Is(err, kvmodel.ErrNeedsRebuild) {
		*noted = true
		return nil
	}
	return err
}

func unlessRebuilding(err error) error { return orRebuilding(new(bool), err) }

// Newest returns the latest pages, from the cursor on. The archive continues the ring. It returns
// ErrBadCursor.
func (s *Site) Newest(ctx context.Context, cursor string) (Listing, error) {
	all := timeline.WithArchive(s.Models.Pages.Newest,
		func(p *Page) time.Time { return p.Published },
		func(t time.Time) kvmodel.Lister[Page] { return s.Models.Pages.Archive.Between(time.Time{}, t) })
	page, err := all.Page(ctx, cursor, pageSize)
	if err != nil {
		return Listing{}, err
	}
	return s.listing(ctx, page)
}

func (s *Site) listing(ctx context.Context, page kvmodel.Listing[Page]) (Listing, error) {
	authors, err := s.authors(ctx, page.Items)
	return listingBy(page, authors), err
}

func (s *Site) authors(ctx context.Context, pages []*Page) (map[string]*Member, error) {
	return kvmodel.Load(ctx, s.Models.Members.Records, pages, func(p *Page) string { return p.Author })
}

func listingBy(page kvmodel.Listing[Page], authors map[string]*Member) Listing {
	l := Listing{Next: page.Next, Prev: page.Prev}
	for _, p := range page.Items {
		l.Entries = append(l.Entries, Entry{p, authors[p.Author]})
	}
	return l
}
