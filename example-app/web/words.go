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
func hoodPath(slug string) string {
	if slug == "" {
		return "/hood"
	}
	return with("/hood", "page", slug)
}
func logInPath(next string) string    { return "/login?next=" + url.QueryEscape(local(next)) }
func at(path, cursor string) string   { return with(path, "at", cursor) }
func with(path, key, v string) string { return path + "?" + url.Values{key: {v}}.Encode() }

// local returns path if it leads to a place on this site, or "/".
func local(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(path, "/") ||
		strings.HasPrefix(path, "//") || strings.Contains(path, `\`) {
		return "/"
	}
	return path
}

// around returns the pager of a listing: to what is newer and to what is older.
func around(path, prev, next string, newer, older string) templates.Pager {
	var p templates.Pager
	if prev != "" {
		p.Back = templates.Link{Text: newer, Href: at(path, prev)}
	}
	if next != "" {
		p.On = templates.Link{Text: older, Href: at(path, next)}
	}
	return p
}

// Links to people and pages. Who is gone has no address.

func linkTo(m *ashiato.Member) templates.Link {
	if m == nil {
		return templates.Link{Text: "somebody who is gone"}
	}
	return templates.Link{Text: m.Handle, Href: memberPath(m.Handle)}
}

func linksTo(topics []string) []templates.Link {
	var links []templates.Link
	for _, topic := range topics {
		links = append(links, templates.Link{Text: topic, Href: topicPath(topic)})
	}
	return links
}

// rows returns pages as a feed shows them.
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

// views is a number of them; of none there is nothing to tell.
func views(n int64) templates.Figure {
	if n == 0 {
		return templates.Figure{}
	}
	return templates.Counted(n, "view", "views")
}

// ranked returns pages as a ranking shows them, with their share of the first
// one's score.
func ranked(placed []ashiato.Placed, first int64) []templates.Ranked {
	var all []templates.Ranked
	for _, p := range placed {
		row := templates.Ranked{
			Rank:   int64(p.Rank),
			Title:  templates.Link{Text: p.Title, Href: pagePath(p.Slug)},
			Meta:   []templates.Link{linkTo(p.By)},
			Figure: templates.Counted(p.Score, "view", "views"),
		}
		if first > 0 {
			row.Share = float64(p.Score) / float64(first)
		}
		all = append(all, row)
	}
	return all
}

// counted returns a number with what it counts: "1 page".
func counted(n int64, one, many string) string {
	f := templates.Counted(n, one, many)
	return f.Value + " " + f.Unit
}

// ago is a moment in the past as it is read in a list.
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
		return strconv.Itoa(int(past.Hours())) + " h"
	case past < 7*24*time.Hour:
		return day(int(past.Hours() / 24))
	case t.Year() == now.Year():
		return t.Format("2 Jan")
	}
	return t.Format("Jan 2006")
}

func day(n int) string {
	if n == 1 {
		return "1 day"
	}
	return strconv.Itoa(n) + " days"
}

// on is a day as it is read in a sentence.
func on(t time.Time) string { return t.UTC().Format("2 January 2006") }

// moment is a time as it is read in a sentence.
func moment(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04") }

// lasting is how long to wait, in words.
func lasting(d time.Duration) string {
	switch {
	case d < time.Minute:
		return counted(max(1, int64(d.Seconds()+.5)), "second", "seconds")
	case d < time.Hour:
		return counted(int64(d.Minutes()+.5), "minute", "minutes")
	}
	return counted(int64(d.Hours()+.5), "hour", "hours")
}
