package web

import "net/http"

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
	return func(s *Site, v *visit) (answer, error) {
		member, err := v.member()
		switch {
		case err != nil:
			return answer{}, err
		case member != "":
			return handle(s, v, member)
		case v.Method == http.MethodGet || v.Method == http.MethodHead:
			return answer{to: logInPath(v.URL.RequestURI())}, nil
		}
		return answer{}, errSignedOut
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
