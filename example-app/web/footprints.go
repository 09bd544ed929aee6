package web

import (
	"cmp"
	"strconv"
	"time"

	"github.com/ringtree/ringtree/example-app/web/pages"
)

// footprints shows who visited the member's profile.
func (s *Site) footprints(v *visit, member string) error {
	from, err := strconv.Atoi(cmp.Or(v.FormValue("from"), "1"))
	if err != nil || from < 1 {
		return errNoSuchPage
	}
	all, err := s.app.Footprints(v.Context(), member)
	if err != nil {
		return err
	}
	return v.show(pages.Frame{Title: "Footprints", Here: "/footprints"}, pages.Footprints(all, min(from-1, len(all)), s.now()))
}

// seen marks the footprints as seen that existed when the page with the button was
// made.
func (s *Site) seen(v *visit, member string) error {
	until, err := v.number("until")
	if err != nil {
		return err
	}
	at := time.UnixMilli(until)
	if now := s.now(); at.After(now) {
		at = now
	}
	return v.redirect("/footprints", s.app.Looked(v.Context(), member, at))
}
