package forum_test

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/ringtree/ringtree/examples/forum"
)

// reference is the site in maps, without an index. The numbers in it are right after count.
type reference struct {
	users    map[string]*forum.User
	stories  map[string]*forum.Story
	comments map[string]*forum.Comment
	votes    map[[2]string]forum.Vote
	saves    map[[2]string]time.Time
	hides    map[[2]string]bool
}

func newReference() *reference {
	return &reference{map[string]*forum.User{}, map[string]*forum.Story{}, map[string]*forum.Comment{}, map[[2]string]forum.Vote{}, map[[2]string]time.Time{}, map[[2]string]bool{}}
}

func (r *reference) count() {
	for _, u := range r.users {
		u.Karma = 0
	}
	for _, s := range r.stories {
		s.Comments, s.Votes, s.Score = 0, 0, 0
	}
	for _, c := range r.comments {
		r.stories[c.Story].Comments++
		c.Votes, c.Score = 0, 0
	}
	for _, v := range r.votes {
		if s := r.stories[v.Story]; s != nil {
			s.Votes, s.Score = s.Votes+1, s.Score+v.Value
		}
		if c := r.comments[v.Comment]; c != nil {
			c.Votes, c.Score = c.Votes+1, c.Score+v.Value
		}
		if u := r.users[v.Author]; u != nil {
			u.Karma += v.Value
		}
	}
}

func (r *reference) viewOf(name string, s *forum.Story) forum.StoryView {
	_, saved := r.saves[[2]string{name, s.ID}]
	return forum.StoryView{Story: s, Vote: r.votes[[2]string{name, s.ID}].Value, Saved: saved}
}

// page returns an empty page with the number of unread replies.
func (r *reference) page(name string) *forum.Page {
	p := new(forum.Page)
	if u := r.users[name]; u != nil {
		for _, c := range r.comments {
			if c.To == name && !c.Made.Before(u.Looked) {
				p.Unread++
			}
		}
	}
	return p
}

// list returns the stories to keep, in the order of compare, without those that the reader hides or
// mutes.
func (r *reference) list(name string, compare func(a, b *forum.Story) int, keep func(*forum.Story) bool) *forum.Page {
	var all []*forum.Story
	for id, s := range r.stories {
		unwanted := r.hides[[2]string{name, id}] || slices.ContainsFunc(s.Tags, func(tag string) bool {
			return name != "" && slices.Contains(r.users[name].Muted, tag)
		})
		if !unwanted && keep(s) {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, compare)
	p := r.page(name)
	for _, s := range all {
		p.Stories = append(p.Stories, r.viewOf(name, s))
	}
	return p
}

func newest(a, b *forum.Story) int { return b.Made.Compare(a.Made) }

// hottest has a formula of its own: a tenfold score outweighs 12.5 hours.
func hottest(a, b *forum.Story) int {
	heat := func(s *forum.Story) float64 {
		heat := float64(s.Made.UnixMilli()) / (12.5 * 3600 * 1000)
		if s.Score > 0 {
			heat += math.Log10(float64(s.Score))
		} else if s.Score < 0 {
			heat -= math.Log10(float64(-s.Score))
		}
		return heat
	}
	return cmp.Compare(heat(b), heat(a))
}

func (r *reference) remarks(name string, keep func(*forum.Comment) bool) (all []forum.CommentView) {
	for id, c := range r.comments {
		if keep(c) {
			all = append(all, forum.CommentView{Comment: c, On: r.stories[c.Story], Vote: r.votes[[2]string{name, id}].Value})
		}
	}
	slices.SortFunc(all, func(a, b forum.CommentView) int { return b.Made.Compare(a.Made) })
	return all
}

// below appends the comments on parent, each followed by those on it.
func (r *reference) below(name, story, parent string, depth int, all []forum.CommentView) []forum.CommentView {
	var here []*forum.Comment
	for _, c := range r.comments {
		if c.Story == story && c.Parent == parent {
			here = append(here, c)
		}
	}
	slices.SortFunc(here, func(a, b *forum.Comment) int {
		if a.Score != b.Score {
			return int(b.Score - a.Score)
		}
		return a.Made.Compare(b.Made)
	})
	for _, c := range here {
		all = append(all, forum.CommentView{Comment: c, Depth: depth, Vote: r.votes[[2]string{name, c.ID}].Value})
		all = r.below(name, story, c.ID, depth+1, all)
	}
	return all
}

func (r *reference) saved(name string) *forum.Page {
	p := r.page(name)
	for save := range r.saves {
		if save[0] == name {
			p.Stories = append(p.Stories, r.viewOf(name, r.stories[save[1]]))
		}
	}
	slices.SortFunc(p.Stories, func(a, b forum.StoryView) int {
		return r.saves[[2]string{name, b.ID}].Compare(r.saves[[2]string{name, a.ID}])
	})
	return p
}

func (r *reference) deleteStory(id string) {
	delete(r.stories, id)
	for c, comment := range r.comments {
		if comment.Story == id {
			delete(r.comments, c)
			dropIf(r.votes, func(v [2]string) bool { return v[1] == c })
		}
	}
	dropIf(r.votes, func(v [2]string) bool { return v[1] == id })
	dropIf(r.saves, func(s [2]string) bool { return s[1] == id })
	dropIf(r.hides, func(h [2]string) bool { return h[1] == id })
}

func (r *reference) deleteUser(name string) {
	delete(r.users, name)
	of := func(edge [2]string) bool { return edge[0] == name }
	dropIf(r.votes, of)
	dropIf(r.saves, of)
	dropIf(r.hides, of)
}

func dropIf[V any](all map[[2]string]V, drop func([2]string) bool) {
	for key := range all {
		if drop(key) {
			delete(all, key)
		}
	}
}
