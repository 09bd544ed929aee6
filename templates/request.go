package templates

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
)

// FormError is the reason for rejecting a form before any of it is used.
type FormError struct {
	Status int    // of HTTP
	Words  string // for the visitor
}

func (e *FormError) Error() string { return e.Words }

// maxDrained bytes of a form that is too long are read and dropped.
const maxDrained = 16 << 20

// ReadForm returns the fields in the body of r, nil for a GET or HEAD. The error is a *FormError if
// the body has more than limit bytes or cannot be parsed, or for another type or method.
func ReadForm(w http.ResponseWriter, r *http.Request, limit int64) (url.Values, error) {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		return nil, nil
	case http.MethodPost:
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		return nil, &FormError{http.StatusMethodNotAllowed, "This address takes no requests of this kind."}
	}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/x-www-form-urlencoded" {
		return nil, &FormError{http.StatusUnsupportedMediaType, "This is not a form as a page of this site sends it. Nothing was changed."}
	}
	body := r.Body
	r.Body = http.MaxBytesReader(w, body, limit)
	err := r.ParseForm()
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		// A browser that is still sending would show a broken connection. Errors do not matter:
		// then it has stopped.
		_, _ = io.CopyN(io.Discard, body, maxDrained)
		size := bytesOf(limit)
		return nil, &FormError{http.StatusRequestEntityTooLarge, fmt.Sprintf("This form is too long: at most %s can be sent. Nothing was changed. Go back to your text and shorten it.", size.Words())}
	}
	if err != nil {
		return nil, &FormError{http.StatusBadRequest, "This form could not be read. Nothing was changed. Go back and send it again."}
	}
	return r.PostForm, nil
}
