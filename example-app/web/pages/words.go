package pages

import (
	"strconv"
	"time"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/templates"
)

func pageLink(p *ashiato.Page) templates.Link {
	return templates.Link{Text: p.Title, Href: PagePath(p.Slug)}
}

// linkTo returns a link to a member. One who has left has no address.
func linkTo(m *ashiato.Member) templates.Link {
	if m == nil {
		return templates.Link{Text: "former member"}
	}
	return templates.Link{Text: m.Handle, Href: MemberPath(m.Handle)}
}

func linksTo(topics []string) []templates.Link {
	return templates.LinksTo("", topicPath(""), topics...)
}

// fact returns a number with what it counts, as a link if href is not empty.
func fact(n int64, one, many, href string) templates.Fact {
	f := templates.Counted(n, one, many)
	return templates.Fact{Figure: templates.Link{Text: f.Value, Href: href}, After: f.Unit}
}

// counted returns a number with what it counts: "1 page".
func counted(n int64, one, many string) string {
	return templates.Counted(n, one, many).Words()
}

// ago returns a time in the past as it reads in a list.
func ago(now, t time.Time) templates.Moment {
	return templates.Moment{Words: agoWords(now, t), At: t}
}

func agoWords(now, t time.Time) string {
	now, t = now.UTC(), t.UTC()
	past := now.Sub(t)
	switch {
	case past < time.Minute:
		return "now"
	case past < time.Hour:
		return strconv.Itoa(int(past.Minutes())) + " min"
	case past < 24*time.Hour:
		return strconv.Itoa(int(past.Hours())) + " hr"
	case past < 7*24*time.Hour:
		return counted(int64(past.Hours()/24), "day", "days")
	case t.Year() == now.Year():
		return t.Format("Jan 2")
	}
	return t.Format("Jan 2006")
}

// on returns a day as it reads in a sentence.
func on(t time.Time) string { return t.UTC().Format("January 2, 2006") }

// Moment returns a time as it reads in a sentence.
func Moment(t time.Time) string { return t.UTC().Format("January 2, 2006, 15:04 UTC") }

// Lasting returns a duration in words.
func Lasting(d time.Duration) string {
	switch {
	case d < time.Minute:
		return counted(max(1, int64(d.Seconds()+.5)), "second", "seconds")
	case d < time.Hour:
		return counted(int64(d.Minutes()+.5), "minute", "minutes")
	}
	return counted(int64(d.Hours()+.5), "hour", "hours")
}

// unlessRebuilding returns what a list says that is empty, or has to be rebuilt first.
func unlessRebuilding(rebuilding bool, empty templates.Empty) templates.Empty {
	if rebuilding {
		return templates.Empty{Words: "This list is being rebuilt. Try again in a few minutes."}
	}
	return empty
}
