package web

import (
	"context"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/web/pages"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/templates"
)

// topics shows all that pages are about.
func (s *Site) topics(v *visit) (answer, error) {
	list, err := s.app.Topics(v.Context(), v.FormValue("at"))
	if err != nil {
		return answer{}, err
	}
	page := pages.Topics{
		Words: "What pages are about, the one with the most pages first. Follow one, and its pages come into your feed.",
		Pager: around("/topics", list.Prev, list.Next, "Back", "More"),
	}
	now := s.app.DB().Now()
	for _, t := range list.Items {
		page.Rows = append(page.Rows, templates.Row{
			When:   ago(now, t.Since),
			Title:  templates.Link{Text: t.Name, Href: topicPath(t.Name)},
			Meta:   []templates.Link{{Text: counted(t.Followers, "follower", "followers")}},
			Figure: templates.Counted(t.Pages, "page", "pages"),
		})
	}
	return answer{title: "Topics", here: "/topics", body: page.Body()}, nil
}

// topic shows the pages on a topic, and who follows it.
func (s *Site) topic(v *visit) (answer, error) {
	name := v.PathValue("topic")
	member, err := v.member()
	if err != nil {
		return answer{}, err
	}
	view, err := s.app.Topic(v.Context(), member, name, v.FormValue("at"))
	if err != nil {
		return answer{}, err
	}
	path := topicPath(name)
	page := pages.Topic{
		Name:   view.Topic.Name,
		Facts:  topicFacts(view.Topic),
		Follow: pages.Follow{Action: path, Following: view.Followed},
		Rows:   rows(view.Pages.Entries, s.app.DB().Now()),
		Pager:  around(path, view.Pages.Prev, view.Pages.Next, "Back", "More"),
	}
	return answer{title: view.Topic.Name, here: "/topics", body: page.Body()}, nil
}

func topicFacts(t *ashiato.Topic) templates.Facts {
	written, follow := templates.Counted(t.Pages, "page", "pages"), templates.Counted(t.Followers, "follower", "followers")
	return templates.Facts{Facts: []templates.Fact{
		{Figure: templates.Link{Text: written.Value}, After: written.Unit},
		{Figure: templates.Link{Text: follow.Value, Href: topicPath(t.Name) + "/followers"}, After: follow.Unit},
	}}
}

// topicFollowers shows who follows a topic.
func (s *Site) topicFollowers(v *visit) (answer, error) {
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
		return answer{}, err
	}
	page := people("Followers of "+topic.Name, counted(topic.Followers, "member follows", "members follow")+" this topic.", topicPath(name)+"/followers", list)
	return answer{title: page.Title, here: "/topics", body: page.Body()}, nil
}

// people is a page of members.
func people(title, words, path string, list kvmodel.Listing[ashiato.Member]) pages.People {
	page := pages.People{Title: title, Words: words, Pager: around(path, list.Prev, list.Next, "Back", "More")}
	for _, m := range list.Items {
		page.Rows = append(page.Rows, pages.Person{Who: linkTo(m), Note: "joined " + on(m.Joined)})
	}
	return page
}

// followTopic and unfollowTopic change whether the member follows a topic.
func (s *Site) followTopic(v *visit) (answer, error)   { return s.interest(v, s.app.FollowTopic) }
func (s *Site) unfollowTopic(v *visit) (answer, error) { return s.interest(v, s.app.UnfollowTopic) }

func (s *Site) interest(v *visit, change func(ctx context.Context, who, name string) error) (answer, error) {
	member, err := v.signedIn()
	if err != nil {
		return answer{}, err
	}
	name := v.PathValue("topic")
	if err := change(v.Context(), member, name); err != nil {
		return answer{}, err
	}
	return answer{to: topicPath(name)}, nil
}
