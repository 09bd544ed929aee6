package web

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/templates"
)

// Addresses.

func pagePath(slug string) string     { return "/p/" + url.PathEscape(slug) }
func memberPath(handle string) string { return "/m/" + url.PathEscape(handle) }
func topicPath(name string) string    { return "/t/" + url.PathEscape(name) }
func editPath(id string) string       { return "/edit/" + url.PathEscape(id) }
func historyPath(id string) string    { return "/history/" + url.PathEscape(id) }
func restorePath(id string) string    { return "/restore/" + url.PathEscape(id) }
func hoodPath(slug string) string {
	if slug == "" {
		return "/hood"
	}
	return with("/hood", "page", slug)
}
func logInPath(next string) string    { return "/login?next=" + url.QueryEscape(local(next)) }
func at(path, cursor string) string   { return with(path, "at", cursor) }
func with(path, key, v string) string { return path + "?" + url.Values{key: {v}}.Encode() }

// local returns path if it leads to this site, and "/" otherwise.
func local(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(path, "/") ||
		strings.HasPrefix(path, "//") || strings.Contains(path, `\`) {
		return "/"
	}
	return path
}

// byAge returns the pager of a listing that is sorted by time.
func byAge(path, prev, next string) templates.Pager {
	return pagerOf(prev, next, "Newer", "Older", func(cursor string) string { return at(path, cursor) })
}

// inOrder returns the pager of a listing in any other order.
func inOrder(path, prev, next string) templates.Pager {
	return pagerOf(prev, next, "Previous", "Next", func(cursor string) string { return at(path, cursor) })
}

// pagerOf returns links to the addresses of two cursors. For an empty cursor there is
// none.
func pagerOf(prev, next, back, on string, address func(cursor string) string) templates.Pager {
	var p templates.Pager
	if prev != "" {
		p.Back = templates.Link{Text: back, Href: address(prev)}
	}
	if next != "" {
		p.On = templates.Link{Text: on, Href: address(next)}
	}
	return p
}

// Links to members and topics. A member who has left has no address.

func linkTo(m *ashiato.Member) templates.Link {
	if m == nil {
		return templates.Link{Text: "former member"}
	}
	return templates.Link{Text: m.Handle, Href: memberPath(m.Handle)}
}

func linksTo(topics []string) []templates.Link {
	return templates.LinksTo("", topicPath(""), topics...)
}

// rows returns pages as rows of a feed.
func rows(entries []ashiato.Entry, now time.Time) []templates.Row {
	var all []templates.Row
	for _, e := range entries {
		all = append(all, templates.Row{
			When:   ago(now, e.Published),
			Title:  templates.Link{Text: e.Title, Href: pagePath(e.Slug)},
			Meta:   append([]templates.Link{linkTo(e.By)}, linksTo(e.Topics[:min(2, len(e.Topics))])...),
			Figure: views(e.Views),
			New:    e.Views == 0,
		})
	}
	return all
}

// views returns a number of views, or nothing for 0.
func views(n int64) templates.Figure {
	if n == 0 {
		return templates.Figure{}
	}
	return templates.Counted(n, "view", "views")
}

// ranked returns pages as rows of a ranking, whose bars are relative to the score of the
// first. For a first of 0 there are no bars.
func ranked(placed []ashiato.Placed, first int64, o order) []templates.Ranked {
	var all []templates.Ranked
	for _, p := range placed {
		row := templates.Ranked{
			Rank:   int64(p.Rank),
			Title:  templates.Link{Text: p.Title, Href: pagePath(p.Slug)},
			Meta:   []templates.Link{linkTo(p.By)},
			Figure: templates.Counted(p.Score, o.one, o.many),
			Moved:  p.Up, New: p.New, Known: p.Known,
		}
		if first > 0 {
			row.Share = float64(p.Score) / float64(first)
		}
		all = append(all, row)
	}
	return all
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

func joined(m *ashiato.Member) string { return "Joined " + on(m.Joined) }

// moment returns a time as it reads in a sentence.
func moment(t time.Time) string { return t.UTC().Format("January 2, 2006, 15:04 UTC") }

// lasting returns a duration in words.
func lasting(d time.Duration) string {
	switch {
	case d < time.Minute:
		return counted(max(1, int64(d.Seconds()+.5)), "second", "seconds")
	case d < time.Hour:
		return counted(int64(d.Minutes()+.5), "minute", "minutes")
	}
	return counted(int64(d.Hours()+.5), "hour", "hours")
}
