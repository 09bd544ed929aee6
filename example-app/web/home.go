package web

import (
	"context"
	"net/http"
	"time"

	"github.com/ringtree/ringtree/example-app/ashiato"
)

// homeNow is the current content of the home page.
type homeNow struct {
	*ashiato.Home
	Ring, Tree drawing // of the newest pages and of the ranking; without pictures if they are hidden
}

// home shows the newest and the most popular pages.
func (s *Site) home(v *visit) error {
	now, err := s.readHome(v.Context(), !v.hides())
	if err != nil {
		return err
	}
	var trips func() int
	if s.config.Development {
		trips = func() int { return v.meter.Cost().Trips }
	}
	return v.show(frame{Here: "/", Script: "/live.js"}, homePage(now, trips, v.hides(), s.now()))
}

// keysAtHome is the approximate number of keys read for a drawing on the home page.
const keysAtHome = 30

// readHome reads the content of the home page.
func (s *Site) readHome(ctx context.Context, drawings bool) (*homeNow, error) {
	now := &homeNow{}
	works := []func(ctx context.Context) error{func(ctx context.Context) (err error) { now.Home, err = s.app.Home(ctx); return err }}
	if drawings {
		works = append(works,
			func(ctx context.Context) (err error) {
				now.Ring, err = s.draw(ctx, newestList, "", keysAtHome)
				return err
			},
			func(ctx context.Context) (err error) {
				now.Tree, err = s.draw(ctx, weekList, "", keysAtHome)
				return err
			})
	}
	return now, s.app.DB().SideBySide(ctx, works...)
}

// hiding is the cookie of visitors without the drawings on the home page.
const hiding = "drawings"

// hides reports whether the visitor has hidden the drawings.
func (v *visit) hides() bool {
	c, err := v.Cookie(hiding)
	return err == nil && c.Value == "hidden"
}

// setDrawings hides the drawings of the home page, or shows them again.
func (s *Site) setDrawings(v *visit) error {
	http.SetCookie(v.w, &http.Cookie{
		Name: hiding, Value: v.PostFormValue("drawings"), Path: "/", MaxAge: int(365 * 24 * time.Hour / time.Second),
		HttpOnly: true, Secure: !s.config.Development, SameSite: http.SameSiteLaxMode,
	})
	return v.redirect("/", nil)
}
