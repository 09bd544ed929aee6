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
	"testing"

	"github.com/ringtree/ringtree/example-app/demo"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/proof/browser"
	"github.com/ringtree/ringtree/kvmodel/kvfault"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

var screenshots = flag.String("screenshots", "", "write a screenshot of each page of the sample app into this folder")

// Relative to this package.
const (
	shotsFolder = "../../docs/screenshots"
	shotsPage   = "../../docs/sample-app.md"
	maxShot     = 150 << 10
	maxHeight   = 2400
)

// A shot is of the demo, as its member heron or a guest sees it.
type shot struct {
	name, path   string
	phone, guest bool // a phone is narrow, and in dark colors
}

var shots = []shot{
	{name: "home", path: "/", guest: true},
	{name: "home-phone", path: "/", phone: true},
	{name: "page", path: "/p/how-to-read-a-tide-table"},
	{name: "conflict", path: "CONFLICT"},
	{name: "ranking", path: "/ranking?span=all"},
	{name: "profile", path: "/m/heron"},
	{name: "footprints-phone", path: "/footprints", phone: true},
	{name: "under-the-hood", path: "/hood"},
	{name: "under-the-hood-phone", path: "/hood", phone: true},
	{name: "killed", path: "KILL"},
}

// The documentation shows the app, in small pictures.
func TestScreenshots_ExistAndAreShown(t *testing.T) {
	if *screenshots != "" {
		takeAll(t, *screenshots)
	}
	page, err := os.ReadFile(shotsPage)
	must(t, err)
	for _, s := range shots {
		proof.Contains(t, string(page), "(screenshots/"+s.name+".png)")
		info, err := os.Stat(filepath.Join(shotsFolder, s.name+".png"))
		if err != nil {
			t.Errorf("%v: make docs", err)
		} else if info.Size() > maxShot {
			t.Errorf("%s has %d bytes, want at most %d", info.Name(), info.Size(), maxShot)
		}
	}
}

func takeAll(t *testing.T, folder string) {
	store := kvfault.SingleKeys(memkv.New(memkv.Options{}))
	proof.Done(t)(demo.Fill(t.Context(), store, demo.Plan{Pages: 400, Password: password, Hash: cheap}))
	s := open(t, store)
	s.settle()
	heron, guest := newWalker(t, s.url, "heron", true), newWalker(t, s.url, "", true)
	heron.Open("/login")
	heron.logIn()
	for _, shot := range shots {
		w := heron
		if shot.guest {
			w = guest
			w.Open("/") // The first visitor of a process pays more.
		}
		w.SetViewport(browser.DesktopWidth)
		w.SetColors("light")
		if shot.phone {
			w.SetViewport(browser.PhoneWidth)
			w.SetColors("dark")
		}
		switch shot.path {
		case "CONFLICT":
			s.conflict(w)
		case "KILL":
			w.Open("/hood")
			w.Submit("Kill a writer")
		default:
			w.Open(shot.path)
		}
		picture := fewColors(t, w.Screenshot())
		must(t, os.WriteFile(filepath.Join(folder, shot.name+".png"), picture, 0o644))
	}
}

// conflict opens the page for the second of two tabs.
func (s *site) conflict(w *walker) {
	s.t.Helper()
	w.write("A gate in the snow", "The gate was open in the morning, and there was one row of marks that led out of it.", "")
	w.Follow("Edit page")
	other := w.another()
	other.Open("/p/a-gate-in-the-snow")
	other.Follow("Edit page")
	other.send("Save page", "Text", "The gate was open in the morning, and there were two rows of marks that led out of it.")
	w.send("Save page", "Text", "The gate was shut in the morning, and there was one row of marks that led out of it.")
}

// fewColors keeps the 256 most frequent colors, and at most maxHeight.
func fewColors(t *testing.T, picture []byte) []byte {
	t.Helper()
	full, err := png.Decode(bytes.NewReader(picture))
	must(t, err)
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
	must(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, small))
	return out.Bytes()
}
