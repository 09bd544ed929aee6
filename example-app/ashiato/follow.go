package ashiato

import (
	"context"
	"errors"
	"slices"

	"github.com/ringtree/ringtree/kvmodel"
)

// Follow makes who follow the member with the id whom, who may be followed
// already. The newest pages of whom come into the feed of who. ErrNotFound;
// ErrYourself.
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
	s.db.Later(func(ctx context.Context) error {
		newest, err := s.Models.Pages.NewestByAuthor.Of(whom).Page(ctx, "", pageSize)
		if err != nil {
			return err
		}
		return s.catchUp(ctx, who, newest.Items)
	})
	return nil
}

// Unfollow makes who not follow whom any more.
func (s *Site) Unfollow(ctx context.Context, who, whom string) error {
	return unlessGone(s.Models.Follows.Delete(ctx, FollowID{Follower: who, Followed: whom}))
}

// Followers returns who follows the member with that id, in no order, from the
// cursor on. ErrBadCursor.
func (s *Site) Followers(ctx context.Context, id, cursor string) (kvmodel.Listing[Member], error) {
	page, err := s.Models.Follows.ByFollowed.Of(id).Page(ctx, cursor, pageSize)
	if err != nil {
		return kvmodel.Listing[Member]{}, err
	}
	return membersOf(ctx, s, page, func(f *Follow) string { return f.Follower })
}

// Following returns whom the member with that id follows, as Followers does.
func (s *Site) Following(ctx context.Context, id, cursor string) (kvmodel.Listing[Member], error) {
	page, err := s.Models.Follows.ByFollower.Of(id).Page(ctx, cursor, pageSize)
	if err != nil {
		return kvmodel.Listing[Member]{}, err
	}
	return membersOf(ctx, s, page, func(f *Follow) string { return f.Followed })
}

// follows tells whether who follows whom.
func (s *Site) follows(ctx context.Context, who, whom string) (bool, error) {
	if who == "" || who == whom {
		return false, nil
	}
	_, err := s.Models.Follows.Get(ctx, FollowID{Follower: who, Followed: whom})
	return err == nil, unlessGone(err)
}

// membersOf returns the members that a page of edges is about, without those who
// are gone.
func membersOf[E any](ctx context.Context, s *Site, page kvmodel.Listing[E], memberOf func(*E) string) (kvmodel.Listing[Member], error) {
	ids := make([]string, len(page.Items))
	for i, edge := range page.Items {
		ids[i] = memberOf(edge)
	}
	members, err := s.Models.Members.GetMulti(ctx, ids)
	if err != nil {
		return kvmodel.Listing[Member]{}, err
	}
	members = slices.DeleteFunc(members, func(m *Member) bool { return m == nil })
	return kvmodel.Listing[Member]{Items: members, Next: page.Next, Prev: page.Prev}, nil
}

// unlessGone returns err unless it says that there is no such record.
func unlessGone(err error) error {
	if errors.Is(err, kvmodel.ErrNotFound) {
		return nil
	}
	return err
}
