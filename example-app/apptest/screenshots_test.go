package apptest

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/example-app/demo"
	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

var every = flag.String("every", "", "write a screenshot of each page in each width and color, in and out, with and without data, into this folder")

var screenshots = flag.String("screenshots", "", "write a screenshot of each page of the sample app into this folder")

// The folder of the screenshots and the page that shows them, relative to this package.
const (
	shotsFolder = "../../docs/screenshots"
	shotsPage   = "../../docs/sample-app.md"
	maxShot     = 150 << 10
	maxHeight   = 2400
)

// shot is a screenshot of a page of the demo, as its member heron sees it.
type shot struct {
	name, path string
	stranger   bool
	phone      bool // narrow, and in dark colors
}

var shots = []shot{
	{name: "home", path: "/"},
	{name: "home-phone", path: "/", phone: true},
	{name: "newest", path: "/newest"},
	{name: "feed", path: "/feed"},
	{name: "page", path: "PAGE"},
	{name: "page-phone", path: "PAGE", phone: true},
	{name: "write", path: "/write"},
	{name: "conflict", path: "CONFLICT"},
	{name: "history", path: "HISTORY"},
	{name: "trash", path: "TRASH"},
	{name: "trash-phone", path: "/trash", phone: true},
	{name: "ranking", path: "/ranking?span=all"},
	{name: "ranking-phone", path: "/ranking", phone: true},
	{name: "search", path: "/search?q=t"},
	{name: "topics", path: "/topics"},
	{name: "topic", path: "TOPIC"},
	{name: "followers", path: "FOLLOWERS"},
	{name: "profile", path: "/m/heron"},
	{name: "footprints", path: "/footprints"},
	{name: "footprints-phone", path: "/footprints", phone: true},
	{name: "settings", path: "/settings"},
	{name: "under-the-hood", path: "/hood?page=tide-table"},
	{name: "under-the-hood-phone", path: "/hood", phone: true},
	{name: "log-in", path: "/login", stranger: true},
	{name: "sign-up", path: "/signup", stranger: true},
	{name: "not-found", path: "/nowhere", stranger: true},
}

// The documentation shows each page of the app, in small pictures.
func TestScreenshots_ExistAndAreShown(t *testing.T) {
	if *screenshots != "" {
		takeAll(t, *screenshots)
	}
	if *every != "" {
		shootEveryPage(t)
	}
	page, err := os.ReadFile(shotsPage)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range shots {
		if !strings.Contains(string(page), "(screenshots/"+s.name+".png)") {
			t.Errorf("%s does not show %s", shotsPage, s.name)
		}
		info, err := os.Stat(filepath.Join(shotsFolder, s.name+".png"))
		if err != nil {
			t.Errorf("%v: make docs", err)
		} else if info.Size() > maxShot {
			t.Errorf("%s has %d bytes, want at most %d", info.Name(), info.Size(), maxShot)
		}
	}
}

// everyPage are the pages that -every shows.
var everyPage = map[string]string{
	"home": "/", "newest": "/newest", "feed": "/feed", "page": "PAGE", "write": "/write", "ranking": "/ranking", "ranking-all": "/ranking?span=all",
	"search": "/search?q=t", "search-all": "/search", "search-none": "/search?q=zzz", "topics": "/topics", "topic": "TOPIC", "followers": "FOLLOWERS",
	"profile": "/m/heron", "footprints": "/footprints", "trash": "/trash", "settings": "/settings", "hood": "/hood?page=tide-table",
	"hood-titles": "/hood?list=titles&of=tide-table", "hood-author": "/hood?list=author&of=heron", "hood-list": "/hood?list=topic&of=food",
	"log-in": "/login", "sign-up": "/signup", "not-found": "/nowhere",
}

// shootEveryPage makes the pictures for someone who looks at all of the app.
func shootEveryPage(t *testing.T) {
	t.Helper()
	chromium := startBrowser(t)
	full := openDemo(t)
	bare := openMem(t)
	bare.member("heron")
	for data, s := range map[string]*site{"data": full, "bare": bare} {
		heron, stranger := newWalker(t, chromium, s.url, "heron", true), newWalker(t, chromium, s.url, "", true)
		heron.Open("/login")
		heron.logIn()
		for who, w := range map[string]*walker{"in": heron, "out": stranger} {
			for name, path := range everyPage {
				if data == "bare" && path == strings.ToUpper(path) && path != "/" {
					continue // It does not exist.
				}
				s.show(w, path)
				for _, width := range []int64{360, 768, 1280} {
					for _, colors := range []string{"light", "dark"} {
						w.SetViewport(width)
						w.SetColors(colors)
						file := fmt.Sprintf("%s-%s-%s-%d-%s.png", name, data, who, width, colors)
						if err := os.WriteFile(filepath.Join(*every, file), fewColors(t, w.Screenshot()), 0o644); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
		}
	}
}

// openDemo returns a site with 400 demo pages.
func openDemo(t *testing.T) *site {
	t.Helper()
	store := memkv.New(memkv.Options{})
	if _, err := demo.Fill(t.Context(), store, demo.Plan{Pages: 400, Password: password, Hash: cheap}); err != nil {
		t.Fatal(err)
	}
	s := open(t, store)
	s.settle()
	return s
}

func takeAll(t *testing.T, folder string) {
	servers.Need(t, program)
	s := openDemo(t)
	chromium := startBrowser(t)
	heron, stranger := newWalker(t, chromium, s.url, "heron", true), newWalker(t, chromium, s.url, "", true)
	heron.Open("/login")
	heron.logIn()
	for _, shot := range shots {
		w := heron
		if shot.stranger {
			w = stranger
		}
		w.SetViewport(desktopWidth)
		w.SetColors("light")
		if shot.phone {
			w.SetViewport(phoneWidth)
			w.SetColors("dark")
		}
		s.show(w, shot.path)
		picture := fewColors(t, w.Screenshot())
		if err := os.WriteFile(filepath.Join(folder, shot.name+".png"), picture, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// show opens a page of the demo. It looks up paths in capitals.
func (s *site) show(w *walker, path string) {
	s.t.Helper()
	switch path {
	case "PAGE":
		path = s.popular(w)
	case "TOPIC":
		path = s.first(w, "/topics", "/t/")
	case "FOLLOWERS":
		path = s.first(w, "/topics", "/t/") + "/followers"
	case "CONFLICT":
		s.conflict(w)
		return
	case "HISTORY":
		w.Open("/p/a-gate-in-the-snow")
		w.Follow("History")
		return
	case "TRASH":
		w.Open("/p/a-gate-in-the-snow")
		w.Follow("Edit page")
		w.Submit("Delete page")
		return
	}
	w.Open(path)
}

// popular returns the path of the page that ranks first.
func (s *site) popular(w *walker) string { return s.first(w, "/ranking?span=all", "/p/") }

// first returns the first link on a page whose address starts with begin.
func (s *site) first(w *walker, page, begin string) string {
	s.t.Helper()
	w.Open(page)
	var path string
	w.Eval("document.querySelector('main a[href^=\""+begin+"\"]').getAttribute('href')", &path)
	return path
}

// conflict opens what the second of two tabs sees.
func (s *site) conflict(w *walker) {
	s.t.Helper()
	w.Open("/write")
	w.Fill("Title", "A gate in the snow")
	w.Fill("Text", "The gate was open in the morning, and there was one row of marks that led out of it.")
	w.Submit("Save page")
	w.Follow("Edit page")
	heron, err := s.app.Find(context.Background(), "heron")
	if err != nil {
		s.t.Fatal(err)
	}
	page, err := s.app.Models.Pages.BySlug.Find(context.Background(), "a-gate-in-the-snow")
	if err != nil {
		s.t.Fatal(err)
	}
	v := s.visitor()
	v.want(v.logIn("heron", password), 303)
	v.want(v.fill("/edit/"+page.ID, "/edit/"+page.ID, "body", "The gate was open in the morning, and there were two rows of marks that led out of it."), 303)
	w.Fill("Text", "The gate was shut in the morning, and there was one row of marks that led out of it.")
	w.Submit("Save page")
	if w.status != 409 {
		s.t.Fatalf("%s: want a conflict, got status %d", heron.Handle, w.status)
	}
}

// fewColors reduces a picture to its 256 most frequent colors. A page of text has few
// others, and they are similar. It cuts the picture off at maxHeight.
func fewColors(t *testing.T, picture []byte) []byte {
	t.Helper()
	full, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	count := map[color.RGBA]int{}
	bounds := full.Bounds().Intersect(image.Rect(0, 0, desktopWidth, maxHeight))
	for y := range bounds.Dy() {
		for x := range bounds.Dx() {
			count[color.RGBAModel.Convert(full.At(x, y)).(color.RGBA)]++
		}
	}
	small := image.NewPaletted(bounds, palette(count))
	nearest := map[color.RGBA]uint8{}
	for y := range bounds.Dy() {
		for x := range bounds.Dx() {
			at := color.RGBAModel.Convert(full.At(x, y)).(color.RGBA)
			index, known := nearest[at]
			if !known {
				index = uint8(small.Palette.Index(at))
				nearest[at] = index
			}
			small.SetColorIndex(x, y, index)
		}
	}
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, small); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func palette(count map[color.RGBA]int) color.Palette {
	var all []color.RGBA
	for c := range count {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(number(a), number(b)))
	})
	var palette color.Palette
	for _, c := range all[:min(256, len(all))] {
		palette = append(palette, c)
	}
	return palette
}

func number(c color.RGBA) int { return int(c.R)<<16 | int(c.G)<<8 | int(c.B) }
