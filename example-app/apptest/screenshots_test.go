package apptest

import (
	"bytes"
	"cmp"
	"flag"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/example-app/demo"
	"github.com/ringtree/ringtree/internal/proof/browser"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

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

// takeAll takes the screenshots, on a site with 400 demo pages.
func takeAll(t *testing.T, folder string) {
	store := memkv.New(memkv.Options{})
	if _, err := demo.Fill(t.Context(), store, demo.Plan{Pages: 400, Password: password, Hash: cheap}); err != nil {
		t.Fatal(err)
	}
	s := open(t, store)
	s.settle()
	heron, stranger := newWalker(t, s.url, "heron", true), newWalker(t, s.url, "", true)
	heron.Open("/login")
	heron.logIn()
	for _, shot := range shots {
		w := heron
		if shot.stranger {
			w = stranger
		}
		w.SetViewport(browser.DesktopWidth)
		w.SetColors("light")
		if shot.phone {
			w.SetViewport(browser.PhoneWidth)
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
		path = first(w, "/ranking?span=all", "/p/")
	case "TOPIC":
		path = first(w, "/topics", "/t/")
	case "FOLLOWERS":
		path = first(w, "/topics", "/t/") + "/followers"
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

// first returns the first link on a page whose address starts with begin.
func first(w *walker, page, begin string) (path string) {
	w.t.Helper()
	w.Open(page)
	w.Eval("document.querySelector('main a[href^=\""+begin+"\"]').getAttribute('href')", &path)
	return path
}

// conflict opens what the second of two tabs sees.
func (s *site) conflict(w *walker) {
	s.t.Helper()
	w.write("A gate in the snow", "The gate was open in the morning, and there was one row of marks that led out of it.", "")
	w.Follow("Edit page")
	other := w.another()
	other.Open("/p/a-gate-in-the-snow")
	other.Follow("Edit page")
	other.Fill("Text", "The gate was open in the morning, and there were two rows of marks that led out of it.")
	other.Submit("Save page")
	w.Fill("Text", "The gate was shut in the morning, and there was one row of marks that led out of it.")
	w.Submit("Save page")
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
	bounds := full.Bounds().Intersect(image.Rect(0, 0, browser.DesktopWidth, maxHeight))
	for y := range bounds.Dy() {
		for x := range bounds.Dx() {
			count[color.RGBAModel.Convert(full.At(x, y)).(color.RGBA)]++
		}
	}
	all := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), slices.Compare([]uint8{a.R, a.G, a.B}, []uint8{b.R, b.G, b.B}))
	})
	var palette color.Palette
	for _, c := range all[:min(256, len(all))] {
		palette = append(palette, c)
	}
	small := image.NewPaletted(bounds, palette)
	draw.Draw(small, bounds, full, image.Point{}, draw.Src)
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, small); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
