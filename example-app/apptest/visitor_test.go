package apptest

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/proof/browser"
	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
	"github.com/ringtree/ringtree/kvmodel/kvopen/all"
)

var stores = map[string]func(t *testing.T) kv.Store{
	"embedded": func(t *testing.T) kv.Store { return openStore(t, "bolt:"+filepath.Join(t.TempDir(), "app.db")) },
	"memcached": func(t *testing.T) kv.Store {
		servers.Need(t, "memcached")
		server, err := servers.Memcached()
		must(t, err)
		t.Cleanup(server.Stop)
		return openStore(t, "memcached://"+server.Addr)
	},
	"cluster": func(t *testing.T) kv.Store {
		servers.Need(t, "redis-server")
		servers.Need(t, "redis-cli")
		cluster, err := servers.RedisCluster()
		must(t, err)
		t.Cleanup(cluster.Stop)
		return openStore(t, "redis-cluster://"+strings.Join(cluster.Addrs(), ","))
	},
}

func openStore(t *testing.T, url string) kv.Store {
	t.Helper()
	store, err := kvopen.Store(context.WithoutCancel(t.Context()), url, all.Engines)
	must(t, err)
	return store
}

type visit struct {
	store   string
	scripts bool
}

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

// walker is a visitor with a browser.
type walker struct {
	*browser.Tab
	t       *testing.T
	handle  string
	scripts bool
}

func newWalker(t *testing.T, url, handle string, scripts bool) *walker {
	t.Helper()
	return walkerIn(browser.Open(t, url), t, handle, scripts)
}

func walkerIn(tab *browser.Tab, t *testing.T, handle string, scripts bool) *walker {
	w := &walker{tab, t, handle, scripts}
	w.SetScripts(scripts)
	w.SetColors("light")
	return w
}

func (w *walker) another() *walker {
	w.t.Helper()
	return walkerIn(w.Another(), w.t, w.handle, w.scripts)
}

// Fields are labels and texts.
func (w *walker) send(button string, fields ...string) {
	w.t.Helper()
	for pair := range slices.Chunk(fields, 2) {
		w.Fill(pair[0], pair[1])
	}
	w.Submit(button)
}

func (w *walker) signUp() {
	w.t.Helper()
	w.Open("/")
	w.Follow("Sign up")
	w.send("Sign up", "Handle", w.handle, "Password", password)
	w.WantText("This is you")
}

func (w *walker) logIn() {
	w.t.Helper()
	w.send("Log in", "Handle", w.handle, "Password", password)
}

func (w *walker) write(title, text, topics string) {
	w.t.Helper()
	w.Follow("Write")
	w.send("Save page", "Title", title, "Text", text, "Topics", topics)
	w.wantHeading(title)
}

func (w *walker) wantHeading(want string) {
	w.t.Helper()
	if got := w.Text("h1"); got != want {
		w.t.Errorf("%s at %s: want the page %q, got %q", w.handle, w.Where(), want, got)
	}
}

// walk tells the story of ann and ben.
func walk(t *testing.T, s *site, scripts bool) {
	s.t = t
	ann, ben := newWalker(t, s.url, "ann", scripts), newWalker(t, s.url, "ben", scripts)
	ann.signUp()
	ben.signUp()
	ben.write("Clogs", "Two *teeth* each.\n\n## Wood\n\n> paulownia\n\n[Tea](/p/tea)", "wood")
	ann.write("The figure two", "Snow in the morning.", "snow, gardens")

	// Ben follows ann and a topic. Her next page is in his feed, and he in her footprints.
	ben.Open("/m/ann")
	ben.Submit("Follow")
	ben.WantText("You follow ann")
	ben.Open("/t/snow")
	ben.Submit("Follow")
	ben.WantText("You follow snow")
	ann.write("Snow at the gate", "It fell in the *night*.", "snow")
	ben.Follow("Feed")
	ben.WantText("Snow at the gate")
	ben.WithoutText("Clogs")
	ann.Open("/")
	ann.Follow("Footprints")
	ann.WantText("ben", "new")
	ann.Submit("Mark all as seen")
	ann.WantText("ben", "No new visitors")

	// A page with more views moves up, and members see the neighbors of theirs.
	ben.Open("/p/the-figure-two")
	s.look("clogs", 8)
	for _, want := range []string{"Clogs", "The figure two"} {
		ann.Follow("Ranking")
		ann.Follow("All time")
		var titles []string
		ann.Eval(`[...document.querySelectorAll('[aria-label="Pages by rank"] h3')].map((e) => e.innerText)`, &titles)
		if len(titles) == 0 || titles[0] != want {
			t.Errorf("want %q first, got %q", want, titles)
		}
		s.look("the-figure-two", 12)
	}
	ann.Follow("The figure two")
	ann.Follow("#1")
	ann.WantText("Nearby ranks")

	// The like of a guest leads to the login, as ben, and back.
	guest := newWalker(t, s.url, "ben", scripts)
	guest.Open("/p/the-figure-two")
	guest.Submit("Like")
	guest.logIn()
	guest.wantHeading("The figure two")
	guest.Submit("Like")
	guest.WantText("Take back your like")
	ben.Open("/p/the-figure-two")
	ben.send("Post comment", "Your comment", "I saw it too: *二*")
	ann.Open("/p/the-figure-two")
	ann.WantText("1 comment", "1 like", "I saw it too: 二")

	ben.Fill("Search titles", "sno")
	ben.Enter()
	ben.WantText("1 title begins with “sno”.")
	if scripts {
		live(s, ann, ben)
	}
	conflict(t, ann)

	// Ann restores an earlier text of a page, deletes the page, and undoes that.
	ann.Follow("History")
	ann.WantText("Edit 3", "first", "second", "The page was written.")
	ann.Follow("Bring back edit 1")
	ann.Submit("Save page")
	ann.WantText("It fell in the night.")
	ann.Follow("Edit page")
	ann.Submit("Delete page")
	ann.Follow("Snow at the gate")
	ann.Submit("Restore")
	ann.wantHeading("Snow at the gate")

	// After she logs out, the Back button shows none of her pages.
	ann.Open("/footprints")
	ann.Follow("Settings")
	ann.Submit("Log out here")
	ann.Back()
	ann.wantHeading("Log in")
	ann.Back()
	ann.WithoutText("ben")
}

// The strangers have different addresses.
func (s *site) look(slug string, times int) {
	s.t.Helper()
	for range times {
		s.strangers++
		_, err := s.app.View(s.t.Context(), "", fmt.Sprint("stranger ", s.strangers), slug, "")
		s.must(err)
	}
	s.settle()
}

func live(s *site, ann, ben *walker) {
	ben.Open("/")
	hood := ben.another()
	hood.Open("/hood")
	hood.Wait("the stream", "document.querySelector('[data-following]').innerText.startsWith('Live')")
	ann.write("News", "Something happened.", "")
	hood.Wait("a lit place in the ring", "document.querySelector('.ring .lit') !== null")
	s.look("news", 1)
	hood.Wait("a lit node of the tree", "document.querySelector('.tree .lit') !== null")
	ben.Wait("the new page", "document.querySelector('#newest').innerText.includes('News')")
}

// The second of two tabs shows the text that the first saved, and keeps its own.
func conflict(t *testing.T, ann *walker) {
	ann.Open("/p/snow-at-the-gate")
	second := ann.another()
	second.Open("/p/snow-at-the-gate")
	ann.Follow("Edit page")
	second.Follow("Edit page")
	ann.send("Save page", "Text", "It fell in the first tab.")
	second.send("Save page", "Text", "It fell in the second tab.")
	proof.Equal(t, second.Status(), 409, "conflict, got status")
	second.WantText("It fell in the first tab.", "It fell in the second tab.", "Nothing is lost")
	second.Submit("Save")
	ann.Reload()
	ann.WantText("It fell in the second tab.")
}
