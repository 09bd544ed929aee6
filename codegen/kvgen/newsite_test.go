package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/proof/browser"
	"github.com/ringtree/ringtree/internal/proof/servers"
)

// each kind of field, each kind of index
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

// A shape is how a model gets its id, which is text, chosen or seq, and whether it is versioned,
// unique, owned, private, or goes to a trash.
type shape struct {
	id    string
	flags [5]bool
}

func shapes() (all []shape) {
	for _, id := range []string{"text", "chosen", "seq"} {
		for n := range 32 {
			all = append(all, shape{id, [5]bool{n&1 > 0, n&2 > 0, n&4 > 0, n&8 > 0, n&16 > 0}})
		}
	}
	return all
}

// fewShapes have each flag, and lack it. Each way to send a form fits one of them.
var fewShapes = []shape{{"text", [5]bool{0: true, 2: true, 3: true}}, {"chosen", [5]bool{1: true, 4: true}}, {"seq", [5]bool{}}}

func (s shape) model(name string) string {
	fields := []string{
		map[string]string{"text": "ID string `kv:\"id\"`", "chosen": "Slug string `kv:\"id\"`", "seq": "No int64 `kv:\"id,seq\"`"}[s.id],
		"Text string", "Hot bool", "Tags []string `kv:\"list\"`", "Minutes int", "Price float64", "Since time.Time", "Made time.Time `kv:\"created; timeline\"`",
	}
	title := "Title string"
	for i, more := range []string{"Version int64 `kv:\"version\"`", "", "Author string", "Pin string `kv:\"private; unique\"`", "Trashed time.Time"} {
		if s.flags[i] {
			fields = append(fields, more)
		}
	}
	if s.flags[1] {
		title += " `kv:\"unique\"`"
	}
	return "\ntype " + name + " struct {\n\t" + strings.Join(slices.Insert(fields, 1, title), "\n\t") + "\n}\n"
}

func shell(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	c.Dir, c.Env = dir, append(os.Environ(), goEnv(t)...)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// newSite makes a site as kvgen new does, with models of the shapes, more models, the pages of all,
// and the tests in testdata/site.
func newSite(t *testing.T, dir string, shapes []shape, more string, pages ...[]string) {
	t.Helper()
	root, err := filepath.Abs("../..")
	must(t, err)
	shell(t, ".", "kvgen", "new", "-replace", root, dir)
	table := "package web\n\nvar shapes = []shape{\n"
	for i, s := range shapes {
		name, access := fmt.Sprint("Shape", i), "-anyone"
		if s.flags[2] {
			access = "-owner=Author"
		}
		more += s.model(name)
		pages = append(pages, []string{access, name})
		table += fmt.Sprintf("\t{%q, %s},\n", s.id, strings.Join(strings.Fields(strings.Trim(fmt.Sprint(s.flags), "[]")), ", "))
	}
	models := filepath.Join(dir, "models", "models.go")
	write(t, models, read(t, models)+more)
	write(t, filepath.Join(dir, "web", "shapes_test.go"), table+"}\n")
	must(t, os.CopyFS(filepath.Join(dir, "web"), os.DirFS("testdata/site")))
	shell(t, dir, "kvgen", "./models")
	for _, args := range pages {
		shell(t, dir, "kvgen", append([]string{"scaffold"}, args...)...)
	}
}

// common is the directory of a site with moreModels and fewShapes.
var common struct {
	once sync.Once
	dir  string
}

// The first caller makes it, and TestMain removes it.
func commonSite(t *testing.T) string {
	t.Helper()
	common.once.Do(func() {
		dir, err := os.MkdirTemp("", "newsite")
		must(t, err)
		common.dir = dir
		newSite(t, filepath.Join(dir, "wiki"), fewShapes, moreModels, []string{"RecipeBook"}, []string{"-anyone", "Ticket"})
	})
	return filepath.Join(common.dir, "wiki")
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return string(text)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), 0o666))
}

func TestMatrix_OfForms_NothingThatIsTypedIsLost(t *testing.T) {
	shell(t, commonSite(t), "go", "test", "-vet=off", "./...")
	for some := range proof.Part(t, nil, slices.Collect(slices.Chunk(shapes(), 8))) {
		dir := filepath.Join(t.TempDir(), "wiki")
		newSite(t, dir, some, "")
		shell(t, dir, "go", "test", "-vet=off", "-run", "TestForms_", "./web")
	}
}

// runSite returns the URL of a site that runs until the test ends, with 256 file descriptors.
func runSite(t *testing.T, program string, args ...string) (url string) {
	t.Helper()
	c := exec.Command("sh", append([]string{"-c", `ulimit -n 256; exec "$0" "$@"`, program, "-addr", "127.0.0.1:0", "-store", "mem:"}, args...)...)
	c.Dir = t.TempDir()
	said, err := c.StderrPipe()
	must(t, err)
	must(t, c.Start())
	t.Cleanup(func() {
		c.Process.Signal(os.Interrupt)
		if err := c.Wait(); err != nil {
			t.Errorf("the site ended with %v", err)
		}
	})
	for lines := bufio.NewScanner(said); lines.Scan(); {
		if url := regexp.MustCompile(`http://[0-9.:]+`).FindString(lines.Text()); url != "" {
			go io.Copy(io.Discard, said)
			return url
		}
	}
	t.Fatal("the site does not say where it is")
	return ""
}

// hold opens connections that send nothing, or break off.
func hold(t *testing.T, url string, connections int) {
	t.Helper()
	for i := range connections {
		c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		must(t, err)
		t.Cleanup(func() { c.Close() })
		io.WriteString(c, []string{"", "GET / HTTP/1.1\r\n", "POST /signin HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nname"}[i%3])
	}
}

// All kinds of pages pass the audit on a phone and on a desktop, their fields work, and 300
// connections that hold still keep nobody away.
func TestNewSite_DoesWhatItsFormsSayAndPassesTheAudit(t *testing.T) {
	servers.Need(t, "chromium")
	dir := commonSite(t)
	if left := shell(t, dir, "gofmt", "-l", "main.go", "web"); left != "" {
		t.Errorf("gofmt would change %s", left)
	}
	shell(t, dir, "go", "build", "-o", "wiki")
	url := runSite(t, filepath.Join(dir, "wiki"))
	hold(t, url, 300)
	p := browser.Open(t, url)
	look := func(name string, shows ...string) {
		t.Helper()
		p.WantText(shows...)
		for _, width := range []int64{360, browser.DesktopWidth} {
			p.SetViewport(width)
			for _, complaint := range p.Audit() {
				t.Errorf("%s, %d px: %s", name, width, complaint)
			}
		}
	}
	send := func(button string, fields ...string) {
		t.Helper()
		for i := 0; i < len(fields); i += 2 {
			p.Fill(fields[i], fields[i+1])
		}
		p.Submit(button)
	}
	p.Open("/")
	look("empty", "Nothing here yet.")
	p.Follow("New post")
	look("sign-in", "A password has 8 to 200 letters.")
	send("Sign up", "Name", "heron", "Password", "long enough")
	p.Follow("Settings")
	send("Change password", "Current password", "not this one", "New password", "even longer")
	look("settings-wrong", "This is not your password.", "A password has 8 to 200 letters.")
	send("Change password", "Current password", "long enough", "New password", "even longer")
	look("settings", "Your password has been changed")
	p.Follow("The database")
	look("database", "All is well.")
	p.Open("/inspect/record?model=User&id=heron")
	look("database-record", "Password", "***")
	p.Open("/settings")
	p.Follow("Delete my account")
	look("leave")

	p.Open("/posts/new")
	p.Submit("Save")
	look("wrong-form", "A post needs a title.")
	send("Save", "Title", "Snow in the morning", "Body", "The figure two, the figure two.\n\nThe marks of clogs.", "Tags", "winter, haiku")
	look("post", "Snow in the morning", "The marks of clogs.")
	p.Follow("haiku")
	look("list", "Snow in the morning")
	p.Follow("Snow in the morning")
	post := p.Where()
	p.Open("/inspect/record?model=Post&id=" + post[strings.LastIndexByte(post, '/')+1:])
	send("Save", "Title", "Snow in the evening")
	look("database-edit", "Snow in the evening", "Edit the record")
	p.Open(strings.TrimPrefix(post, url))
	p.WantText("Snow in the evening")
	p.Follow("Edit")
	other := p.Another()
	other.Open("/posts")
	other.Follow("Snow in the evening")
	other.Follow("Edit")
	other.Fill("Body", "The marks of clogs, and of crows.")
	other.Submit("Save")
	send("Save", "Title", "Snow at night")
	look("conflict", "This was saved while you were writing.", "and of crows", "Snow at night")
	p.Submit("Save")
	p.WantText("Snow at night")
	p.Submit("Move to the trash")
	look("trashed", "This post is in the trash.")

	p.Open("/recipe-books/new")
	look("long-form")
	send("Save", "Price", "dear", "Slug", "..")
	look("wrong-fields", "“dear” is not a number.", "No address can end in “..”.")
	p.Wait("what was typed", "document.querySelector('[name=price]').value == 'dear'")
	p.Eval("document.querySelector('#vegan').checked = true", nil)
	send("Save", "Slug", "soups", "Price", "12.50", "Stars", "5", "Name", "Soups", "Section", "Kitchen", "Tags", "warm", "Since", "2026-11-01T10:00", "Isbn", "978")
	look("facts", "Soups", "12.5", "Kitchen")
	for range 2 { // A checked box stays checked.
		p.Follow("Edit")
		p.Wait("the box that was checked", "document.querySelector('#vegan').checked")
		p.Submit("Save")
		p.WantText("Soups", "Kitchen")
	}
	for _, list := range []string{"/recipe-books/top-stars-by-section/Kitchen", "/recipe-books/by-stars/5"} {
		p.Open(list)
		p.WantText("Soups")
	}
	p.Open("/recipe-books/new")
	send("Save", "Slug", "soups")
	p.WantText("There is one already.")
	send("Save", "Slug", "broths", "Isbn", "978", "About", "An hour of work.")
	look("taken", "“978” is taken.", "Something below is not right yet.")
	p.Wait("what was typed", "document.querySelector('[name=about]').value == 'An hour of work.'")
	p.Open("/recipe-book/soups/delete")
	look("delete", "Delete Soups?")
	p.Submit("Delete")
	p.WantText("Nothing here yet.")
	p.Open("/tickets/new")
	send("Save", "Text", "The door squeaks.")
	p.Open("/ticket/1")
	p.WantText("The door squeaks.")

	// Someone signs out in another window, and in again: the text is kept.
	p.Open("/posts/new")
	other.Open("/")
	other.Submit("Sign out")
	send("Save", "Title", "Rain", "Body", "All day.")
	look("signed-out", "Sign in first", "You are not signed in.", "What you sent is kept here.")
	other.Open("/signin")
	other.Fill("Name", "heron")
	other.Fill("Password", "even longer")
	other.Submit("Sign in")
	p.Submit("Send it again")
	p.WantText("Rain", "All day.")
}

var must = proof.Must
