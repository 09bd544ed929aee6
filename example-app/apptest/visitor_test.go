package apptest

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/proof/browser"
	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
	"github.com/ringtree/ringtree/kvmodel/kvopen/all"
)

// stores opens each kind of store that the tests run on.
var stores = map[string]func(t *testing.T) kvmodel.Store{
	"embedded": func(t *testing.T) kvmodel.Store { return openStore(t, "bolt:"+filepath.Join(t.TempDir(), "app.db")) },
	"memcached": func(t *testing.T) kvmodel.Store {
		servers.Need(t, "memcached")
		server, err := servers.Memcached("-M")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Stop)
		return openStore(t, "memcached://"+server.Addr)
	},
	"cluster": func(t *testing.T) kvmodel.Store {
		servers.Need(t, "redis-server")
		servers.Need(t, "redis-cli")
		cluster, err := servers.RedisCluster()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cluster.Stop)
		return openStore(t, "redis-cluster://"+strings.Join(cluster.Addrs(), ","))
	},
}

func openStore(t *testing.T, url string) kvmodel.Store {
	t.Helper()
	store, err := kvopen.Store(context.WithoutCancel(t.Context()), url, all.Engines)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// A visit is a walk through the site on a kind of store.
type visit struct {
	store   string
	scripts bool
}

// Visitors can do everything that the site offers, with each kind of store, with and
// without scripts.
func TestMatrix_VisitorsCanDoEverything(t *testing.T) {
	few := []visit{{"embedded", true}, {"cluster", false}}
	all := append([]visit{{"embedded", false}, {"memcached", true}, {"memcached", false}, {"cluster", true}}, few...)
	for v := range proof.Part(t, few, all) {
		t.Run(fmt.Sprintf("%s, scripts %t", v.store, v.scripts), func(t *testing.T) {
			s := stores[v.store](t)
			walk(t, open(t, s), v.scripts)
		})
	}
}

// walker is one visitor with a browser of their own.
type walker struct {
	*browser.Tab
	t       *testing.T
	handle  string
	scripts bool
}

func newWalker(t *testing.T, url, handle string, scripts bool) *walker {
	t.Helper()
	w := &walker{browser.Open(t, url), t, handle, scripts}
	w.SetScripts(scripts)
	w.SetColors("light")
	return w
}

// another opens another tab of the same browser.
func (w *walker) another() *walker {
	w.t.Helper()
	other := &walker{w.Another(), w.t, w.handle, w.scripts}
	other.SetScripts(w.scripts)
	other.SetColors("light")
	return other
}

func (w *walker) signUp() {
	w.t.Helper()
	w.Open("/")
	w.Follow("Sign up")
	w.Fill("Handle", w.handle)
	w.Fill("Password", password)
	w.Submit("Sign up")
	w.WantText("This is you")
}

func (w *walker) logIn() {
	w.t.Helper()
	w.Fill("Handle", w.handle)
	w.Fill("Password", password)
	w.Submit("Log in")
}

func (w *walker) write(title, text, topics string) {
	w.t.Helper()
	w.Follow("Write")
	w.Fill("Title", title)
	w.Fill("Text", text)
	w.Fill("Topics", topics)
	w.Submit("Save page")
	w.wantHeading(title)
}

func (w *walker) wantHeading(want string) {
	w.t.Helper()
	if got := w.Text("h1"); got != want {
		w.t.Errorf("%s at %s: want the page %q, got %q", w.handle, w.Where(), want, got)
	}
}

// walk tells the story of ann, ben and carol.
func walk(t *testing.T, s *site, scripts bool) {
	s.t = t
	ann, ben := newWalker(t, s.url, "ann", scripts), newWalker(t, s.url, "ben", scripts)
	carol := newWalker(t, s.url, "carol", scripts)
	ann.signUp()
	ben.signUp()
	carol.signUp()

	ben.write("Clogs", "Two *teeth* each.\n\n## Wood\n\n> paulownia\n\n[Tea](/p/tea)", "wood")
	ann.write("The figure two", "Snow in the morning.", "snow, gardens")
	followsAndFeed(ann, ben, carol)
	footprints(ann, ben, carol)
	ranking(t, s, ann, carol)
	like(s, newWalker(t, s.url, "ben", scripts))
	comments(ann, ben)
	search(carol)
	if scripts {
		liveCount(ann, ben)
		liveHood(s, ann, carol)
	}
	conflict(t, ann)
	secondThoughts(ann)
	otherSession(newWalker(t, s.url, "ann", scripts), ann)
	logOut(ann)
}

// Ben follows ann, and carol follows a topic. The next page by ann is in both feeds.
func followsAndFeed(ann, ben, carol *walker) {
	ben.Open("/m/ann")
	ben.Submit("Follow")
	ben.WantText("You follow ann")
	carol.Open("/t/snow")
	carol.Submit("Follow")
	carol.WantText("You follow snow")
	ann.write("Snow at the gate", "It fell in the *night*.", "snow")
	for _, w := range []*walker{ben, carol} {
		w.Follow("Feed")
		w.WantText("Snow at the gate")
		w.WithoutText("Clogs")
	}
	ben.Follow("Snow at the gate")
	ben.Follow("ann")
	ben.Submit("Unfollow")
	ben.WithoutText("You follow ann")
}

// Ann sees who visited her profile. The visits are new until she marks them as seen.
func footprints(ann, ben, carol *walker) {
	carol.Open("/m/ann")
	ann.Open("/")
	ann.Follow("Footprints")
	ann.WantText("ben", "carol", "new")
	ann.Submit("Mark all as seen")
	ann.WantText("ben", "carol", "No new visitors")
	ben.Follow("Footprints")
	ben.WantText("No visitors yet.")
}

// A page with more views moves up, and members see what is around theirs.
func ranking(t *testing.T, s *site, ann, carol *walker) {
	carol.Open("/p/clogs")
	s.look("clogs", 8)
	for _, want := range []string{"Clogs", "The figure two"} {
		ann.Follow("Ranking")
		ann.Follow("All time")
		var titles []string
		ann.Eval(`[...document.querySelectorAll('[aria-label="Pages by rank"] h3')].map((e) => e.innerText)`, &titles)
		if len(titles) != 3 || titles[0] != want {
			t.Errorf("want 3 pages with %q first, got %q", want, titles)
		}
		s.look("the-figure-two", 12)
	}
	ann.WantText("Around you")
	carol.Open("/p/the-figure-two")
	carol.WantText("#1", "of 3")
}

// look has a number of strangers, each from another address, view a page.
func (s *site) look(slug string, times int) {
	s.t.Helper()
	for range times {
		s.strangers++
		if _, err := s.app.View(s.t.Context(), "", fmt.Sprint("stranger ", s.strangers), slug); err != nil {
			s.t.Fatal(err)
		}
	}
	s.settle()
}

// A guest who likes a page logs in as ben, and comes back to find it done.
func like(s *site, guest *walker) {
	guest.Open("/p/the-figure-two")
	guest.Submit("Like")
	guest.WantText("Then you’ll like")
	guest.logIn()
	guest.wantHeading("The figure two")
	guest.Submit("Take back your like")
	guest.Submit("Like")
	s.settle()
	guest.Follow("Ranking")
	guest.Follow("Liked")
	guest.WantText("The figure two", "1 like")
}

func comments(ann, ben *walker) {
	for range 2 { // Someone who goes back may send the comment again.
		ben.Open("/p/the-figure-two")
		ben.Fill("Your comment", "I saw it too: *二*")
		ben.Submit("Post comment")
	}
	ann.Open("/p/the-figure-two")
	ann.WantText("1 comment", "I saw it too: 二")
}

// The titles that begin with what one types are below the field if there are scripts, and on a
// page of their own if there are none.
func search(w *walker) {
	w.Open("/topics")
	w.Fill("Search titles", "sno")
	if !w.scripts {
		w.Enter()
		w.WantText("1 title begins with “sno”.")
		w.Follow("Snow at the gate")
		w.wantHeading("Snow at the gate")
		return
	}
	w.Wait("the title", "!found.hidden && found.querySelectorAll('a').length === 1")
	w.Wait("the words for a screen reader", "document.querySelector('.search [role=status]').innerText === '1 title begins with “sno”.'")
	w.Press(kb.ArrowDown)
	w.Wait("the title to have the focus", "document.activeElement.innerText === 'Snow at the gate'")
	w.Press(kb.Escape)
	w.Wait("the titles to be gone, and the focus in the field", "found.hidden && document.activeElement === document.querySelector('#search')")
	w.Fill("Search titles", "zebra")
	w.Wait("the words that there is none", "found.innerText.includes('No title begins with “zebra”.')")
}

// An open home page shows that there is a new page, without a reload.
func liveCount(ann, ben *walker) {
	ben.Open("/")
	ann.write("News", "Something happened.", "")
	ben.Wait("the count of new pages", "document.querySelector('main [role=status]').innerText.includes('1 new page')")
	ben.WithoutText("Something happened.")
}

// An open page under the hood has pictures with names, and lights up the places of a new page,
// and of a view.
func liveHood(s *site, ann, carol *walker) {
	carol.Open("/hood")
	var named int
	carol.Eval("[...document.querySelectorAll('main svg[role=img]')].filter((e) => e.querySelector('title').textContent && e.querySelector('desc').textContent).length", &named)
	if named != 2 {
		carol.t.Errorf("want two pictures with names, got %d", named)
	}
	carol.Wait("the stream", "document.querySelector('[data-following]').innerText.startsWith('Live')")
	ann.write("More news", "Something else happened.", "")
	carol.Wait("a lit place in the ring", "document.querySelector('.ring .lit') !== null")
	s.look("news", 1)
	carol.Wait("a lit node of the tree", "document.querySelector('.tree .lit') !== null")
}

// Two tabs edit one page. The second is shown what the first saved, keeps its own text
// and can save it.
func conflict(t *testing.T, ann *walker) {
	ann.Open("/p/snow-at-the-gate")
	second := ann.another()
	second.Open("/p/snow-at-the-gate")
	for _, tab := range []*walker{ann, second} {
		tab.Follow("Edit page")
	}
	ann.Fill("Text", "It fell in the first tab.")
	ann.Submit("Save page")
	second.Fill("Text", "It fell in the second tab.")
	second.Submit("Save page")
	if second.Status() != 409 {
		t.Errorf("want a conflict, got status %d", second.Status())
	}
	second.WantText("It fell in the first tab.", "It fell in the second tab.", "Nothing is lost")
	second.Submit("Save")
	ann.Reload()
	ann.WantText("It fell in the second tab.")
}

// Ann brings back what a page said before, and deletes it only to undo that.
func secondThoughts(ann *walker) {
	ann.Open("/p/snow-at-the-gate")
	ann.Follow("History")
	ann.WantText("Edit 3", "first", "second", "The page was written.")
	ann.Submit("Bring back edit 1")
	ann.WantText("It fell in the night.")
	ann.Follow("Edit page")
	ann.Submit("Delete page")
	ann.WantText("Snow at the gate is in the trash.")
	ann.Submit("Undo")
	ann.wantHeading("Snow at the gate")
	ann.Open("/trash")
	ann.WantText("The trash is empty.")
}

// Ann logs out the browser on her phone from her desk.
func otherSession(phone, ann *walker) {
	phone.SetViewport(browser.PhoneWidth)
	phone.Open("/settings")
	phone.logIn()
	phone.wantHeading("Settings")
	ann.Open("/settings")
	ann.Submit("Log out Chrome")
	ann.WantText("That session has been logged out.")
	phone.Follow("Footprints")
	phone.wantHeading("Log in")
	ann.Open("/settings")
	ann.wantHeading("Settings")
}

// After Ann logs out, the Back button shows none of her pages.
func logOut(ann *walker) {
	ann.Open("/footprints")
	ann.Open("/settings")
	ann.Submit("Log out")
	ann.Back()
	ann.wantHeading("Log in")
	ann.Back()
	ann.WithoutText("carol")
}
