package ashiato

import (
	"context"
	"errors"
	"slices"

	"github.com/ringtree/ringtree/kvmodel"
)

// Follow makes a member follow another, and adds the newest pages of the other to the
// follower's feed. A second Follow changes nothing. It returns ErrNotFound or ErrYourself.
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
		var items []FeedItem
		for _, p := range slices.Backward(newest.Items) {
			items = append(items, feedItem(who, p))
		}
		return s.Models.FeedItems.Push(ctx, items...)
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
	page, err := s.Models.Follows.ByFollowed.Of(id).Page(ctx, cursor, pageSize)
	if err != nil {
		return kvmodel.Listing[Member]{}, err
	}
	ids := make([]string, len(page.Items))
	for i, follow := range page.Items {
		ids[i] = follow.Follower
	}
	members, err := s.Models.Members.GetMulti(ctx, ids)
	members = slices.DeleteFunc(members, func(m *Member) bool { return m == nil })
	return kvmodel.Listing[Member]{Items: members, Next: page.Next, Prev: page.Prev}, err
}

// follows reports whether who follows whom.
func (s *Site) follows(ctx context.Context, who, whom string) (bool, error) {
	if who == "" || who == whom {
		return false, nil
	}
	_, err := s.Models.Follows.Get(ctx, FollowID{Follower: who, Followed: whom})
	return err == nil, unlessGone(err)
}

// unlessGone returns err, or nil if it says that there is no such record.
func unlessGone(err error) error {
	if errors.Is(err, kvmodel.ErrNotFound) {
		return nil
	}
	return err
}
