package inspect

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/ringtree/ringtree/inspect/internal/face"
	"github.com/ringtree/ringtree/kvmodel"
)

// HandlerOptions say who may see the pages of a Handler, where they are, and if they can write.
type HandlerOptions struct {
	// Guard returns an error for a request whose sender may not look. There must be one.
	Guard func(*http.Request) error

	// Base is what the paths of the pages begin with, such as "/inspect"; "": nothing.
	Base string

	// Command is how the app's command is called that shows the same on a terminal; "": db.
	Command string

	// Editable adds a form to the page of a record, for those of its fields that are not private:
	// texts, numbers, times, true or false. Saving makes an update as the app does, with its
	// Validate, its unique values and its OnChange; if the record has changed since it was shown,
	// nothing is written.
	Editable bool

	// Log gets a line for each edit, with the names of the fields and the context of the request;
	// nil: slog.Default().
	Log *slog.Logger
}

// facePatience limits how long a page may take.
const facePatience = 10 * time.Second

// Handler returns pages that show the state of the database, its models, and what a record, an
// index or a key holds. Private fields stay masked, and unless o.Editable is set, the pages write
// nothing. A request that the guard refuses is answered with 403 and nothing else.
func Handler(in *Inspector, o HandlerOptions) (http.Handler, error) {
	if o.Guard == nil {
		return nil, fmt.Errorf("%w: inspect.Handler without a Guard: everyone could read the database", kvmodel.ErrInvalid)
	}
	if o.Base != "" && (!strings.HasPrefix(o.Base, "/") || o.Base == "/" || path.Clean(o.Base) != o.Base) {
		return nil, fmt.Errorf("%w: inspect.Handler: Base %q must be a path such as /inspect, or empty", kvmodel.ErrInvalid, o.Base)
	}
	if o.Command == "" {
		o.Command = "db"
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &faceHandler{in, o}, nil
}

// faceHandler answers the requests of a Handler.
type faceHandler struct {
	in *Inspector
	o  HandlerOptions
}

// A faceView makes the page that a request asks for. With an error, the page is what can be
// shown all the same.
type faceView func(*faceHandler, context.Context, url.Values) (face.Page, error)

// faceViews are the pages by their paths below the base.
var faceViews = map[string]faceView{
	"":       (*faceHandler).statusPage,
	"model":  (*faceHandler).modelPage,  // ?model=
	"record": (*faceHandler).recordPage, // ?model=&id=
	"index":  (*faceHandler).indexPage,  // ?index=&value=&n=
	"key":    (*faceHandler).keyPage,    // ?key=
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

// protectFace sets the headers that keep a browser from doing more with an answer than
// showing it, and from keeping it.
func protectFace(header http.Header) {
	header.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
}

// show answers with what view makes, nil if there is no such page.
func (h *faceHandler) show(w http.ResponseWriter, r *http.Request, view faceView) {
	ctx, cancel := context.WithTimeout(r.Context(), facePatience)
	defer cancel()
	ctx, meter := kvmodel.Metered(ctx)
	if view == nil {
		view = (*faceHandler).nowhere
	}
	p, err := view(h, ctx, r.URL.Query())
	status := faceStatus(err)
	if err != nil {
		p = h.failure(p, err)
	}
	if p.Cost == nil {
		p.Cost = faceCost(meter.Cost())
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

// at returns the address of a page below the base.
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

// indexAt returns the address of the page of what an index has at a value. A value that can
// be taken for the text of one is escaped, so it is handed over as it is.
func (h *faceHandler) indexAt(index, value string) string {
	query := url.Values{"index": {index}}
	if value != "" {
		query.Set("value", value)
	}
	return h.at("index", query)
}

func (h *faceHandler) keyAt(key string) string { return h.at("key", url.Values{"key": {key}}) }

// command returns a call of the app's command, to be pasted into a shell.
func (h *faceHandler) command(args ...string) string {
	line := h.o.Command
	for _, arg := range args {
		line += " " + quoted(arg)
	}
	return line
}
