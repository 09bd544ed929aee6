package web

import (
	"strconv"
	"time"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/web/pages"
	"github.com/ringtree/ringtree/templates"
)

// printsShown is the number of footprints on one page.
const printsShown = 20

// footprints shows who visited the member's profile.
func (s *Site) footprints(v *visit, member string) (answer, error) {
	from, err := positionIn(v.FormValue("from"))
	if err != nil {
		return answer{}, err
	}
	all, err := s.app.Footprints(v.Context(), member)
	if err != nil {
		return answer{}, err
	}
	now := s.app.DB().Now().UTC()
	unread := 0
	for _, print := range all {
		if print.New {
			unread++
		}
	}
	begin := min(from-1, len(all))
	shown := all[begin:min(begin+printsShown, len(all))]
	page := pages.Footprints{
		Words:  visitors(unread, len(all)),
		Prints: templates.Footprints{Days: byDay(shown, now)},
		Pager:  printPager(begin, len(shown), len(all)),
		Keep:   "We keep your last 100 visitors from the past 30 days. Each appears once, at their latest visit. Older footprints melt.",
		Until:  strconv.FormatInt(now.UnixMilli(), 10),
		Unread: unread > 0,
	}
	return answer{title: "Footprints", here: "/footprints", body: page.Body()}, nil
}

func visitors(unread, all int) string {
	switch {
	case unread > 0:
		return counted(int64(unread), "new visitor", "new visitors") + " since you last checked."
	case all > 0:
		return "No new visitors since you last checked."
	}
	return "Members who view your profile leave a footprint here."
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

func noteOf(p ashiato.Footprint) string {
	if p.Guest == nil {
		return ""
	}
	return firstWords(p.Guest.About, 60)
}

// firstWords shortens text to at most limit characters.
func firstWords(text string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	return string(runes[:limit-1]) + "…"
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

func printPager(begin, shown, all int) templates.Pager {
	var p templates.Pager
	if begin > 0 {
		p.Back = templates.Link{Text: "Newer", Href: with("/footprints", "from", strconv.Itoa(max(1, begin+1-printsShown)))}
	}
	if begin+shown < all {
		p.On = templates.Link{Text: "Older", Href: with("/footprints", "from", strconv.Itoa(begin+shown+1))}
	}
	if shown > 0 {
		p.Words = templates.Span(int64(begin+1), int64(begin+shown), int64(all))
	}
	return p
}

// seen marks the footprints as seen that existed when the page with the button was
// made.
func (s *Site) seen(v *visit, member string) (answer, error) {
	until, err := strconv.ParseInt(v.PostFormValue("until"), 10, 64)
	if err != nil {
		return answer{}, errBadForm
	}
	at, now := time.UnixMilli(until), s.app.DB().Now()
	if at.After(now) {
		at = now
	}
	if err := s.app.Looked(v.Context(), member, at); err != nil {
		return answer{}, err
	}
	return answer{to: "/footprints"}, nil
}

// positionIn parses a position, counted from 1. Empty text means 1.
func positionIn(text string) (int, error) {
	if text == "" {
		return 1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, errNoSuchPage
	}
	return n, nil
}
