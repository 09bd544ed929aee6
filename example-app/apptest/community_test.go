package apptest

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/example-app/ashiato"
)

// community is a site with two members and a guest. Ann has written a page about tea,
// on which ben has commented. She is logged in twice.
type community struct {
	*site
	ann, annElsewhere, ben, guest *visitor

	page string // the id of ann's
}

func newCommunity(t testing.TB) *community {
	t.Helper()
	s := openMem(t)
	c := &community{site: s, ann: s.member("ann"), ben: s.member("ben"), annElsewhere: s.visitor(), guest: s.visitor()}
	c.page = c.ann.write("tea", "Tea", "One cup.", "drinks")
	c.ben.comment("tea", c.page, "Two cups.")
	c.annElsewhere.logIn("ann", password)
	c.ben.want(c.ben.get("/m/ann"), 200) // leaves a footprint
	return c
}

func (v *visitor) logIn(handle, password string) reply {
	v.t.Helper()
	return v.fill("/login", "/login", "handle", handle, "password", password)
}

// request is a form that ann may send.
type request struct {
	route, path string
	fields      []string
}

// requests returns a working request for each POST route.
func (c *community) requests() []request {
	c.t.Helper()
	version := c.ann.fields("/edit/"+c.page, "/edit/"+c.page)
	edited, trashed := c.past()
	_, err := c.app.Write(c.t.Context(), c.id("ben"), ashiato.Draft{ID: newID(4), Title: "Milk tea", Body: "Ben’s own."})
	c.must(err)
	return []request{
		{"/write", "/write", []string{"id", newID(1), "slug", "milk", "title", "Milk", "body", "None."}},
		{"/edit/{id}", "/edit/" + c.page, append(version, "title", "Coffee")},
		{"/delete/{id}", "/delete/" + c.page, []string{"version", valueOf(version, "version")}},
		{"/restore/{id}", "/restore/" + trashed, nil},
		{"/history/{id}", "/history/" + edited, []string{"version", "2", "edit", "1"}},
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
		{"/settings/profile", "/settings/profile", []string{"about", "I like tea."}},
		{"/settings/password", "/settings/password", []string{"old", password, "password", "another horse 18"}},
		{"/settings/session/end", "/settings/session/end", []string{"session", c.otherSession(c.ann)}},
		{"/settings/sessions/end", "/settings/sessions/end", nil},
		{"/logout", "/logout", nil},
	}
}

// past writes two pages by ann, edits one and puts the other into the trash. It
// returns their ids.
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

// otherSession returns the id of a session that v could end.
func (c *community) otherSession(v *visitor) string {
	c.t.Helper()
	return valueOf(v.fields("/settings", "/settings/session/end"), "session")
}

// newID returns an id like those in the site's forms.
func newID(n int) string { return fmt.Sprintf("%026d", n) }

func valueOf(fields []string, name string) string {
	for i := 0; i < len(fields); i += 2 {
		if fields[i] == name {
			return fields[i+1]
		}
	}
	return ""
}

// routesOf returns the paths that the app's table of routes has for a method.
func routesOf(t testing.TB, method string) []string {
	t.Helper()
	table, err := os.ReadFile("../web/routes.go")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, match := range regexp.MustCompile(`"`+method+`", "([^"]+)"`).FindAllStringSubmatch(string(table), -1) {
		all = append(all, match[1])
	}
	slices.Sort(all)
	return all
}

// The tests of requests cover every form.
func TestRequests_HaveEveryPostRoute(t *testing.T) {
	var got []string
	for _, r := range newCommunity(t).requests() {
		got = append(got, r.route)
	}
	slices.Sort(got)
	if diff := cmp.Diff(routesOf(t, "POST"), got); diff != "" {
		t.Errorf("routes mismatch (-want +got):\n%s", diff)
	}
}

func TestRequests_WorkForAnn(t *testing.T) {
	for i, r := range newCommunity(t).requests() {
		c := newCommunity(t)
		r = c.requests()[i]
		before := c.state()
		c.ann.want(c.ann.post(r.path, r.fields...), http.StatusSeeOther)
		// There is nothing for these to undo.
		if quiet := []string{"/p/{slug}/unlike", "/m/{handle}/unfollow", "/t/{topic}/unfollow"}; !slices.Contains(quiet, r.route) && c.state() == before {
			t.Errorf("POST %s changed nothing", r.path)
		}
	}
}

// state returns everything that a form could change, except views, which looking
// increases.
func (c *community) state() string {
	c.t.Helper()
	var all []string
	note := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	c.settle()
	ctx, models := c.t.Context(), c.app.Models
	for page, err := range models.Pages.All(ctx) {
		c.must(err)
		page.Views = 0
		note("page %+v", *page)
	}
	for member, err := range models.Members.All(ctx) {
		c.must(err)
		note("member %+v", *member)
	}
	for comment, err := range models.Comments.All(ctx) {
		c.must(err)
		note("comment %+v", *comment)
	}
	for follow, err := range models.Follows.All(ctx) {
		c.must(err)
		note("follow %+v", *follow)
	}
	for like, err := range models.Likes.All(ctx) {
		c.must(err)
		note("like %+v", *like)
	}
	for topic, err := range models.Topics.All(ctx) {
		c.must(err)
		note("topic %+v", *topic)
	}
	for interest, err := range models.Interests.All(ctx) {
		c.must(err)
		note("interest %+v", *interest)
	}
	for i, v := range []*visitor{c.ann, c.annElsewhere, c.ben, c.guest} {
		note("visitor %d signed in: %v, cookie %s", i, v.signedIn(), v.cookie())
	}
	note("ann: %d unread", c.unread("ann"))
	slices.Sort(all)
	return strings.Join(all, "\n")
}

func (c *community) unread(handle string) int {
	c.t.Helper()
	member, err := c.app.Find(c.t.Context(), handle)
	c.must(err)
	visitor, err := c.app.Visitor(c.t.Context(), member.ID)
	c.must(err)
	return visitor.Unread
}

func (c *community) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// unchanged fails the test if anything differs from before.
func (c *community) unchanged(before, what string) {
	c.t.Helper()
	if diff := cmp.Diff(strings.Split(before, "\n"), strings.Split(c.state(), "\n")); diff != "" {
		c.t.Errorf("%s changed something (-want +got):\n%s", what, diff)
	}
}

// limits has the length limits of the fields.
var limits = map[string]int{"title": ashiato.MaxTitle, "body": ashiato.MaxBody, "slug": ashiato.MaxSlug}

// id returns the id of a member.
func (s *site) id(handle string) string {
	s.t.Helper()
	member, err := s.app.Find(s.t.Context(), handle)
	if err != nil {
		s.t.Fatal(err)
	}
	return member.ID
}

// addPage writes a page without the rate limits of the forms.
func (s *site) addPage(author string, n int) {
	s.t.Helper()
	_, err := s.app.Write(s.t.Context(), s.id(author), ashiato.Draft{
		ID: s.app.NewID(), Slug: fmt.Sprintf("page-%d", n), Title: fmt.Sprintf("Page %d", n), Body: "Some words.", Topics: []string{"words"},
	})
	if err != nil {
		s.t.Fatal(err)
	}
}
