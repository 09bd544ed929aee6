package web

import (
	"context"
	"net/http"

	"github.com/ringtree/ringtree/example-app/ashiato"
)

// A handler decides what to answer. An error becomes a page by the table in
// outcome.go.
type handler func(*Site, *visit) (answer, error)

// withForm returns a handler that reads the form before it calls handle.
func withForm(handle handler) handler {
	return func(s *Site, v *visit) (answer, error) {
		if err := readForm(v); err != nil {
			return answer{}, err
		}
		return handle(s, v)
	}
}

// A memberHandler is a handler for members alone. It also gets the member's id.
type memberHandler func(s *Site, v *visit, member string) (answer, error)

// members returns a handler that calls handle for members. It sends guests to log in
// and come back, and refuses their forms.
func members(handle memberHandler) handler {
	return membersOr(handle, func(_ *Site, v *visit) (answer, error) {
		if v.Method == http.MethodGet || v.Method == http.MethodHead {
			return answer{to: logInPath(v.URL.RequestURI())}, nil
		}
		return answer{}, errSignedOut
	})
}

// membersOr returns a handler that calls handle for members, and guests for guests.
func membersOr(handle memberHandler, guests handler) handler {
	return func(s *Site, v *visit) (answer, error) {
		member, err := v.member()
		switch {
		case err != nil:
			return answer{}, err
		case member != "":
			return handle(s, v, member)
		}
		return guests(s, v)
	}
}

// membersWithForm is members for a handler that needs the form.
func membersWithForm(handle memberHandler) handler {
	return members(func(s *Site, v *visit, member string) (answer, error) {
		if err := readForm(v); err != nil {
			return answer{}, err
		}
		return handle(s, v, member)
	})
}

// tie returns a handler that makes the member follow another one, or end that.
func tie(change func(s *ashiato.Site, ctx context.Context, who, whom string) error) memberHandler {
	return func(s *Site, v *visit, member string) (answer, error) {
		other, err := s.app.Find(v.Context(), v.PathValue("handle"))
		if err != nil {
			return answer{}, err
		}
		if err := change(s.app, v.Context(), member, other.ID); err != nil {
			return answer{}, err
		}
		return answer{to: memberPath(other.Handle)}, nil
	}
}

// interest returns a handler that makes the member follow a topic, or end that.
func interest(change func(s *ashiato.Site, ctx context.Context, who, name string) error) memberHandler {
	return func(s *Site, v *visit, member string) (answer, error) {
		name := v.PathValue("topic")
		if err := change(s.app, v.Context(), member, name); err != nil {
			return answer{}, err
		}
		return answer{to: topicPath(name)}, nil
	}
}
