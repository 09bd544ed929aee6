package ashiato

import (
	"context"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
)

// A feed is written when a page is published, with one push for each follower after the reply. So
// reading it takes three trips, however many members and topics a reader follows.

const (
	newFor       = 24 * time.Hour // after its publication, a page is news
	pushedAtOnce = 500            // feeds that receive a page in one trip
)

// Feed returns the member's feed after the page with that id, or from its top. Pages from before an
// unfollow stay. Next is the id of the last page.
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

// spread pushes a new page to its readers' feeds. It may run again: a feed holds a page once.
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

// readers yields some repeatedly.
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
