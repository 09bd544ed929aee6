package conduit

import (
	"context"
	"errors"

	"github.com/ringtree/ringtree/kvmodel"
)

// Profile is GET /api/profiles/{username}.
func (a *App) Profile(ctx context.Context, viewer, username string) (*Profile, error) {
	u, err := a.user(ctx, username)
	if err != nil {
		return nil, err
	}
	follows, err := kvmodel.Load(ctx, a.m.Follows.Records, []string{u.ID}, func(author string) FollowID { return FollowID{viewer, author} })
	if err != nil {
		return nil, err
	}
	p := profileOf(u, len(follows) > 0)
	return &p, nil
}

func (a *App) user(ctx context.Context, username string) (*User, error) {
	u, err := a.m.Users.ByUsername.Find(ctx, username)
	return u, about("profile", err)
}

// Follow is POST /api/profiles/{username}/follow. Following twice has no effect.
func (a *App) Follow(ctx context.Context, viewer, username string) (*Profile, error) {
	u, err := a.user(ctx, username)
	if err != nil {
		return nil, err
	}
	err = a.m.Follows.Create(ctx, &Follow{Reader: viewer, Author: u.ID})
	if err != nil && !errors.Is(err, kvmodel.ErrExists) {
		return nil, err
	}
	p := profileOf(u, true)
	return &p, nil
}

// Unfollow is DELETE /api/profiles/{username}/follow.
func (a *App) Unfollow(ctx context.Context, viewer, username string) (*Profile, error) {
	u, err := a.user(ctx, username)
	if err != nil {
		return nil, err
	}
	err = a.m.Follows.Delete(ctx, FollowID{Reader: viewer, Author: u.ID})
	if err != nil && !errors.Is(err, kvmodel.ErrNotFound) {
		return nil, err
	}
	p := profileOf(u, false)
	return &p, nil
}
