package ashiato

import (
	"context"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
)

// A home feed is written when a page is published, and not gathered when it is
// read: reading takes three trips however many members and topics one follows,
// where gathering would take a timeline for each of them. What it costs is a push
// for each follower, 500 in a trip, after the reply.

// newFor is how long a page is news after it was published.
const newFor = 24 * time.Hour

// Feed returns what is new by the members and on the topics that who follows,
// from the cursor on. It goes back as many pages as FeedItem keeps, and keeps what
// came while who followed. ErrBadCursor.
func (s *Site) Feed(ctx context.Context, who, cursor string) (Listing, error) {
	items, err := s.feedItems(ctx, who)
	if err != nil {
		return Listing{}, err
	}
	from, err := feedPlace(items, cursor)
	if err != nil {
		return Listing{}, err
	}
	part := items[from:min(from+pageSize, len(items))]
	pages, err := s.livePages(ctx, part)
	if err != nil {
		return Listing{}, err
	}
	listing := kvmodel.Listing[Page]{Items: pages}
	listing.Next, listing.Prev = feedCursors(items, from)
	return s.listing(ctx, listing)
}

// FeedTop returns the first n pages of the feed of who, without their authors,
// which would be one trip more.
func (s *Site) FeedTop(ctx context.Context, who string, n int) ([]Entry, error) {
	items, err := s.feedItems(ctx, who)
	if err != nil {
		return nil, err
	}
	pages, err := s.livePages(ctx, items[:min(n, len(items))])
	return listingBy(kvmodel.Listing[Page]{Items: pages}, nil).Entries, err
}

// feedItems returns what is in the feed of who, the page that was published last
// first.
func (s *Site) feedItems(ctx context.Context, who string) ([]FeedItem, error) {
	items, err := s.Models.FeedItems.Latest(ctx, who, math.MaxInt)
	slices.SortStableFunc(items, func(a, b FeedItem) int { return b.At.Compare(a.At) })
	return items, err
}

// livePages returns the pages that items name, without those in the trash.
func (s *Site) livePages(ctx context.Context, items []FeedItem) ([]*Page, error) {
	ids := make([]string, len(items))
	for i, item := range items {
		ids[i] = item.Page
	}
	pages, err := s.Models.Pages.GetMulti(ctx, ids)
	return slices.DeleteFunc(pages, func(p *Page) bool { return p == nil || !p.Live() }), err
}

const feedListing = "FeedItem"

// feedPlace returns where among items the page at cursor begins: behind the item
// that it names, at the end if that is no longer there.
func feedPlace(items []FeedItem, cursor string) (int, error) {
	if cursor == "" {
		return 0, nil
	}
	after, err := kvmodel.ParseCursor(feedListing, cursor)
	if err != nil || len(after) == 0 {
		return 0, err
	}
	at := slices.IndexFunc(items, func(item FeedItem) bool { return item.Page == string(after) })
	if at < 0 {
		return len(items), nil
	}
	return at + 1, nil
}

// feedCursors returns the cursors of the pages around that which begins at from.
func feedCursors(items []FeedItem, from int) (next, prev string) {
	if end := from + pageSize; end < len(items) {
		next = kvmodel.Cursor(feedListing, []byte(items[end-1].Page))
	}
	if before := from - pageSize; before > 0 {
		prev = kvmodel.Cursor(feedListing, []byte(items[before-1].Page))
	} else if from > 0 {
		prev = kvmodel.Cursor(feedListing, nil)
	}
	return next, prev
}

// pushedAtOnce is how many feeds get a page in one trip.
const pushedAtOnce = 500

// spread pushes a page that was just published to the home feeds of its readers.
// It may be called again for the same page, which is in a feed once.
func (s *Site) spread(ctx context.Context, c kvmodel.Change[Page, string]) error {
	p := c.Record
	if p == nil || !p.Live() || p.Published.Before(s.now().Add(-newFor)) || !c.Created && p.Version > 1 {
		return nil
	}
	var items []FeedItem
	for reader, err := range s.readers(ctx, p) {
		if err == nil && len(items) == pushedAtOnce {
			err = s.Models.FeedItems.Push(ctx, items...)
			items = items[:0]
		}
		if err != nil {
			return err
		}
		if reader != p.Author {
			items = append(items, feedItem(reader, p))
		}
	}
	return s.Models.FeedItems.Push(ctx, items...)
}

// readers yields the ids of the members who follow the author of p or one of its
// topics, some of them more than once.
func (s *Site) readers(ctx context.Context, p *Page) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for id, err := range s.Models.Follows.ByFollowed.Of(p.Author).IDs(ctx) {
			if !yield(id.Follower, err) {
				return
			}
		}
		for _, topic := range p.Topics {
			for id, err := range s.Models.Interests.ByTopic.Of(topic).IDs(ctx) {
				if !yield(id.Member, err) {
					return
				}
			}
		}
	}
}

func feedItem(reader string, p *Page) FeedItem {
	return FeedItem{Reader: reader, Page: p.ID, At: p.Published}
}

// catchUp brings pages that were there before into the feed of a reader who has
// begun to follow.
func (s *Site) catchUp(ctx context.Context, reader string, pages []*Page) error {
	var items []FeedItem
	for _, p := range slices.Backward(pages) {
		if p.Author != reader {
			items = append(items, feedItem(reader, p))
		}
	}
	return s.Models.FeedItems.Push(ctx, items...)
}
