package web

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/a-h/templ"

	"github.com/ringtree/ringtree/guard"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/templates"
)

// list is an index that is drawn under the hood.
type list struct{ index, title string }

var (
	newestList = list{"Page.Newest", "Newest pages"}
	weekList   = list{"Page.TopViewsPerWeek", "Popular this week"}
	topicList  = list{"Page.ByTopics", "Pages on a topic"}

	lists = []list{newestList, weekList, {"Page.TopViews", "Most viewed pages"}, {"Page.TopLikes", "Most liked pages"},
		{"Topic.TopPages", "Largest topics"}, {"Member.Newcomers", "Newest members"}, topicList}
)

// killed, as ?list=, draws the lists that would have the page of a killed writer.
const killed = "killed"

// drawing shows the current keys of a list in the store.
type drawing struct {
	list
	Of         string // the topic
	Pictures   []templ.Component
	Rebuilding bool // the list has to be rebuilt first
}

func (s *Site) hood(v *visit) error {
	index, of := v.FormValue("list"), v.FormValue("of")
	all, err := s.drawAll(v.Context(), index, of)
	var killing templ.Component = templ.NopComponent
	if s.config.Kill != nil {
		killing = killSection(kv.PowersOf(s.app.DB().Store()).Atomic != nil, index == killed)
	}
	where := "Everything is in one store (" + s.config.Kind + ")"
	if s.config.Tenant != "" {
		where += ", under keys that start with " + s.config.Tenant
	}
	page := hoodPage(all, where+".", with("/live", "show", "hood", "list", index, "of", of), killing)
	return v.show(frame{Title: "Under the hood", Here: "/hood", Script: "/live.js"}, page, err)
}

var kills = guard.Limit{What: "kills-from", Times: 20, Per: time.Hour}

func (s *Site) kill(v *visit) error {
	if s.config.Kill == nil {
		return errNoSuchPage
	}
	if err := s.app.Allow(v.Context(), guard.Try{Limit: kills, Who: v.from()}); err != nil {
		return err
	}
	topic, err := s.config.Kill(v.Context())
	return v.redirect(with("/hood", "list", killed, "of", topic), err)
}

// drawAll draws the list of an index, or two by default.
func (s *Site) drawAll(ctx context.Context, index, of string) ([]drawing, error) {
	shown := []list{newestList, weekList}
	if index == killed {
		shown = []list{newestList, topicList}
	} else if index != "" {
		at := slices.IndexFunc(lists, func(l list) bool { return l.index == index })
		if at < 0 {
			return nil, errNoSuchPage
		}
		shown = lists[at : at+1]
	}
	var all []drawing
	for _, l := range shown {
		d, err := s.draw(ctx, l, of, 300)
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}

// draw reads about so many keys.
func (s *Site) draw(ctx context.Context, l list, of string, keys int) (d drawing, err error) {
	d.list = l
	if l == topicList {
		d.Of = of
		if _, err := s.app.Models.Topics.Get(ctx, of); err != nil {
			return d, err
		}
	}
	d.Pictures, err = s.database.Pictures(ctx, l.index, d.Of, keys)
	if errors.Is(err, kvmodel.ErrNeedsRebuild) {
		d.Rebuilding, err = true, nil
	}
	return d, err
}

func (d drawing) litSince(before drawing) drawing {
	lit := make([]templ.Component, len(d.Pictures))
	for i, p := range d.Pictures {
		if lit[i] = p; i < len(before.Pictures) {
			lit[i] = templates.LitSince(p, before.Pictures[i])
		}
	}
	d.Pictures = lit
	return d
}
