package web

import (
	"context"
	"time"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/web/pages"
	"github.com/ringtree/ringtree/templates"
)

// The number of rows that the home page shows of each listing.
const (
	homeNewest = 10
	homeFeed   = 4
)

// home shows the newest and the most popular pages, and to members the top of
// their feed.
func (s *Site) home(v *visit) (answer, error) {
	var home *ashiato.Home
	var feed []ashiato.Entry
	err := s.app.DB().SideBySide(v.Context(),
		func(ctx context.Context) (err error) { home, err = s.app.Home(ctx); return err },
		func(ctx context.Context) (err error) { feed, err = s.someFeed(ctx, v); return err })
	if err != nil {
		return answer{}, err
	}
	now := s.app.DB().Now()
	page := pages.Home{
		Words:   counted(int64(home.Pages), "page", "pages") + " by " + counted(int64(home.Members), "person", "people") + ", kept in nothing but a key-value store.",
		Live:    "/live",
		Feed:    rowsWithTopics(feed, now),
		Newest:  rows(home.Newest.Entries[:min(homeNewest, len(home.Newest.Entries))], now),
		Popular: ranked(home.Week, home.First, orderOf(string(ashiato.ThisWeek), "")),

		NoNewest:  unlessRebuilding(home.Newest.Rebuilding, pages.NoPages),
		NoPopular: unlessRebuilding(home.Rebuilding, templates.Empty{Words: "No views this week."}),
	}
	if s.config.Development {
		page.Trips = func() int { return v.meter.Cost().Trips }
	}
	if len(home.Newest.Entries) > homeNewest || home.Newest.Next != "" {
		page.Older = "/newest"
	}
	return answer{here: "/", live: true, body: page.Body()}, nil
}

// unlessRebuilding returns what a list says that is empty, or has to be rebuilt first.
func unlessRebuilding(rebuilding bool, empty templates.Empty) templates.Empty {
	if rebuilding {
		return templates.Empty{Words: "This list is being rebuilt. Try again in a few minutes."}
	}
	return empty
}

// someFeed returns the top of the member's feed, or nothing for a guest.
func (s *Site) someFeed(ctx context.Context, v *visit) ([]ashiato.Entry, error) {
	member, err := v.member()
	if err != nil || member == "" {
		return nil, err
	}
	return s.app.FeedTop(ctx, member, homeFeed)
}

// rowsWithTopics returns rows that name the topics but not the author.
func rowsWithTopics(entries []ashiato.Entry, now time.Time) []templates.Row {
	all := rows(entries, now)
	for i := range all {
		all[i].Meta = all[i].Meta[1:]
	}
	return all
}

// newest shows all pages, the newest first.
func (s *Site) newest(v *visit) (answer, error) {
	list, err := s.app.Newest(v.Context(), v.FormValue("at"))
	if err != nil {
		return answer{}, err
	}
	page := pages.Listing{
		Title: "Newest",
		Words: "All pages, newest first.",
		Live:  "/live",
		Rows:  rows(list.Entries, s.app.DB().Now()),
		Pager: byAge("/newest", list.Prev, list.Next),
		Empty: pages.NoPages,
	}
	return answer{title: "Newest", here: "/newest", live: true, body: page.Body()}, nil
}

// feed shows new pages by the members and on the topics that the member follows.
func (s *Site) feed(v *visit, member string) (answer, error) {
	list, err := s.app.Feed(v.Context(), member, v.FormValue("at"))
	if err != nil {
		return answer{}, err
	}
	page := pages.Listing{
		Title: "Feed",
		Words: "New pages from the people and topics you follow.",
		Rows:  rows(list.Entries, s.app.DB().Now()),
		Pager: byAge("/feed", list.Prev, list.Next),
		Empty: templates.Empty{Words: "New pages from the people and topics you follow will appear here.", Way: templates.Link{Text: "Find a topic to follow", Href: "/topics"}},
	}
	return answer{title: "Feed", here: "/feed", body: page.Body()}, nil
}
