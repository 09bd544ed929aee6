package web

import (
	"context"
	"time"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/web/pages"
	"github.com/ringtree/ringtree/templates"
)

// How many rows of a listing the first page shows.
const (
	homeNewest = 10
	homeFeed   = 4
)

// home shows what is newest and what is popular, and to members what those have
// written whom they follow.
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
		Words:   "Written by members, newest first, and what others look at beside it.",
		Live:    "/live",
		Feed:    feedRows(feed, now),
		Newest:  rows(home.Newest.Entries[:min(homeNewest, len(home.Newest.Entries))], now),
		Popular: ranked(home.Week, firstScore(home.Week)),
	}
	if len(home.Newest.Entries) > homeNewest || home.Newest.Next != "" {
		page.Older = "/newest"
	}
	return answer{here: "/", live: true, body: page.Body()}, nil
}

// someFeed returns the first of the member's feed, if it is a member who looks.
func (s *Site) someFeed(ctx context.Context, v *visit) ([]ashiato.Entry, error) {
	member, err := v.member()
	if err != nil || member == "" {
		return nil, err
	}
	return s.app.FeedTop(ctx, member, homeFeed)
}

// feedRows returns rows that name topics alone.
func feedRows(entries []ashiato.Entry, now time.Time) []templates.Row {
	all := rows(entries, now)
	for i := range all {
		all[i].Meta = all[i].Meta[1:]
	}
	return all
}

func firstScore(placed []ashiato.Placed) int64 {
	if len(placed) == 0 {
		return 0
	}
	return placed[0].Score
}

// newest shows the pages that were published last.
func (s *Site) newest(v *visit) (answer, error) {
	list, err := s.app.Newest(v.Context(), v.FormValue("at"))
	if err != nil {
		return answer{}, err
	}
	page := pages.Listing{
		Title: "Newest",
		Words: "Everything that was written, newest first.",
		Live:  "/live",
		Rows:  rows(list.Entries, s.app.DB().Now()),
		Pager: around("/newest", list.Prev, list.Next, "Newer", "Older"),
		Empty: templates.Empty{Words: "Nobody has written anything yet.", Way: templates.Link{Text: "Write the first page", Href: "/write"}},
	}
	return answer{title: "Newest", here: "/newest", live: true, body: page.Body()}, nil
}

// feed shows what is new by whom and on what the member follows.
func (s *Site) feed(v *visit) (answer, error) {
	member, err := v.member()
	if err != nil {
		return answer{}, err
	}
	list, err := s.app.Feed(v.Context(), member, v.FormValue("at"))
	if err != nil {
		return answer{}, err
	}
	page := pages.Listing{
		Title: "Feed",
		Words: "New pages by the people and on the topics you follow.",
		Rows:  rows(list.Entries, s.app.DB().Now()),
		Pager: around("/feed", list.Prev, list.Next, "Newer", "Older"),
		Empty: templates.Empty{Words: "You follow nobody yet who has written something since.", Way: templates.Link{Text: "Find a topic to follow", Href: "/topics"}},
	}
	return answer{title: "Feed", here: "/feed", body: page.Body()}, nil
}
