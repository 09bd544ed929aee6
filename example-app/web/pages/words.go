package pages

import (
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
