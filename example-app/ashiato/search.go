package ashiato

import (
	"context"
	"strings"
	"unicode"
)

// Found has no authors, which saves a trip.
type Found struct {
	Listing
	Query string // without invisible characters
	Of    int    // number of pages found
}

// Search returns the pages whose titles begin with query, ignoring case and accents, from the
// cursor on. It returns ErrBadCursor.
func (s *Site) Search(ctx context.Context, query, cursor string) (*Found, error) {
	found := &Found{Query: searched(query)}
	titles := s.Models.Pages.TitleAZ.Prefix(found.Query)
	err := s.db.SideBySide(ctx, func(ctx context.Context) error {
		page, err := titles.Page(ctx, cursor, pageSize)
		found.Listing = listingBy(page, nil)
		return err
	}, func(ctx context.Context) (err error) {
		found.Of, err = titles.Count(ctx)
		return err
	})
	return found, err
}

func searched(query string) string {
	text := without(strings.ToValidUTF8(query, ""), func(r rune) bool { return unicode.IsControl(r) || ignorable(r) })
	runes := []rune(strings.TrimLeftFunc(text, unicode.IsSpace))
	return string(runes[:min(MaxTitle, len(runes))])
}
