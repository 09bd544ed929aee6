package web

import (
	"strconv"
	"time"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/web/pages"
	"github.com/ringtree/ringtree/templates"
)

// printsShown is how many footprints one page shows.
const printsShown = 20

// footprints shows who came by the member's profile.
func (s *Site) footprints(v *visit) (answer, error) {
	member, err := v.signedIn()
	if err != nil {
		return answer{}, err
	}
	from, err := placeIn(v.FormValue("from"))
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
		Words:  walkedPast(unread, len(all)),
		Prints: templates.Footprints{Days: byDay(shown, now)},
		Pager:  printPager(begin, len(shown), len(all)),
		Keep:   "Your last 100 visitors of 30 days. Each appears once, at the latest visit; older prints melt.",
		Until:  strconv.FormatInt(now.UnixMilli(), 10),
		Unread: unread > 0,
	}
	return answer{title: "Footprints", here: "/footprints", body: page.Body()}, nil
}

func walkedPast(unread, all int) string {
	switch {
	case unread > 0:
		return counted(int64(unread), "member", "members") + " walked past since you looked."
	case all > 0:
		return "Nobody new walked past since you looked."
	}
	return "Whoever looks at your profile leaves a print here."
}

// byDay returns prints, newest first, by the day.
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
	if p.Guest == nil || p.Guest.About == "" {
		return ""
	}
	return firstWords(p.Guest.About, 60)
}

// firstWords returns the beginning of text, of at most limit characters.
func firstWords(text string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	return string(runes[:limit-1]) + "…"
}

// dayOf returns under which day a visit stands, and how its time is told there.
func dayOf(at, now time.Time) (title, when string) {
	today := now.Truncate(24 * time.Hour)
	switch {
	case !at.Before(today):
		return "Today", at.Format("15:04")
	case !at.Before(today.AddDate(0, 0, -1)):
		return "Yesterday", at.Format("15:04")
	case !at.Before(today.AddDate(0, 0, -7)):
		return "Last week", at.Format("Mon")
	}
	return "Earlier", at.Format("2 Jan")
}

func printPager(begin, shown, all int) templates.Pager {
	var p templates.Pager
	if begin > 0 {
		p.Back = templates.Link{Text: "Later", Href: with("/footprints", "from", strconv.Itoa(max(1, begin+1-printsShown)))}
	}
	if begin+shown < all {
		p.On = templates.Link{Text: "Earlier", Href: with("/footprints", "from", strconv.Itoa(begin+shown+1))}
	}
	if shown > 0 {
		p.Words = templates.Span(int64(begin+1), int64(begin+shown), int64(all))
	}
	return p
}

// seen notes that the member has seen the footprints up to when the page with
// the button was made.
func (s *Site) seen(v *visit) (answer, error) {
	if err := readForm(v); err != nil {
		return answer{}, err
	}
	member, err := v.signedIn()
	if err != nil {
		return answer{}, err
	}
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

// placeIn reads the number of a place; none is the first.
func placeIn(text string) (int, error) {
	if text == "" {
		return 1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, errNoSuchPage
	}
	return n, nil
}
