package ashiato

import (
	"context"
	"errors"
	"slices"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/kvmodel"
)

// Follow makes who follow the member whom, and adds the newest pages of whom to
// the feed of who. If who follows whom already, it changes nothing. It returns
// ErrNotFound or ErrYourself.
func (s *Site) Follow(ctx context.Context, who, whom string) error {
	if who == whom {
		return ErrYourself
	}
	if _, err := s.Models.Members.Get(ctx, whom); err != nil {
		return err
	}
	err := s.Models.Follows.Create(ctx, &Follow{Follower: who, Followed: whom})
	if usedUp(err) {
		return nil
	}
	if err != nil {
		return err
	}
	s.db.Later(ctx, func(ctx context.Context) error {
		newest, err := s.Models.Pages.NewestByAuthor.Of(whom).Page(ctx, "", pageSize)
		if err != nil {
			return err
		}
		return s.catchUp(ctx, who, newest.Items)
	})
	return nil
}

// Unfollow makes who stop following whom. It changes nothing if who does not
// follow whom.
func (s *Site) Unfollow(ctx context.Context, who, whom string) error {
	return unlessGone(s.Models.Follows.Delete(ctx, FollowID{Follower: who, Followed: whom}))
}

// Followers returns the followers of the member with the given id, in no
// particular order, from the cursor on. It returns ErrBadCursor.
func (s *Site) Followers(ctx context.Context, id, cursor string) (kvmodel.Listing[Member], error) {
	followers := s.Models.Follows.ByFollowed.Of(id)
	return ends(ctx, s.Models.Members.Records, followers, cursor, func(f *Follow) string { return f.Follower })
}

// Following returns the members that the member with the given id follows, in the
// way of Followers.
func (s *Site) Following(ctx context.Context, id, cursor string) (kvmodel.Listing[Member], error) {
	followed := s.Models.Follows.ByFollower.Of(id)
	return ends(ctx, s.Models.Members.Records, followed, cursor, func(f *Follow) string { return f.Followed })
}

// follows reports whether who follows whom.
func (s *Site) follows(ctx context.Context, who, whom string) (bool, error) {
	if who == "" || who == whom {
		return false, nil
	}
	_, err := s.Models.Follows.Get(ctx, FollowID{Follower: who, Followed: whom})
	return err == nil, unlessGone(err)
}

// ends returns the records that a list of edges leads to, from the cursor on,
// without those that are gone. The id of an edge's record is what end returns.
func ends[T, E any, K comparable](ctx context.Context, records *kvmodel.Records[T, string], edges *index.List[E, K], cursor string, end func(*E) string) (kvmodel.Listing[T], error) {
	page, err := edges.Page(ctx, cursor, pageSize)
	if err != nil {
		return kvmodel.Listing[T]{}, err
	}
	ids := make([]string, len(page.Items))
	for i, edge := range page.Items {
		ids[i] = end(edge)
	}
	items, err := records.GetMulti(ctx, ids)
	items = slices.DeleteFunc(items, func(item *T) bool { return item == nil })
	return kvmodel.Listing[T]{Items: items, Next: page.Next, Prev: page.Prev}, err
}

// unlessGone returns err, or nil if it says that there is no such record.
func unlessGone(err error) error {
	if errors.Is(err, kvmodel.ErrNotFound) {
		return nil
	}
	return err
}
