package apptest

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/web"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// Ann has written a page about tea, on which ben has commented. She is logged in twice.
type community struct {
	*site
	ann, annElsewhere, ben, guest *visitor

	page string // the id of ann's
}

func newCommunity(t testing.TB) *community {
	t.Helper()
	return settleIn(t, memkv.New(memkv.Options{}))
}

func settleIn(t testing.TB, store kv.Store) *community {
	t.Helper()
	s := open(t, store)
	c := &community{site: s, ann: s.member("ann"), ben: s.member("ben"), annElsewhere: s.visitor(), guest: s.visitor()}
	c.page = c.ann.write("Tea", "One cup.", "drinks")
	c.ben.want(c.ben.fill("/p/tea", "/comment/"+c.page, "text", "Two cups."), 303)
	c.annElsewhere.logIn("ann", password)
	c.ben.want(c.ben.get("/m/ann"), 200) // leaves a footprint
	return c
}

func (c *community) paths() []string {
	return []string{
		"/", "/newest", "/feed", "/ranking", "/ranking?span=today", "/ranking?span=all&page=" + c.page, "/topics", "/t/drinks",
		"/p/tea", "/m/ann", "/m/ben", "/write", "/edit/" + c.page, "/history/" + c.page, "/trash", "/footprints", "/settings", "/signup", "/login",
		"/hood", "/hood?list=Page.TopLikes", "/hood?list=Page.ByTopics&of=drinks", "/search", "/search?q=te", "/nowhere",
	}
}

func (v *visitor) logIn(handle, password string) reply {
	v.t.Helper()
	return v.fill("/login", "/login", "handle", handle, "password", password)
}

type request struct {
	route, path string
	fields      []string
}

func (c *community) requests() []request {
	c.t.Helper()
	version := c.ann.fields("/edit/"+c.page, "/edit/"+c.page)
	_, trashed := c.past()
	_, err := c.app.Write(c.t.Context(), c.id("ben"), ashiato.Draft{ID: newID(4), Title: "Milk tea", Body: "Ben’s own."})
	c.must(err)
	return []request{
		{"/drawings", "/drawings", []string{"drawings", "hidden"}},
		{"/write", "/write", []string{"id", newID(1), "title", "Milk", "body", "None."}},
		{"/edit/{id}", "/edit/" + c.page, append(version, "title", "Coffee")},
		{"/delete/{id}", "/delete/" + c.page, []string{"version", valueOf(version, "version")}},
		{"/restore/{id}", "/restore/" + trashed, nil},
		{"/comment/{id}", "/comment/" + c.page, []string{"id", newID(2), "text", "Three cups."}},
		{"/p/{slug}/like", "/p/milk-tea/like", nil},
		{"/p/{slug}/unlike", "/p/milk-tea/unlike", nil},
		{"/m/{handle}/follow", "/m/ben/follow", nil},
		{"/m/{handle}/unfollow", "/m/ben/unfollow", nil},
		{"/t/{topic}/follow", "/t/drinks/follow", nil},
		{"/t/{topic}/unfollow", "/t/drinks/unfollow", nil},
		{"/footprints/seen", "/footprints/seen", c.ann.fields("/footprints", "/footprints/seen")},
		{"/signup", "/signup", []string{"id", newID(3), "handle", "carol", "password", password}},
		{"/login", "/login", []string{"handle", "ann", "password", password}},
		{"/logout", "/logout", nil},
		{"/settings/profile", "/settings/profile", []string{"about", "I like tea."}},
		{"/settings/password", "/settings/password", []string{"old", password, "password", "another horse 18"}},
		{"/settings/sessions/end", "/settings/sessions/end", nil},
		{"/hood/kill", "/hood/kill", nil},
	}
}

// past leaves one page of ann's edited, and one in the trash.
func (c *community) past() (edited, trashed string) {
	c.t.Helper()
	ctx, ann := c.t.Context(), c.id("ann")
	one, err := c.app.Write(ctx, ann, ashiato.Draft{Title: "Edited", Body: "Before."})
	c.must(err)
	_, err = c.app.Edit(ctx, ann, one.ID, ashiato.Draft{Title: "Edited", Body: "After.", Version: one.Version})
	c.must(err)
	other, err := c.app.Write(ctx, ann, ashiato.Draft{Title: "Trashed", Body: "Gone."})
	c.must(err)
	_, err = c.app.Trash(ctx, ann, other.ID, other.Version)
	c.must(err)
	return one.ID, other.ID
}

func newID(n int) string { return fmt.Sprintf("%026d", n) }

func valueOf(fields []string, name string) string {
	for i := 0; i < len(fields); i += 2 {
		if fields[i] == name {
			return fields[i+1]
		}
	}
	return ""
}

// So a form that another test sees refused would have changed something.
func TestRequests_HaveEveryFormAndWorkForAnn(t *testing.T) {
	var routes []string
	quiet := []string{"/drawings", "/hood/kill", "/p/{slug}/unlike", "/m/{handle}/unfollow", "/t/{topic}/unfollow"} // There is nothing to undo.
	for i, r := range newCommunity(t).requests() {
		routes = append(routes, r.route)
		c := newCommunity(t)
		r = c.requests()[i]
		before := c.state()
		c.ann.want(c.ann.post(r.path, r.fields...), 303)
		if !slices.Contains(quiet, r.route) && c.state() == before {
			t.Errorf("POST %s changed nothing", r.path)
		}
	}
	proof.NoDiff(t, cmp.Diff(web.Forms(), routes), "routes")
}

// state has everything that a form could change, except views.
func (c *community) state() string {
	c.t.Helper()
	c.settle()
	ctx, models := c.t.Context(), c.app.Models
	var all []string
	for page, err := range models.Pages.All(ctx) {
		c.must(err)
		page.Views = 0
		all = append(all, fmt.Sprintf("%+v", page))
	}
	all = slices.Concat(all, allOf(c, models.Members.All(ctx)), allOf(c, models.Comments.All(ctx)), allOf(c, models.Follows.All(ctx)),
		allOf(c, models.Likes.All(ctx)), allOf(c, models.Interests.All(ctx)))
	for i, v := range []*visitor{c.ann, c.annElsewhere, c.ben, c.guest} {
		all = append(all, fmt.Sprintf("visitor %d signed in: %v, cookie %s", i, v.signedIn(), v.cookie()))
	}
	visitor, err := c.app.Visitor(ctx, c.id("ann"))
	c.must(err)
	all = append(all, fmt.Sprintf("ann: %d unread", visitor.Unread))
	slices.Sort(all)
	return strings.Join(all, "\n")
}

func allOf[T any](c *community, records iter.Seq2[*T, error]) (all []string) {
	c.t.Helper()
	for r, err := range records {
		c.must(err)
		all = append(all, fmt.Sprintf("%T %+v", r, r))
	}
	return all
}

func (c *community) unchanged(before, what string) {
	c.t.Helper()
	if diff := cmp.Diff(strings.Split(before, "\n"), strings.Split(c.state(), "\n")); diff != "" {
		c.t.Errorf("%s changed something (-want +got):\n%s", what, diff)
	}
}
