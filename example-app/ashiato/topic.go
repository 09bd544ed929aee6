package ashiato

import (
	"context"

	"github.com/ringtree/ringtree/kvmodel"
)

// TopicView is the page of a topic.
type TopicView struct {
	Topic    *Topic
	Followed bool // by who looks
	Pages    Listing
}

// Topic returns what who sees of a topic, whose pages are shown, in no order, from the
// cursor on. ErrNotFound; ErrBadCursor.
func (s *Site) Topic(ctx context.Context, who, name, cursor string) (*TopicView, error) {
	panic("to follow")
}

// Topics returns the topics, the newest first, from the cursor on. ErrBadCursor.
func (s *Site) Topics(ctx context.Context, cursor string) (kvmodel.Listing[Topic], error) {
	panic("to follow")
}

// FollowTopic makes who follow a topic, which may be followed already.
// ErrNotFound.
func (s *Site) FollowTopic(ctx context.Context, who, name string) error { panic("to follow") }

// UnfollowTopic makes who not follow a topic any more.
func (s *Site) UnfollowTopic(ctx context.Context, who, name string) error { panic("to follow") }

// FollowersOf returns who follows a topic, in no order, from the cursor on.
// ErrBadCursor.
func (s *Site) FollowersOf(ctx context.Context, name, cursor string) (kvmodel.Listing[Member], error) {
	panic("to follow")
}
