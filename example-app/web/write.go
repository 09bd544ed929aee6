package web

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strings"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/kvmodel"
)

// draft is the form of a page, new or not.
type draft struct {
	form
	Action  string // where it is sent to
	ID      string // of the page
	Author  string // the handle; asked for only where the page is new
	Version int64  // of the page it was made of; 0 if it is new
	Slug    string
	Title   string
	Body    string
	Theirs  *ashiato.Page // what somebody else has saved meanwhile, or nil
}

const writeTitle = "Write a page"

// newDraft returns the form of a new page.
func (s *site) newDraft() *draft {
	return &draft{Action: "/write", ID: kvmodel.NewID(s.now())}
}

func (s *site) writeForm(*http.Request) (answer, error) {
	return answer{page: "draft", title: writeTitle, data: s.newDraft()}, nil
}

// readDraft returns what was typed into the form of a page.
func readDraft(r *http.Request, d *draft) *draft {
	d.Author = line(r, "handle")
	d.Slug = strings.ToLower(line(r, "slug"))
	d.Title = line(r, "title")
	d.Body = text(r, "body")
	return d
}

// write makes the page that was typed.
func (s *site) write(r *http.Request) (answer, error) {
	if err := readForm(r); err != nil {
		return answer{}, err
	}
	id, err := newID(r)
	if err != nil {
		return answer{}, err
	}
	d := readDraft(r, &draft{Action: "/write", ID: id})
	page := &ashiato.Page{ID: id, Slug: d.Slug, Title: d.Title, Body: d.Body}
	err = s.publish(r.Context(), page, d.Author)
	if usedUp(err) {
		return s.writtenBefore(r, d, page)
	}
	if err != nil {
		return d.again(r, err, "draft", writeTitle, d)
	}
	return answer{to: pagePath(page.Slug)}, nil
}

// publish stores page as a new one by the member with handle.
func (s *site) publish(ctx context.Context, page *ashiato.Page, handle string) error {
	author, err := s.members.ByHandle.Find(ctx, strings.ToLower(handle))
	if errors.Is(err, kvmodel.ErrNotFound) {
		return noSuchMember(page)
	}
	if err != nil {
		return err
	}
	page.Author = author.ID
	return s.pages.Create(ctx, page)
}

// noSuchMember says that a page's author is unknown, and what else is wrong.
func noSuchMember(page *ashiato.Page) error {
	problems := ashiato.Problems{"handle": "No member goes by this handle."}
	maps.Copy(problems, problemsIn(page.Validate()))
	return errors.Join(kvmodel.ErrInvalid, problems)
}

// writtenBefore answers a form whose page is there already: it was sent twice,
// or brought back and filled in anew.
func (s *site) writtenBefore(r *http.Request, d *draft, page *ashiato.Page) (answer, error) {
	there, err := s.pages.Get(r.Context(), page.ID)
	if err != nil {
		return d.again(r, err, "draft", writeTitle, d)
	}
	if there.Live() && there.Slug == page.Slug && there.Title == page.Title && there.Body == page.Body {
		return answer{to: pagePath(there.Slug)}, nil
	}
	d.ID = kvmodel.NewID(s.now())
	d.Notice = "This form has made the page “" + there.Title + "” before. Your text is below; save it to make another page of it."
	return answer{status: http.StatusConflict, page: "draft", title: writeTitle, data: d}, nil
}
