package pages

import (
	"strconv"
	"time"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/templates"
)

// printsShown is the number of footprints on one page.
const printsShown = 20

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
		p.Back = templates.Link{Text: "Newer", Href: With("/footprints", "from", strconv.Itoa(max(1, begin+1-printsShown)))}
	}
	if begin+shown < all {
		p.On = templates.Link{Text: "Older", Href: With("/footprints", "from", strconv.Itoa(begin+shown+1))}
	}
	if shown > 0 {
		p.Words = templates.Span(int64(begin+1), int64(begin+shown), int64(all))
	}
	return p
}
