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

// pageSize is how many pages, comments and members a listing shows.
const pageSize = 20

// Entry is a page in a listing, with its author.
type Entry struct {
	*Page
	By *Member // nil if they are gone
}

// Listing is a part of a list of pages, with the cursors of the parts after and before it. A cursor
// is empty if there is no such part.
type Listing struct {
	Entries    []Entry
	Next, Prev string
}

// Home is what the home page of the site shows. A list that has to be rebuilt first is left out,
// and noted in Rebuilding.
type Home struct {
	Newest     Listing
	Week       []Placed // the top of this week's ranking
	Rebuilding struct{ Newest, Week bool }

	Pages, Members int // how many there are
}

const homeRanked = 10

// Home returns what the home page of the site shows.
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

// orRebuilding returns err, or nil if that says that an index has to be rebuilt first, which it
// notes: the part of a page that needs the index is left out then.
func orRebuilding(noted *bool, err error) error {
	if errors.Is(err, kvmodel.ErrNeedsRebuild) {
		*noted = true
		return nil
	}
	return err
}

// unlessRebuilding returns err, or nil if it says that an index has to be rebuilt first.
func unlessRebuilding(err error) error { return orRebuilding(new(bool), err) }

// Newest returns the pages published last, from the cursor on. What the ring has forgotten is in
// the archive. It returns ErrBadCursor.
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

// listing returns page with its authors. One trip.
func (s *Site) listing(ctx context.Context, page kvmodel.Listing[Page]) (Listing, error) {
	authors, err := s.authors(ctx, page.Items)
	return listingBy(page, authors), err
}

// authors returns the authors of pages, by their ids.
func (s *Site) authors(ctx context.Context, pages []*Page) (map[string]*Member, error) {
	return kvmodel.Load(ctx, s.Models.Members.Records, pages, func(p *Page) string { return p.Author })
}

// listingBy returns page with authors, which are by id.
func listingBy(page kvmodel.Listing[Page], authors map[string]*Member) Listing {
	l := Listing{Next: page.Next, Prev: page.Prev}
	for _, p := range page.Items {
		l.Entries = append(l.Entries, Entry{p, authors[p.Author]})
	}
	return l
}
