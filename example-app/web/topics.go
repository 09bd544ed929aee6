package web

import (
	"context"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/web/pages"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/templates"
)

// topics shows all topics.
func (s *Site) topics(v *visit) (answer, error) {
	list, err := s.app.Topics(v.Context(), v.FormValue("at"))
	if err != nil {
		return answer{}, err
	}
	page := pages.Topics{
		Words: "Topics with the most pages come first. Follow a topic to see its new pages in your feed.",
		Pager: inOrder("/topics", list.Prev, list.Next),
	}
	for _, t := range list.Places {
		page.Rows = append(page.Rows, templates.Ranked{
			Rank:   int64(t.Rank),
			Title:  templates.Link{Text: t.Item.Name, Href: topicPath(t.Item.Name)},
			Meta:   []templates.Link{{Text: counted(t.Item.Followers, "follower", "followers")}},
			Figure: templates.Counted(t.Score, "page", "pages"),
		})
	}
	if n := len(page.Rows); n > 0 {
		page.Pager.Words = templates.Span(page.Rows[0].Rank, page.Rows[n-1].Rank, int64(list.Len))
	}
	return answer{title: "Topics", here: "/topics", body: page.Body()}, nil
}

// topic shows the pages on a topic, and how many members follow it.
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
	path := topicPath(view.Topic.Name)
	page := pages.Topic{
		Name:   view.Topic.Name,
		Facts:  topicFacts(view.Topic),
		Follow: pages.Follow{Action: path, Following: view.Followed},
		Rows:   rows(view.Pages.Entries, s.app.DB().Now()),
		Pager:  inOrder(path, view.Pages.Prev, view.Pages.Next),
		Empty:  unlessRebuilding(view.Pages.Rebuilding, templates.Empty{Words: "No pages on this topic yet.", Way: templates.Link{Text: "Write the first page", Href: "/write"}}),
	}
	return answer{title: view.Topic.Name, here: "/topics", body: page.Body()}, nil
}

func topicFacts(t *ashiato.Topic) templates.Facts {
	return templates.Facts{Facts: []templates.Fact{
		fact(t.Pages, "page", "pages", ""),
		fact(t.Followers, "follower", "followers", topicPath(t.Name)+"/followers"),
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

// people returns a page that lists members.
func people(title, words, path string, list kvmodel.Listing[ashiato.Member]) pages.People {
	page := pages.People{Title: title, Words: words, Pager: inOrder(path, list.Prev, list.Next)}
	for _, m := range list.Items {
		page.Rows = append(page.Rows, pages.Person{Who: linkTo(m), Note: joined(m)})
	}
	return page
}
