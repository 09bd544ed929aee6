package templates

import (
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
)

// colors returns the light and dark colors by name.
func colors(t *testing.T) map[string][2]string {
	t.Helper()
	found := map[string][2]string{}
	for _, match := range regexp.MustCompile(`--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)`).FindAllStringSubmatch(string(style), -1) {
		found[match[1]] = [2]string{match[2], match[3]}
	}
	return found
}

func TestStyle_ContrastSuffices(t *testing.T) {
	tokens := colors(t)
	for _, test := range []struct {
		least    float64
		front    []string
		grounds  []string
		whatItIs string
	}{
		{4.5, []string{"ink", "ai", "ai-deep"}, []string{"paper", "sheet", "mist", "wash"}, "text"},
		{5.2, []string{"soft"}, []string{"paper", "sheet", "wash"}, "hints"},
		{4.5, []string{"soft"}, []string{"mist"}, "hints"},
		{4.5, []string{"on-ai"}, []string{"ai", "ai-deep"}, "text on the accent"},
		{3, []string{"edge", "ai", "ink"}, []string{"paper", "sheet"}, "borders of controls, strokes and focus"},
	} {
		for _, front := range test.front {
			for _, ground := range test.grounds {
				for i, theme := range []string{"light", "dark"} {
					if got := contrast(t, tokens[front][i], tokens[ground][i]); got < test.least {
						t.Errorf("%s: %s on %s, %s: contrast %.2f, want %.1f", test.whatItIs, front, ground, theme, got, test.least)
					}
				}
			}
		}
	}
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	light, dark := luminance(t, a), luminance(t, b)
	return (max(light, dark) + .05) / (min(light, dark) + .05)
}

func luminance(t *testing.T, color string) float64 {
	t.Helper()
	bits, err := strconv.ParseUint(strings.TrimPrefix(color, "#"), 16, 32)
	if err != nil {
		t.Fatalf("%q is no color: %v", color, err)
	}
	linear := func(shift int) float64 {
		c := float64(bits>>shift&0xff) / 255
		if c <= .04045 {
			return c / 12.92
		}
		return math.Pow((c+.055)/1.055, 2.4)
	}
	return .2126*linear(16) + .7152*linear(8) + .0722*linear(0)
}

func TestMarkup_HasNoStyleScriptOrOtherHost(t *testing.T) {
	text := page(t)
	for _, forbidden := range []string{" style=", "<script", "<style", "<img", "http:", "https:", "//", " src=", " onclick"} {
		if at := strings.Index(text, forbidden); at >= 0 {
			t.Errorf("the components write %q: …%s…", forbidden, text[max(0, at-40):min(len(text), at+40)])
		}
	}
}

func TestPictures_SayWhatTheyShow(t *testing.T) {
	for _, s := range samples() {
		text := render(t, s.component)
		for _, picture := range regexp.MustCompile(`<svg[^>]*role="img"[^>]*>`).FindAllStringIndex(text, -1) {
			if !strings.HasPrefix(strings.TrimSpace(text[picture[1]:]), "<title>") || !strings.Contains(text[picture[1]:], "<desc>") {
				t.Errorf("%s: a picture has no title and desc at its beginning", s.name)
			}
		}
		for _, svg := range regexp.MustCompile(`<svg[^>]*>`).FindAllString(text, -1) {
			if !strings.Contains(svg, `role="img"`) && !strings.Contains(svg, `aria-hidden="true"`) {
				t.Errorf("%s: %s is neither a picture nor hidden", s.name, svg)
			}
		}
	}
}

func TestStyle_IsServedUnderANameOfItsOwnForEver(t *testing.T) {
	server := httptest.NewServer(Style())
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/"+StyleName(), nil)
	must(t, err)
	first, err := http.DefaultClient.Do(request)
	must(t, err)
	defer first.Body.Close()
	got := []string{first.Status, first.Header.Get("Content-Type"), first.Header.Get("Cache-Control"), first.Header.Get("Content-Length")}
	want := []string{"200 OK", "text/css; charset=utf-8", "public, max-age=31536000, immutable", strconv.Itoa(len(style))}
	proof.NoDiff(t, cmp.Diff(want, got), "answer")
	request.Header.Set("If-None-Match", first.Header.Get("Etag"))
	second, err := http.DefaultClient.Do(request)
	must(t, err)
	defer second.Body.Close()
	if second.StatusCode != http.StatusNotModified {
		t.Errorf("asked again: want 304, got %s", second.Status)
	}
}
