package web

import (
	"time"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/templates"
)

func (s *Site) footprints(v *visit, member string) error {
	all, err := s.app.Footprints(v.Context(), member)
	return v.show(frame{Title: "Footprints", Here: "/footprints"}, footprintsPage(all, s.now()), err)
}

// seen marks only the footprints that the form's page showed.
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

func unreadOf(all []ashiato.Footprint) (unread int) {
	for _, print := range all {
		if print.New {
			unread++
		}
	}
	return unread
}

func printsOf(all []ashiato.Footprint) (prints []templates.Footprint) {
	for _, p := range all {
		prints = append(prints, templates.Footprint{Who: linkTo(p.Guest), When: templates.Moment{At: p.At}, New: p.New})
	}
	return prints
}
