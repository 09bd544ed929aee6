package ashiato

import (
	"context"
	"errors"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/ranking"
)

// TopicView is the page of a topic.
type TopicView struct {
	Topic    *Topic
	Followed bool // by the visitor
	Pages    Listing
}

// Topic returns a topic and its pages from the cursor on. It returns ErrNotFound or ErrBadCursor.
func (s *Site) Topic(ctx context.Context, who, name, cursor string) (*TopicView, error) {
	v, name := &TopicView{}, normal(name)
	err := s.db.SideBySide(ctx, func(ctx context.Context) (err error) {
		v.Topic, err = s.Models.Topics.Get(ctx, name)
		return err
	}, func(ctx context.Context) (err error) {
		v.Followed, err = exists(ctx, who, s.Models.Interests.Records, InterestID{Member: who, Topic: name})
		return err
	}, func(ctx context.Context) error {
		page, err := s.Models.Pages.ByTopics.Of(name).Page(ctx, cursor, pageSize)
		if err == nil {
			v.Pages, err = s.listing(ctx, page)
		}
		return err
	})
	return v, err
}

// Topics returns the largest topics first, from the cursor on. It returns ErrBadCursor.
func (s *Site) Topics(ctx context.Context, cursor string) (ranking.Table[Topic, int64], error) {
	return s.Models.Topics.TopPages.Table(ctx, cursor, pageSize)
}

// FollowTopic makes a member follow a topic, once. It returns ErrNotFound.
func (s *Site) FollowTopic(ctx context.Context, who, name string) error {
	t, err := s.Models.Topics.Get(ctx, normal(name))
	if err != nil {
		return err
	}
	return unlessThere(s.Models.Interests.Create(ctx, &Interest{Member: who, Topic: t.Name}))
}

// UnfollowTopic ends the following, if any.
func (s *Site) UnfollowTopic(ctx context.Context, who, name string) error {
	return unlessGone(s.Models.Interests.Delete(ctx, InterestID{Member: who, Topic: normal(name)}))
}

func (s *Site) addTopics(ctx context.Context, names []string) error {
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
	for _, err := range kvmodel.Items(s.Models.Topics.CreateMulti(ctx, missing)) {
		if !errors.Is(err, kvmodel.ErrExists) { // Others may have created them first.
			return err
		}
	}
	return nil
}
