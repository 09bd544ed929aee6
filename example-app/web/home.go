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
	Ring, Tree drawing // of the newest pages and of the ranking
}

func (s *Site) home(v *visit) error {
	now, err := s.readHome(v.Context(), !v.hides())
	var trips func() int
	if s.config.Development {
		trips = func() int { return v.meter.Cost().Trips }
	}
	return v.show(frame{Here: "/", Script: "/live.js"}, homePage(now, trips, v.hides(), s.now()), err)
}

// keysAtHome is about the number of keys read for a drawing.
const keysAtHome = 30

func (s *Site) readHome(ctx context.Context, drawings bool) (*homeNow, error) {
	now := &homeNow{}
	read := func(ctx context.Context) (err error) { now.Home, err = s.app.Home(ctx); return err }
	if !drawings {
		return now, read(ctx)
	}
	return now, s.app.DB().SideBySide(ctx, read,
		func(ctx context.Context) (err error) {
			now.Ring, err = s.draw(ctx, newestList, "", keysAtHome)
			return err
		},
		func(ctx context.Context) (err error) {
			now.Tree, err = s.draw(ctx, weekList, "", keysAtHome)
			return err
		})
}

const hiding = "drawings"

func (v *visit) hides() bool {
	c, err := v.Cookie(hiding)
	return err == nil && c.Value == "hidden"
}

func (s *Site) setDrawings(v *visit) error {
	http.SetCookie(v.w, &http.Cookie{
		Name: hiding, Value: v.PostFormValue("drawings"), Path: "/", MaxAge: int(365 * 24 * time.Hour / time.Second),
		HttpOnly: true, Secure: !s.config.Development, SameSite: http.SameSiteLaxMode,
	})
	return v.redirect("/", nil)
}
