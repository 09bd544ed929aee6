package ashiato

import (
	"context"

	"github.com/ringtree/ringtree/kvmodel"
)

// Follow makes who follow the member with the id whom, who may be followed
// already. ErrNotFound; ErrYourself.
func (s *Site) Follow(ctx context.Context, who, whom string) error { panic("to follow") }

// Unfollow makes who not follow whom any more.
func (s *Site) Unfollow(ctx context.Context, who, whom string) error { panic("to follow") }

// Followers returns who follows the member with that id, in no order, from the
// cursor on. ErrBadCursor.
func (s *Site) Followers(ctx context.Context, id, cursor string) (kvmodel.Listing[Member], error) {
	panic("to follow")
}

// Following returns whom the member with that id follows, as Followers does.
func (s *Site) Following(ctx context.Context, id, cursor string) (kvmodel.Listing[Member], error) {
	panic("to follow")
}
