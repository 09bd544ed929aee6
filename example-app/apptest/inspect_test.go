package apptest

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/ringtree/ringtree/example-app/demo"
	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// The pictures of a ring, a tree and a list are part of pages that anyone can use.
func TestInspect_PicturesAreForEverybodyInEveryWidthAndColor(t *testing.T) {
	store := memkv.New(memkv.Options{})
	if _, err := demo.Fill(t.Context(), store, demo.Plan{Pages: 120, Password: password, Hash: cheap}); err != nil {
		t.Fatal(err)
	}
	s := open(t, store)
	pages, err := inspect.Handler(inspect.New(s.app.DB()), inspect.HandlerOptions{Guard: func(*http.Request) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(pages)
	t.Cleanup(server.Close)
	p := newTab(t, chromium(t), server.URL)
	for kind, index := range map[string]string{"ring": "Page.Newest", "tree": "Page.TopViews", "list": "Page.ByTopics&value=kitchen"} {
		p.Open("/index?n=3&index=" + index)
		p.Wait("a picture", "document.querySelectorAll('figure.picture > svg."+kind+"').length === 1")
		var keys int
		p.Eval("Number(/took .* and (\\d+) keys?\\./.exec(document.body.innerText)[1])", &keys)
		if keys > 300 {
			t.Errorf("%s: the picture took %d keys", index, keys)
		}
		for _, width := range []int64{360, desktopWidth} {
			for _, scheme := range []string{"light", "dark"} {
				p.SetViewport(width)
				p.SetColors(scheme)
				for _, complaint := range p.Audit() {
					t.Errorf("%s, %d wide, %s: %s", index, width, scheme, complaint)
				}
			}
		}
	}
}
