package web

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/templates"
)

// A list is an index that visitors see, and that is drawn under the hood.
type list struct {
	index, title string
	of           string // whose it is: "topic" or "member"; "" for that of the site
}

var lists = []list{
	{"Page.Newest", "Newest pages", ""},
	{"Page.TopViews", "Most viewed pages", ""},
	{"Page.TopLikes", "Most liked pages", ""},
	{"Topic.TopPages", "Largest topics", ""},
	{"Member.Newcomers", "Newest members", ""},
	{"Page.ByTopics", "Pages on a topic", "topic"},
	{"Page.NewestByAuthor", "Pages of a member", "member"},
	{"Follow.ByFollowed", "Followers of a member", "member"},
}

// A drawing is how a list lies in the store now.
type drawing struct {
	list
	Of         string // the topic, or the handle of the member
	Pictures   []templ.Component
	Rebuilding bool // the list has to be rebuilt first
}

// hood draws one list of the site, or the newest pages and the ranking.
func (s *Site) hood(v *visit) error {
	query := v.URL.Query()
	all, err := s.draw(v.Context(), query)
	if err != nil {
		return err
	}
	live := "/live?" + url.Values{"hood": {""}, "list": query["list"], "of": query["of"]}.Encode()
	return v.show(frame{Title: "Under the hood", Here: "/hood", Script: "/live.js"}, hoodPage(all, s.storeWords(), live))
}

// draw draws the list that a query names, or two that show most.
func (s *Site) draw(ctx context.Context, query url.Values) ([]drawing, error) {
	all := []drawing{{list: lists[0]}, {list: lists[1]}}
	if name := query.Get("list"); name != "" {
		at := slices.IndexFunc(lists, func(l list) bool { return l.index == name })
		if at < 0 {
			return nil, errNoSuchPage
		}
		all = []drawing{{list: lists[at], Of: query.Get("of")}}
	}
	for i := range all {
		d := &all[i]
		if d.of != "" && d.Of == "" {
			continue // Whose it is has yet to be said.
		}
		value, err := s.valueOf(ctx, *d)
		if err != nil {
			return nil, err
		}
		pictures, err := s.database.Pictures(ctx, d.index, value)
		if d.Pictures, d.Rebuilding = pictures, errors.Is(err, kvmodel.ErrNeedsRebuild); err != nil && !d.Rebuilding {
			return nil, err
		}
	}
	return all, nil
}

// valueOf returns the value of the index of a list that is a topic's or a member's.
func (s *Site) valueOf(ctx context.Context, d drawing) (value string, err error) {
	switch d.of {
	case "topic":
		value = d.Of
		_, err = s.app.Models.Topics.Get(ctx, d.Of)
	case "member":
		m, failed := s.app.Find(ctx, d.Of)
		if err = failed; err == nil {
			value = m.ID
		}
	}
	return value, err
}

// storeWords says where the data is.
func (s *Site) storeWords() string {
	words := "Everything is in one store (" + s.config.Kind + ")"
	if s.config.Tenant != "" {
		words += ", under keys that start with " + s.config.Tenant
	}
	return words + "."
}

// lit returns the markup of drawings on one line, with what was not so before lit, or "" if all
// was.
func lit(now, before []drawing) string {
	changed := false
	var markup strings.Builder
	for i := range now {
		d := now[i]
		d.Pictures = slices.Clone(d.Pictures)
		for j, p := range d.Pictures {
			var was templ.Component
			if j < len(before[i].Pictures) {
				was = before[i].Pictures[j]
			}
			switch p := p.(type) {
			case templates.RingPicture:
				was, _ := was.(templates.RingPicture)
				p.Lit = newSlots(p, was)
				d.Pictures[j], changed = p, changed || len(p.Lit) > 0
			case templates.TreePicture:
				was, _ := was.(templates.TreePicture)
				p.Lit = newNodes(p.Root, was.Root)
				d.Pictures[j], changed = p, changed || len(p.Lit) > 0
			case templates.ListPicture:
				was, _ := was.(templates.ListPicture)
				changed = changed || !slices.Equal(p.Segments, was.Segments)
			}
		}
		// Without a deadline, nothing fails.
		_ = drawn(d).Render(context.Background(), &markup)
	}
	if !changed {
		return ""
	}
	return strings.ReplaceAll(markup.String(), "\n", " ")
}

// newSlots returns the slots of a ring that were not so before, counted over all segments.
func newSlots(now, before templates.RingPicture) (all []int) {
	n := 0
	for i, segment := range now.Segments {
		for j, slot := range segment.Slots {
			same := i < len(before.Segments) && j < len(before.Segments[i].Slots) && before.Segments[i].Slots[j] == slot
			if !same && slot != templates.Unwritten {
				all = append(all, n)
			}
			n++
		}
	}
	return all
}

// newNodes returns the names of nodes of a tree, from now down, that held another number of
// entries before.
func newNodes(now, before templates.Node) (all []string) {
	if now.Count != before.Count {
		all = append(all, now.Name)
	}
	for _, child := range now.Children {
		at := slices.IndexFunc(before.Children, func(b templates.Node) bool { return b.Name == child.Name })
		was := templates.Node{}
		if at >= 0 {
			was = before.Children[at]
		}
		all = append(all, newNodes(child, was)...)
	}
	return all
}
