package templates

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
)

// A FormError says why the form of a request was refused before anything was read of it.
type FormError struct {
	Status int    // of HTTP
	Words  string // for the visitor
}

func (e *FormError) Error() string { return e.Words }

// maxDrained is how much of a form that is too large is read to its end.
const maxDrained = 16 << 20

// ReadForm returns the fields of the form that r has in its body, of which the query is no
// part; nil for a GET, which has none. The error is a *FormError for a form of more than limit
// bytes, one that cannot be parsed, one that is not sent as browsers send forms without
// files, and a method other than GET, HEAD and POST.
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
		// A browser that still sends the form does not look for the answer, and shows a
		// broken connection instead. What cannot be read is not sent any more.
		_, _ = io.CopyN(io.Discard, body, maxDrained)
		size := bytesOf(limit)
		return nil, &FormError{http.StatusRequestEntityTooLarge, fmt.Sprintf("This form is too long: at most %s can be sent. Nothing was changed. Go back to your text and shorten it.", size.Words())}
	}
	if err != nil {
		return nil, &FormError{http.StatusBadRequest, "This form could not be read. Nothing was changed. Go back and send it again."}
	}
	return r.PostForm, nil
}
