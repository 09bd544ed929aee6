package web

import (
	"context"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/web/pages"
	"github.com/ringtree/ringtree/templates"
)

// profile shows the member with the handle in the path, and leaves a footprint.
func (s *Site) profile(v *visit) (answer, error) {
	member, err := v.member()
	if err != nil {
		return answer{}, err
	}
	profile, err := s.app.Profile(v.Context(), member, v.PathValue("handle"), v.FormValue("at"))
	if err != nil {
		return answer{}, err
	}
	if v.looks() {
		if err := s.app.Visit(v.Context(), member, profile.Member.ID); err != nil {
			return answer{}, err
		}
	}
	m := profile.Member
	path := memberPath(m.Handle)
	page := pages.Profile{
		Handle: m.Handle, About: m.About, Own: member == m.ID,
		Joined: "Here since " + on(m.Joined) + ".",
		Facts:  profileFacts(m),
		Follow: pages.Follow{Action: path, Following: profile.Followed},
		Rows:   rows(profile.Pages.Entries, s.app.DB().Now()),
		Pager:  around(path, profile.Pages.Prev, profile.Pages.Next, "Newer", "Older"),
	}
	for i := range page.Rows {
		page.Rows[i].Meta = page.Rows[i].Meta[1:]
	}
	return answer{title: m.Handle, body: page.Body()}, nil
}

func profileFacts(m *ashiato.Member) templates.Facts {
	followers := templates.Counted(m.Followers, "follower", "followers")
	return templates.Facts{Facts: []templates.Fact{
		{Figure: templates.Link{Text: followers.Value, Href: memberPath(m.Handle) + "/followers"}, After: followers.Unit},
		{Before: "follows", Figure: templates.Link{Text: templates.Grouped(m.Following)}},
	}}
}

// followers shows who follows a member.
func (s *Site) followers(v *visit) (answer, error) {
	m, err := s.app.Find(v.Context(), v.PathValue("handle"))
	if err != nil {
		return answer{}, err
	}
	list, err := s.app.Followers(v.Context(), m.ID, v.FormValue("at"))
	if err != nil {
		return answer{}, err
	}
	words := counted(m.Followers, "member follows", "members follow") + " " + m.Handle + "."
	page := people("Followers of "+m.Handle, words, memberPath(m.Handle)+"/followers", list)
	return answer{title: page.Title, body: page.Body()}, nil
}

// follow and unfollow change whether the member follows another one.
func (s *Site) follow(v *visit) (answer, error)   { return s.tie(v, s.app.Follow) }
func (s *Site) unfollow(v *visit) (answer, error) { return s.tie(v, s.app.Unfollow) }

func (s *Site) tie(v *visit, change func(ctx context.Context, who, whom string) error) (answer, error) {
	member, err := v.signedIn()
	if err != nil {
		return answer{}, err
	}
	other, err := s.app.Find(v.Context(), v.PathValue("handle"))
	if err != nil {
		return answer{}, err
	}
	if err := change(v.Context(), member, other.ID); err != nil {
		return answer{}, err
	}
	return answer{to: memberPath(other.Handle)}, nil
}
