package ashiato

import (
	"context"
	"errors"

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
	v := &TopicView{}
	err := s.db.SideBySide(ctx, func(ctx context.Context) (err error) {
		v.Topic, err = s.Models.Topics.Get(ctx, name)
		return err
	}, func(ctx context.Context) (err error) {
		v.Followed, err = s.interested(ctx, who, name)
		return err
	}, func(ctx context.Context) error {
		page, err := s.Models.Pages.ByTopics.Of(name).Page(ctx, cursor, pageSize)
		if err != nil {
			return err
		}
		v.Pages, err = s.listing(ctx, page)
		return err
	})
	if err != nil {
		return nil, err
	}
	return v, nil
}

// Topics returns the topics, the one with the most pages first, from the cursor
// on. ErrBadCursor.
func (s *Site) Topics(ctx context.Context, cursor string) (kvmodel.Listing[Topic], error) {
	return s.Models.Topics.TopPages.Page(ctx, cursor, pageSize)
}

// FollowTopic makes who follow a topic, which may be followed already.
// ErrNotFound.
func (s *Site) FollowTopic(ctx context.Context, who, name string) error {
	if _, err := s.Models.Topics.Get(ctx, name); err != nil {
		return err
	}
	err := s.Models.Interests.Create(ctx, &Interest{Member: who, Topic: name})
	if usedUp(err) {
		return nil
	}
	return err
}

// UnfollowTopic makes who not follow a topic any more.
func (s *Site) UnfollowTopic(ctx context.Context, who, name string) error {
	return unlessGone(s.Models.Interests.Delete(ctx, InterestID{Member: who, Topic: name}))
}

// FollowersOf returns who follows a topic, in no order, from the cursor on.
// ErrBadCursor.
func (s *Site) FollowersOf(ctx context.Context, name, cursor string) (kvmodel.Listing[Member], error) {
	interests := s.Models.Interests.ByTopic.Of(name)
	return ends(ctx, s.Models.Members.Records, interests, cursor, func(i *Interest) string { return i.Member })
}

// Interests returns the topics that who follows, in no order, from the cursor
// on. ErrBadCursor.
func (s *Site) Interests(ctx context.Context, who, cursor string) (kvmodel.Listing[Topic], error) {
	interests := s.Models.Interests.ByMember.Of(who)
	return ends(ctx, s.Models.Topics.Records, interests, cursor, func(i *Interest) string { return i.Topic })
}

// interested tells whether who follows a topic.
func (s *Site) interested(ctx context.Context, who, name string) (bool, error) {
	if who == "" {
		return false, nil
	}
	_, err := s.Models.Interests.Get(ctx, InterestID{Member: who, Topic: name})
	return err == nil, unlessGone(err)
}

// addTopics makes those of the topics that are not there yet.
func (s *Site) addTopics(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return nil
	}
	there, err := s.Models.Topics.GetMulti(ctx, names)
	if err != nil {
		return err
	}
	var missing []*Topic
	for i, name := range names {
		if there[i] == nil {
			missing = append(missing, &Topic{Name: name, Since: s.now()})
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return unlessThere(s.Models.Topics.CreateMulti(ctx, missing))
}

// unlessThere returns what CreateMulti has returned, unless all it says is that
// others have made the same records meanwhile.
func unlessThere(err error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return err
	}
	for _, err := range joined.Unwrap() {
		if !errors.Is(err, kvmodel.ErrExists) {
			return err
		}
	}
	return nil
}
