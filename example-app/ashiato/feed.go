package ashiato

import (
	"context"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
)

// A home feed is written when a page is published, not gathered when it is read. Reading it takes
// three trips, however many members and topics a reader follows; gathering would mean reading a
// timeline for each of them. The price is one push for each follower, after the reply, with 500
// pushes in a trip.

// newFor is the time after its publication during which a page is news.
const newFor = 24 * time.Hour

// Feed returns the member's feed from the page after the one with the id after, or from its top if
// after is "": pages by followed members and on followed topics. It holds as many pages as FeedItem
// keeps. Pages from before an unfollow stay. Next is the id of the last page.
func (s *Site) Feed(ctx context.Context, who, after string) (Listing, error) {
	items, err := s.Models.FeedItems.Latest(ctx, who, math.MaxInt)
	if err != nil {
		return Listing{}, err
	}
	slices.SortStableFunc(items, func(a, b FeedItem) int { return b.At.Compare(a.At) })
	if after != "" {
		items = items[slices.IndexFunc(items, func(item FeedItem) bool { return item.Page == after })+1:]
	}
	var ids []string
	for _, item := range items[:min(pageSize, len(items))] {
		ids = append(ids, item.Page)
	}
	pages, err := s.Models.Pages.GetMulti(ctx, ids)
	if err != nil {
		return Listing{}, err
	}
	list := kvmodel.Listing[Page]{Items: slices.DeleteFunc(pages, func(p *Page) bool { return p == nil || !p.Live() })}
	if len(items) > len(ids) {
		list.Next = ids[len(ids)-1]
	}
	return s.listing(ctx, list)
}

// pushedAtOnce is the number of feeds that receive a page in one trip.
const pushedAtOnce = 500

// spread pushes a newly published page to the feeds of its readers. It may be called again for the
// same page: a feed holds a page once.
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

// readers yields the ids of the members following the author of p or one of its topics, some of
// them repeatedly.
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
