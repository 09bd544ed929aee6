package web

import (
	"time"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/templates"
)

// footprints shows who visited the member's profile.
func (s *Site) footprints(v *visit, member string) error {
	all, err := s.app.Footprints(v.Context(), member)
	if err != nil {
		return err
	}
	return v.show(frame{Title: "Footprints", Here: "/footprints"}, footprintsPage(all, s.now()))
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

// unreadOf returns how many of the footprints are new.
func unreadOf(all []ashiato.Footprint) (unread int) {
	for _, print := range all {
		if print.New {
			unread++
		}
	}
	return unread
}

// byDay groups prints, which are newest first, by day.
func byDay(prints []ashiato.Footprint, now time.Time) []templates.Day {
	var all []templates.Day
	for _, p := range prints {
		title, when := dayOf(p.At.UTC(), now)
		if last := len(all) - 1; last < 0 || all[last].Title != title {
			all = append(all, templates.Day{Title: title})
		}
		last := &all[len(all)-1]
		last.Prints = append(last.Prints, templates.Footprint{Who: linkTo(p.Guest), Note: noteOf(p), When: templates.Moment{Words: when, At: p.At}, New: p.New})
	}
	return all
}

// noteOf returns the first words that a guest says about themselves.
func noteOf(p ashiato.Footprint) string {
	if p.Guest == nil {
		return ""
	}
	about := []rune(p.Guest.About)
	if len(about) > 60 {
		return string(about[:59]) + "…"
	}
	return string(about)
}

// dayOf returns the heading that a visit belongs under, and the visit's time as it
// reads there.
func dayOf(at, now time.Time) (title, when string) {
	today := now.Truncate(24 * time.Hour)
	switch {
	case !at.Before(today):
		return "Today", at.Format("15:04")
	case !at.Before(today.AddDate(0, 0, -1)):
		return "Yesterday", at.Format("15:04")
	case !at.Before(today.AddDate(0, 0, -7)):
		return "Past week", at.Format("Mon")
	}
	return "Earlier", at.Format("Jan 2")
}
