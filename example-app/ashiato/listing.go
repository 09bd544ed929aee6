package ashiato

import "context"

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

// Home returns the first page of the site.
func (s *Site) Home(ctx context.Context) (*Home, error) { panic("to follow") }

// Newest returns the pages that were published last, from the cursor on.
// ErrBadCursor.
func (s *Site) Newest(ctx context.Context, cursor string) (Listing, error) { panic("to follow") }

// Feed returns what is new by the members and on the topics that who follows.
// It goes 200 pages back. ErrBadCursor.
func (s *Site) Feed(ctx context.Context, who, cursor string) (Listing, error) { panic("to follow") }
