package inspect

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/ringtree/ringtree/inspect/internal/console"
	"github.com/ringtree/ringtree/inspect/internal/face"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// HandlerOptions configure the guard, the address and the abilities of a Handler.
type HandlerOptions struct {
	// Guard returns an error if the sender may not look. It is required.
	Guard func(*http.Request) error

	// Base is the prefix of all paths, such as "/inspect", or empty.
	Base string

	// Command is the app's command for the same on a terminal; the default is db.
	Command string

	// Editable adds a form to the page of a record, for its texts, numbers, times and booleans that
	// are not private. Saving is an update as the app makes it, with its checks. If the record has
	// changed since it was shown, nothing is written.
	Editable bool

	// Log gets a line with the changed fields for each edit; the default is slog.Default.
	Log *slog.Logger
}

const facePatience = 10 * time.Second

// Handler returns pages for the state of the database, its models, records and indexes. Private
// fields are masked, and without o.Editable nothing is written. A request that the guard refuses
// gets a bare 403.
func Handler(in *Inspector, o HandlerOptions) (http.Handler, error) {
	if o.Guard == nil {
		return nil, fmt.Errorf("%w: inspect.Handler without a Guard: everyone could read the database", kvmodel.ErrInvalid)
	}
	if o.Base != "" && (!strings.HasPrefix(o.Base, "/") || o.Base == "/" || path.Clean(o.Base) != o.Base) {
		return nil, fmt.Errorf("%w: inspect.Handler: Base %q must be a path such as /inspect, or empty", kvmodel.ErrInvalid, o.Base)
	}
	o.Command, o.Log = cmp.Or(o.Command, "db"), cmp.Or(o.Log, slog.Default())
	return &faceHandler{in, o}, nil
}

type faceHandler struct {
	in *Inspector
	o  HandlerOptions
}

type faceView func(*faceHandler, context.Context, url.Values) (face.Page, error)

var faceViews = map[string]faceView{
	"":      (*faceHandler).statusPage,
	"model": (*faceHandler).modelPage, // ?model=
	"record": func(h *faceHandler, ctx context.Context, query url.Values) (face.Page, error) { // ?model=&id=
		return h.recordAsEntered(ctx, query.Get("model"), textOfID(query.Get("id")), nil)
	},
	"index": (*faceHandler).indexPage, // ?index=&value=&n=
}

// ServeHTTP answers any request.
func (h *faceHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protectFace(w.Header())
	if err := h.o.Guard(r); err != nil {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	if h.o.Editable && r.Method == http.MethodPost && r.URL.Path == h.at("record", nil) {
		h.save(w, r)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if r.URL.Path == h.o.Base && h.o.Base != "" {
		http.Redirect(w, r, h.at("", nil), http.StatusSeeOther)
		return
	}
	where, _ := strings.CutPrefix(r.URL.Path, h.o.Base+"/")
	if where == face.StyleName {
		answerFace(w, http.StatusOK, "text/css; charset=utf-8", face.Style)
		return
	}
	h.show(w, r, faceViews[where])
}

func protectFace(header http.Header) {
	header.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
}

// A nil view is a page that does not exist.
func (h *faceHandler) show(w http.ResponseWriter, r *http.Request, view faceView) {
	ctx, cancel := context.WithTimeout(r.Context(), facePatience)
	defer cancel()
	ctx, meter := kvmodel.Metered(ctx)
	p, err, status := face.Page{}, error(errNowhere), http.StatusOK
	if view != nil {
		p, err = view(h, ctx, r.URL.Query())
	}
	if err != nil {
		status, _ = faceStatus(err)
		p = failure(p, err)
	}
	if p.Cost == nil {
		p.Cost = costTexts(meter.Cost())
	}
	p.Style = h.at(face.StyleName, nil)
	if p.Title != faceHome {
		p.Trail = append([]face.Link{{Text: faceHome, Href: h.at("", nil)}}, p.Trail...)
	}
	var page bytes.Buffer
	if err := face.Document(p).Render(ctx, &page); err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	answerFace(w, status, "text/html; charset=utf-8", page.Bytes())
}

func answerFace(w http.ResponseWriter, status int, kind string, body []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	w.Write(body)
}

func (h *faceHandler) at(where string, query url.Values) string {
	to := h.o.Base + "/" + where
	if len(query) > 0 {
		to += "?" + query.Encode()
	}
	return to
}

func (h *faceHandler) modelAt(name string) string { return h.at("model", url.Values{"model": {name}}) }

func (h *faceHandler) recordAt(model, id string) string {
	return h.at("record", url.Values{"model": {model}, "id": {id}})
}

// A value that could be mistaken for a text of one is escaped.
func (h *faceHandler) indexAt(index, value string) string {
	query := url.Values{"index": {index}}
	if value != "" {
		query.Set("value", value)
	}
	return h.at("index", query)
}

func (h *faceHandler) command(args ...string) string { return commandLine(h.o.Command, args) }

type faceError struct {
	text string
	is   error
}

func (e faceError) Error() string { return e.text }
func (e faceError) Unwrap() error { return e.is }

var errNowhere = faceError{"There is no page at this address.", kvmodel.ErrNotFound}

var faceFailures = []struct {
	status int
	title  string
	errs   []error
}{
	{http.StatusNotFound, "Not found", []error{ErrUnknown, kvmodel.ErrNotFound}},
	{http.StatusBadRequest, "Invalid request", []error{kvmodel.ErrInvalid, kv.ErrTooLarge, kv.ErrBadKey}},
	{http.StatusForbidden, "Not allowed", []error{errOtherSite}},
	{http.StatusConflict, "Not possible now", []error{kv.ErrConflict, kv.ErrExists, kvmodel.ErrNeedsRebuild}},
}

func faceStatus(err error) (status int, title string) {
	for _, f := range faceFailures {
		if isAny(err, f.errs) {
			return f.status, f.title
		}
	}
	if kv.Failed(err) || ctxEnded(err) {
		return http.StatusServiceUnavailable, "The store does not answer"
	}
	return http.StatusInternalServerError, "The data cannot be read"
}

func failure(p face.Page, err error) face.Page {
	_, title := faceStatus(err)
	if p.Title != "" {
		p.Parts = append([]face.Part{faceProblem(title, err)}, p.Parts...)
		return p
	}
	p.Title, p.Lead = title, err.Error()
	return p
}

func faceProblem(title string, err error) face.Part {
	return face.Notes{Title: title, Texts: []face.Text{{Text: err.Error(), Wrong: true}}}
}

const faceHome = "Status"

func costTexts(c kv.Cost) []string {
	return []string{console.Some(c.Trips, "trip", "trips"), console.Some(c.Keys, "key", "keys"), console.Size(int64(c.Read))}
}

func faceText(text string) face.Cell { return face.Cell{{Text: text}} }
