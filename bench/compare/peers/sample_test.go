package peers

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/bench/compare/sampleapp"
	"github.com/ringtree/ringtree/example-app/web"
)

const samplePages = 1200

// samplePaths are pages of the sample app, and how to write each.
var samplePaths = []struct {
	path  string
	write func(context.Context, io.Writer, sampleapp.Site) error
}{
	{"/", sampleapp.WriteHome},
	{"/ranking?span=all", sampleapp.WriteRanking},
	{"/p/" + sampleapp.Slug(3), writeArticle(3)},
	{"/p/" + sampleapp.Slug(400), writeArticle(400)}, // with comments
	{"/p/" + sampleapp.Slug(samplePages), writeArticle(samplePages)},
}

func writeArticle(i int64) func(context.Context, io.Writer, sampleapp.Site) error {
	return func(ctx context.Context, w io.Writer, s sampleapp.Site) error {
		return sampleapp.WriteArticle(ctx, w, s, sampleapp.Slug(i))
	}
}

func TestSample_AllPeersShowThePagesOfTheApp(t *testing.T) {
	want := appPages(t)
	at := startAll(t)
	for _, kind := range All {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			if err := Missing(kind.Server); err != nil {
				t.Skip(err)
			}
			at := at
			at.Dir = t.TempDir()
			peer, err := kind.Open(t.Context(), at)
			must(t, err)
			defer peer.Close()
			sampler, ok := peer.(Sampler)
			if !ok {
				return
			}
			must(t, sampler.LoadSample(t.Context(), samplePages))
			for i, page := range samplePaths {
				var got bytes.Buffer
				must(t, page.write(t.Context(), &got, sampler.Sample()))
				if diff := cmp.Diff(want[i], comparable(got.String())); diff != "" {
					t.Errorf("%s mismatch (-app +got):\n%s", page.path, diff)
				}
			}
		})
	}
}

// appPages returns the pages that the app's own handler writes, in memory.
func appPages(t *testing.T) (all []string) {
	t.Helper()
	site, err := openSample(t.Context(), "mem:")
	must(t, err)
	defer site.App.DB().Close(context.WithoutCancel(t.Context()))
	must(t, site.Load(t.Context(), samplePages))
	app, err := web.New(site.App, web.Config{Keys: [][]byte{make([]byte, 32)}})
	must(t, err)
	defer app.Close()
	for _, page := range samplePaths {
		request := httptest.NewRequest("GET", page.path, nil)
		request.Header.Set("Sec-Purpose", "prefetch") // which is no view
		answer := httptest.NewRecorder()
		app.ServeHTTP(answer, request)
		if answer.Code != http.StatusOK {
			t.Fatalf("%s: %d: %s", page.path, answer.Code, answer.Body)
		}
		all = append(all, comparable(answer.Body.String()))
	}
	return all
}

// own is what a page has by itself: a number used once, and the cursor of its database.
var own = regexp.MustCompile(`(nonce="|\?at=)[^"&]*`)

// comparable returns a page without what is its own, and one tag on each line.
func comparable(page string) string {
	return regexp.MustCompile(`<`).ReplaceAllString(own.ReplaceAllString(page, "$1"), "\n<")
}
