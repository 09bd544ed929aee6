package web

import (
	"context"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/web/pages"
	"github.com/ringtree/ringtree/kvmodel"
)

// topics shows all topics.
func (s *Site) topics(v *visit) error {
	table, err := s.app.Topics(v.Context(), v.FormValue("at"))
	if err != nil {
		return err
	}
	return v.show(pages.Frame{Title: "Topics", Here: "/topics"}, pages.Topics(table))
}

// topic shows the pages on a topic, and how many members follow it.
func (s *Site) topic(v *visit) error {
	member, err := v.member()
	if err != nil {
		return err
	}
	view, err := s.app.Topic(v.Context(), member, v.PathValue("topic"), v.FormValue("at"))
	if err != nil {
		return err
	}
	return v.show(pages.Frame{Title: view.Topic.Name, Here: "/topics"}, pages.Topic(view, s.now()))
}

// topicFollowers shows who follows a topic.
func (s *Site) topicFollowers(v *visit) error {
	name := v.PathValue("topic")
	var topic *ashiato.Topic
	var list kvmodel.Listing[ashiato.Member]
	err := s.app.DB().SideBySide(v.Context(),
		func(ctx context.Context) (err error) { topic, err = s.app.Models.Topics.Get(ctx, name); return err },
		func(ctx context.Context) (err error) {
			list, err = s.app.FollowersOf(ctx, name, v.FormValue("at"))
			return err
		})
	if err != nil {
		return err
	}
	return v.show(pages.Frame{Title: "Followers of " + topic.Name, Here: "/topics"}, pages.TopicFollowers(topic, list))
}
