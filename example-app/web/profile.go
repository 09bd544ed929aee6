package web

import (
	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/web/pages"
	"github.com/ringtree/ringtree/templates"
)

// profile shows the member whose handle is in the path, and leaves a footprint.
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
		Joined: joined(m),
		Facts:  profileFacts(m),
		Follow: pages.Follow{Action: path, Following: profile.Followed},
		Rows:   rowsWithTopics(profile.Pages.Entries, s.app.DB().Now()),
		Pager:  byAge(path, profile.Pages.Prev, profile.Pages.Next),
		Empty:  unlessRebuilding(profile.Pages.Rebuilding, templates.Empty{Words: m.Handle + " hasn’t written anything yet."}),
	}
	return answer{title: m.Handle, body: page.Body()}, nil
}

func profileFacts(m *ashiato.Member) templates.Facts {
	return templates.Facts{Facts: []templates.Fact{
		fact(m.Followers, "follower", "followers", memberPath(m.Handle)+"/followers"),
		{Figure: templates.Link{Text: templates.Grouped(m.Following)}, After: "following"},
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
