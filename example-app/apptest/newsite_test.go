package apptest

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/ringtree/ringtree/internal/proof/browser"
)

var siteShots = flag.String("siteshots", "", "write a screenshot of each page of a new site into this folder")

// moreModels is added to the models of a new site: each kind of field, each kind of index.
const moreModels = `
type Stars int8

type RecipeBook struct {
	Slug    string ` + "`kv:\"id\"`" + `
	Name    string
	About   string
	Section string    ` + "`kv:\"list\"`" + `
	Stars   Stars     ` + "`kv:\"ranking,by=Section; list\"`" + `
	Price   float64   ` + "`kv:\"ranking,scale=2\"`" + `
	Vegan   bool      ` + "`kv:\"list\"`" + `
	Tags    []string  ` + "`kv:\"list,values\"`" + `
	Since   time.Time ` + "`kv:\"timeline\"`" + `
	Isbn    string    ` + "`kv:\"unique\"`" + `
	Parts   map[string]int
	Owner   string    ` + "`kv:\"timeline,by=Owner\"`" + `
}

type Ticket struct {
	No    int64     ` + "`kv:\"id,seq\"`" + `
	Text  string
	Open  bool
	Made  time.Time ` + "`kv:\"created; timeline\"`" + `
	Views int64     ` + "`kv:\"counter; ranking,per=day\"`" + `
}
`

// shell runs a program in dir, which has to end well.
func shell(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// made is what the tests of new sites share: kvgen, and a site with moreModels and fewShapes. The
// first test that needs them makes them, and TestMain removes them.
var made struct {
	kvgen, site    sync.Once
	dir            string // with all of it
	siteDir, built string // the sources of the site, and its program
}

func madeDir(t *testing.T) string {
	t.Helper()
	made.kvgen.Do(func() {
		dir, err := os.MkdirTemp("", "newsite")
		if err != nil {
			t.Fatal(err)
		}
		made.dir = dir
		shell(t, "../..", "go", "build", "-trimpath", "-o", filepath.Join(dir, "kvgen"), "./codegen/kvgen")
	})
	return made.dir
}

// sharedSite returns the sources and the program of the site that the tests share.
func sharedSite(t *testing.T) (dir, program string) {
	t.Helper()
	made.site.Do(func() {
		models, pages := modelsOf(fewShapes)
		pages = append(pages, []string{"RecipeBook"}, []string{"-anyone", "Ticket"})
		made.siteDir = newSite(t, filepath.Join(madeDir(t), "wiki"), moreModels+models, pages)
		made.built = buildSite(t, made.siteDir)
	})
	if made.built == "" {
		t.Fatal("the new site could not be built for an earlier test")
	}
	return made.siteDir, made.built
}

// newSite makes a site in dir as kvgen new does, with more models and their pages, each by a
// call of kvgen scaffold. It returns dir.
func newSite(t *testing.T, dir, models string, pages [][]string) string {
	t.Helper()
	kvgen := filepath.Join(madeDir(t), "kvgen")
	shell(t, ".", kvgen, "new", dir)
	file, err := os.OpenFile(filepath.Join(dir, "models", "models.go"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(file, models)
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	shell(t, dir, kvgen, "./models")
	for _, args := range pages {
		shell(t, dir, kvgen, append([]string{"scaffold"}, args...)...)
	}
	return dir
}

// buildSite builds the site in dir, and returns the program.
func buildSite(t *testing.T, dir string) string {
	t.Helper()
	shell(t, dir, "go", "build", "-trimpath", "-o", "wiki")
	return filepath.Join(dir, "wiki")
}

// runSite runs the program of a site in dir until the test ends, and returns its URL. It has
// 256 file descriptors.
func runSite(t *testing.T, program, dir string, args ...string) (url string, process *os.Process) {
	t.Helper()
	c := exec.Command("sh", append([]string{"-c", `ulimit -n 256; exec "$0" "$@"`, program, "-addr", "127.0.0.1:0"}, args...)...)
	c.Dir = dir
	said, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		killed := c.Process.Signal(os.Interrupt) != nil
		if err := c.Wait(); err != nil && !killed {
			t.Errorf("the site ended with %v", err)
		}
	})
	for lines := bufio.NewScanner(said); lines.Scan(); {
		if url := regexp.MustCompile(`http://[0-9.:]+`).FindString(lines.Text()); url != "" {
			go io.Copy(io.Discard, said)
			return url, c.Process
		}
	}
	t.Fatal("the site does not say where it is")
	return "", nil
}

func TestNewSite_DoesWhatItsFormsSayAndPassesTheAudit(t *testing.T) {
	dir, program := sharedSite(t)
	if left := shell(t, dir, "gofmt", "-l", "main.go", "web"); left != "" {
		t.Errorf("gofmt would change %s", left)
	}
	shell(t, dir, "go", "vet", "-trimpath", "./...")
	shell(t, dir, "go", "test", "-vet=off", "-trimpath", "./...")
	url, _ := runSite(t, program, t.TempDir(), "-store", "mem:")
	p := browser.Open(t, url)
	look := func(name string) {
		t.Helper()
		for _, width := range []int64{360, browser.DesktopWidth} {
			p.SetViewport(width)
			for _, complaint := range p.Audit() {
				t.Errorf("%s, %d px: %s", name, width, complaint)
			}
			if *siteShots != "" {
				if err := os.WriteFile(filepath.Join(*siteShots, fmt.Sprintf("%s-%d.png", name, width)), p.Screenshot(), 0o666); err != nil {
					t.Error(err)
				}
			}
		}
	}
	p.Open("/")
	p.WantText("Nothing here yet.")
	look("empty")
	p.Follow("New post")
	look("sign-in")
	p.WantText("A password has 8 to 200 letters.")
	p.Fill("Name", "heron")
	p.Fill("Password", "long enough")
	p.Submit("Sign up")

	p.Follow("Settings")
	p.WantText("A password has 8 to 200 letters.")
	p.Fill("Current password", "not this one")
	p.Fill("New password", "even longer")
	p.Submit("Change password")
	p.WantText("This is not your password.")
	look("settings-wrong")
	p.Fill("Current password", "long enough")
	p.Fill("New password", "even longer")
	p.Submit("Change password")
	p.WantText("Your password has been changed")
	look("settings")
	p.Follow("Delete my account")
	look("leave")

	p.Open("/posts/new")
	p.Submit("Save")
	p.WantText("A post needs a title.")
	look("wrong-form")
	p.Fill("Title", "Snow in the morning")
	p.Fill("Body", "The figure two, the figure two.\n\nThe marks of clogs.")
	p.Fill("Tags", "winter, haiku")
	p.Submit("Save")
	p.WantText("Snow in the morning", "The marks of clogs.")
	look("post")
	p.Follow("haiku")
	p.WantText("Snow in the morning")
	look("list")
	p.Follow("Snow in the morning")
	p.Follow("Edit")
	other := p.Another()
	other.Open("/posts")
	other.Follow("Snow in the morning")
	other.Follow("Edit")
	other.Fill("Body", "The marks of clogs, and of crows.")
	other.Submit("Save")
	p.Fill("Title", "Snow at night")
	p.Submit("Save")
	p.WantText("This was saved while you were writing.", "and of crows", "Snow at night")
	look("conflict")
	p.Submit("Save")
	p.WantText("Snow at night")
	p.Submit("Move to the trash")
	p.WantText("This post is in the trash.")
	look("trashed")
	p.Open("/posts/trash")
	p.WantText("Snow at night")

	p.Open("/recipe-books/new")
	look("long-form")
	p.Fill("Price", "dear")
	p.Fill("Slug", "..")
	p.Submit("Save")
	p.WantText("“dear” is not a number.", "No address can end in “..”.")
	p.Wait("what was typed", "document.querySelector('[name=price]').value == 'dear'")
	look("wrong-fields")
	p.Fill("Slug", "soups")
	p.Fill("Price", "12.50")
	p.Fill("Stars", "5")
	p.Fill("Name", "Soups")
	p.Fill("Section", "Kitchen")
	p.Eval("document.querySelector('#vegan').checked = true", nil)
	p.Fill("Tags", "warm")
	p.Fill("Since", "2026-11-01T10:00")
	p.Submit("Save")
	p.WantText("Soups", "12.5", "Kitchen")
	look("facts")
	p.Follow("Edit")
	p.Wait("the box that was checked", "document.querySelector('#vegan').checked")
	p.Submit("Save")
	p.WantText("Soups", "Kitchen")
	p.Follow("Edit")
	p.Wait("the box that stayed checked", "document.querySelector('#vegan').checked")
	p.Open("/recipe-books/top-stars-by-section/Kitchen")
	p.WantText("Soups")
	p.Open("/recipe-books/by-stars/5")
	p.WantText("Soups")
	p.Open("/recipe-books/new")
	p.Fill("Slug", "stews")
	p.Fill("Isbn", "978")
	p.Submit("Save")
	p.Open("/recipe-books/new")
	p.Fill("Slug", "soups")
	p.Fill("Isbn", "978")
	p.Fill("About", "An hour of work.")
	p.Submit("Save")
	p.WantText("There is one already.")
	p.Fill("Slug", "broths")
	p.Submit("Save")
	p.WantText("“978” is taken.", "Something below is not right yet.")
	p.Wait("what was typed", "document.querySelector('[name=about]').value == 'An hour of work.'")
	look("taken")
	for _, slug := range []string{"soups", "stews"} {
		p.Open("/recipe-book/" + slug + "/delete")
		p.WantText("Delete " + map[string]string{"soups": "Soups", "stews": "stews"}[slug] + "?")
		look("delete")
		p.Submit("Delete")
	}
	p.WantText("Nothing here yet.")

	p.Open("/tickets/new")
	p.Fill("Text", "The door squeaks.")
	p.Submit("Save")
	p.Open("/ticket/1")
	p.WantText("The door squeaks.")

	// Someone signs out in another window, and in again: what is being written is kept.
	p.Open("/posts/new")
	p.Fill("Title", "Rain")
	p.Fill("Body", "All day.")
	other.Open("/")
	other.Submit("Sign out")
	p.Submit("Save")
	p.WantText("Sign in first", "You are not signed in.", "What you sent is kept here.")
	look("signed-out")
	other.Open("/signin")
	other.Fill("Name", "heron")
	other.Fill("Password", "even longer")
	other.Submit("Sign in")
	p.Submit("Send it again")
	p.WantText("Rain", "All day.")
}
