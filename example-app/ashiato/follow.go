package ashiato

import (
	"context"
	"slices"
)

// Follow makes a member follow another, once, and puts the newest pages of that one into the feed.
// It returns ErrNotFound or ErrYourself.
func (s *Site) Follow(ctx context.Context, who, handle string) error {
	whom, err := s.Find(ctx, handle)
	if err != nil {
		return err
	}
	if who == whom.ID {
		return ErrYourself
	}
	err = s.Models.Follows.Create(ctx, &Follow{Follower: who, Followed: whom.ID})
	if err != nil {
		return unlessThere(err)
	}
	s.db.Later(ctx, func(ctx context.Context) error {
		newest, err := s.Models.Pages.NewestByAuthor.Of(whom.ID).Page(ctx, "", pageSize)
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

// Unfollow ends the following, if any. It returns ErrNotFound.
func (s *Site) Unfollow(ctx context.Context, who, handle string) error {
	whom, err := s.Find(ctx, handle)
	if err != nil {
		return err
	}
	return unlessGone(s.Models.Follows.Delete(ctx, FollowID{Follower: who, Followed: whom.ID}))
}

func (s *Site) follows(ctx context.Context, who, whom string) (bool, error) {
	return exists(ctx, who, s.Models.Follows.Records, FollowID{Follower: who, Followed: whom})
}
