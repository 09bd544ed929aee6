package web

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/kvmodel"
)

type membersData struct {
	Shown   int
	Members []*ashiato.Member
}

// memberList shows some members.
func (s *site) memberList(r *http.Request) (answer, error) {
	members, err := some(s.members.All(r.Context()), func(*ashiato.Member) bool { return true })
	if err != nil {
		return answer{}, err
	}
	sortByName(members)
	return answer{page: "members", title: "Members", data: membersData{shown, members}}, nil
}

// member shows the member with the handle in the path, in letters of any size.
func (s *site) member(r *http.Request) (answer, error) {
	member, err := s.members.ByHandle.Find(r.Context(), strings.ToLower(r.PathValue("handle")))
	if err != nil {
		return answer{}, err
	}
	return answer{page: "member", title: member.Handle, data: member}, nil
}

func memberPath(handle string) string { return "/m/" + url.PathEscape(handle) }

// signUp is the form of a new member.
type signUp struct {
	form
	ID     string
	Handle string
}

const joinTitle = "Sign up"

func (s *site) joinForm(*http.Request) (answer, error) {
	return answer{page: "join", title: joinTitle, data: &signUp{ID: kvmodel.NewID(s.now())}}, nil
}

// join makes the member whose handle was typed.
func (s *site) join(r *http.Request) (answer, error) {
	if err := readForm(r); err != nil {
		return answer{}, err
	}
	id, err := newID(r)
	if err != nil {
		return answer{}, err
	}
	f := &signUp{ID: id, Handle: line(r, "handle")}
	err = s.members.Create(r.Context(), &ashiato.Member{ID: id, Handle: f.Handle})
	if usedUp(err) {
		return s.joinedBefore(r, f)
	}
	if err != nil {
		return f.again(r, err, "join", joinTitle, f)
	}
	return answer{to: memberPath(f.Handle)}, nil
}

// joinedBefore answers a form whose member is there already: it was sent twice,
// or brought back and filled in anew.
func (s *site) joinedBefore(r *http.Request, f *signUp) (answer, error) {
	there, err := s.members.Get(r.Context(), f.ID)
	if err != nil {
		return f.again(r, err, "join", joinTitle, f)
	}
	if there.Handle == f.Handle {
		return answer{to: memberPath(f.Handle)}, nil
	}
	f.ID = kvmodel.NewID(s.now())
	f.Notice = "This form has signed up “" + there.Handle + "” before. Send it again to sign up another member."
	return answer{status: http.StatusConflict, page: "join", title: joinTitle, data: f}, nil
}
