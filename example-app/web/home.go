package web

import (
	"context"

	"github.com/ringtree/ringtree/example-app/ashiato"
)

// feedAtHome is the number of rows that the home page shows of the feed.
const feedAtHome = 4

// home shows the newest and the most popular pages, and to members the top of
// their feed.
func (s *Site) home(v *visit) error {
	var home *ashiato.Home
	var feed []ashiato.Entry
	err := s.app.DB().SideBySide(v.Context(),
		func(ctx context.Context) (err error) { home, err = s.app.Home(ctx); return err },
		func(ctx context.Context) error {
			member, err := v.member()
			if err == nil && member != "" {
				feed, err = s.app.FeedTop(ctx, member, feedAtHome)
			}
			return err
		})
	if err != nil {
		return err
	}
	var trips func() int
	if s.config.Development {
		trips = func() int { return v.meter.Cost().Trips }
	}
	return v.show(frame{Here: "/", Script: "/live.js"}, homePage(home, feed, trips, s.now()))
}

// newest shows all pages, the newest first.
func (s *Site) newest(v *visit) error {
	list, err := s.app.Newest(v.Context(), v.FormValue("at"))
	if err != nil {
		return err
	}
	return v.show(frame{Title: "Newest", Here: "/newest", Script: "/live.js"}, newestPage(list, s.now()))
}

// feed shows new pages by the members and on the topics that the member follows.
func (s *Site) feed(v *visit, member string) error {
	list, err := s.app.Feed(v.Context(), member, v.FormValue("at"))
	if err != nil {
		return err
	}
	return v.show(frame{Title: "Feed", Here: "/feed"}, feedPage(list, s.now()))
}
