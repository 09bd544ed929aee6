package apptest

import (
	"cmp"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
)

// A shapeOfModel is what matters of a model for its forms.
type shapeOfModel struct {
	id                                       string // text, chosen or seq
	versioned, unique, owned, private, trash bool
}

// shapesOfModels has all of them.
func shapesOfModels() []shapeOfModel {
	var all []shapeOfModel
	for _, id := range []string{"text", "chosen", "seq"} {
		for n := range 32 {
			all = append(all, shapeOfModel{id, n&1 > 0, n&2 > 0, n&4 > 0, n&8 > 0, n&16 > 0})
		}
	}
	return all
}

func (s shapeOfModel) flags() []bool {
	return []bool{s.versioned, s.unique, s.owned, s.private, s.trash}
}

func (s shapeOfModel) String() string {
	name := s.id
	for i, word := range []string{"version", "unique", "owner", "private", "trash"} {
		if s.flags()[i] {
			name += " " + word
		}
	}
	return name
}

// source returns the model of the shape.
func (s shapeOfModel) source(name string) string {
	line := func(really bool, text string) string {
		if !really {
			return ""
		}
		return "\t" + text + "\n"
	}
	id := map[string]string{"text": "ID string `kv:\"id\"`", "chosen": "Slug string `kv:\"id\"`", "seq": "No int64 `kv:\"id,seq\"`"}
	return "\ntype " + name + " struct {\n" +
		line(true, id[s.id]) +
		line(!s.unique, "Title string") + line(s.unique, "Title string `kv:\"unique\"`") +
		line(true, "Text string") + line(true, "Hot bool") + line(true, "Tags []string `kv:\"list\"`") +
		line(true, "Minutes int") + line(true, "Price float64") + line(true, "Since time.Time") +
		line(s.owned, "Author string") + line(s.private, "Pin string `kv:\"private; unique\"`") +
		line(s.trash, "Trashed time.Time") + line(s.versioned, "Version int64 `kv:\"version\"`") +
		line(true, "Made time.Time `kv:\"created; timeline\"`") + "}\n"
}

// fewShapes are those of the site that the tests share. Each row of the table fits one of them.
var fewShapes = []shapeOfModel{
	{id: "text", versioned: true, owned: true, private: true},
	{id: "chosen", unique: true, trash: true},
	{id: "seq"},
}

// modelsOf returns the source of models of the shapes, and how their pages are made.
func modelsOf(shapes []shapeOfModel) (models string, pages [][]string) {
	for i, shape := range shapes {
		name, access := fmt.Sprint("Shape", i), "-anyone"
		if shape.owned {
			access = "-owner=Author"
		}
		models += shape.source(name)
		pages = append(pages, []string{access, name})
	}
	return models, pages
}

// A shaped is the pages of a model on a site, and its visitors.
type shaped struct {
	*testing.T
	shapeOfModel
	record, records string // the beginnings of addresses: /shape3, /shape3s
	ann, bob, guest *visitor
	made            int
}

// An attempt is what came of a form that was sent: the answer, the text that was typed into it,
// and the record that has it already, or must stay as it was.
type attempt struct {
	got    reply
	text   string
	at     string // the address of the record; "" if there is none
	before string // all that is seen of it

	then *visitor // who sends the form again that an answer keeps the text in; nil: nobody
}

// next returns a title that no record has.
func (m *shaped) next() string {
	m.made++
	return fmt.Sprintf("%s %d", strings.Trim(m.record, "/"), m.made)
}

// blank returns the form of a new record as it is sent by someone who has typed a title and a
// text.
func (m *shaped) blank(v *visitor, text string) []string {
	title := m.next()
	fields := append(v.fields(m.records+"/new", m.records+"/new"),
		"title", title, "text", text, "hot", "on", "tags", "warm, deep", "minutes", "10", "price", "1.5", "since", "2026-11-01T10:00")
	if m.id == "chosen" {
		fields = append(fields, "slug", strings.ReplaceAll(title, " ", "-"))
	}
	return fields
}

// make makes a record of ann's, and returns its address.
func (m *shaped) make(text string) string {
	m.Helper()
	got := m.ann.post(m.records+"/new", m.blank(m.ann, text)...)
	if got.status != 303 {
		m.Fatalf("%s: a record is not made: status %d, %s", m, got.status, shown(got.body))
	}
	return got.header.Get("Location")
}

// form returns the form by which ann can change the record at an address, as a browser sends it,
// with other fields.
func (m *shaped) form(at string, typed ...string) []string {
	m.Helper()
	return append(m.ann.fields(at+"/edit", at+"/edit"), typed...)
}

// state returns all that ann sees of the record at an address.
func (m *shaped) state(at string) string {
	m.Helper()
	return fmt.Sprint(m.form(at), shown(mainOf(m.ann.get(at).body)))
}

// mainOf returns a page without its foot, where the cost is.
func mainOf(page string) string {
	body, _, _ := strings.Cut(page, "<footer")
	return body
}

// send has a visitor send fields to change the record at an address.
func (m *shaped) send(v *visitor, at, text string, fields ...string) attempt {
	m.Helper()
	before := m.state(at)
	return attempt{got: v.post(at+"/edit", append(fields, "text", text)...), text: text, at: at, before: before}
}

// raw has ann send a body to the form of a new record, in which SEEN is replaced, as a kind.
func (m *shaped) raw(text, kind, body string) attempt {
	m.Helper()
	at := m.make("Hours of work.")
	before := m.state(at)
	body = strings.ReplaceAll(body, "SEEN", valueOf(m.form(at), "as-seen"))
	got := m.ann.send("POST", at+"/edit", body, http.Header{"Content-Type": {kind}})
	return attempt{got: got, text: text, at: at, before: before}
}

// formWith returns the form of a page that has the text in it.
func formWith(page, text string) (f form, ok bool) {
	for _, f := range forms(page) {
		if f.fields["text"] == text {
			return f, true
		}
	}
	return form{}, false
}

// again sends the form of an answer that keeps the text once more. If it makes a record, that
// gets a title and an id of its own.
func (m *shaped) again(a attempt) string {
	m.Helper()
	f, _ := formWith(a.got.body, a.text)
	if strings.HasSuffix(f.action, "/new") {
		f.fields["title"] = m.next()
		if has(f.fields, "slug") {
			f.fields["slug"] = strings.ReplaceAll(m.next(), " ", "-")
		}
	}
	var fields []string
	for name, value := range f.fields {
		fields = append(fields, name, value)
	}
	got := a.then.post(cmp.Or(f.action, a.got.path), fields...)
	if to := got.header.Get("Location"); got.status == 303 && strings.Contains(shown(m.ann.get(to).body), a.text) {
		return ", then saved"
	}
	return fmt.Sprintf(", then LOST: status %d\n%s", got.status, shown(got.body))
}

// verdict says what became of the text that was typed, and of what was stored before.
func (m *shaped) verdict(a attempt) string {
	m.Helper()
	to := a.got.header.Get("Location")
	is303 := a.got.status == 303
	switch {
	case a.at != "" && a.before != m.state(a.at) && (to != a.at || a.text == ""):
		return fmt.Sprintf("LOST: status %d, and the record is\n%s\nIt was\n%s", a.got.status, m.state(a.at), a.before)
	case is303 && strings.Contains(shown(m.ann.get(to).body), a.text):
		return "saved"
	case is303:
		return "LOST: the answer leads to " + to + ", which does not show the text"
	}
	if _, ok := formWith(a.got.body, a.text); ok && a.text != "" {
		return fmt.Sprint("kept ", a.got.status)
	}
	if a.text == "" || slices.Contains([]int{400, 405, 413, 415}, a.got.status) {
		return fmt.Sprint("refused ", a.got.status)
	}
	return fmt.Sprintf("LOST: status %d, and the page has no form with the text:\n%s", a.got.status, shown(a.got.body))
}

// A cell is a way to send a form, and what has to come of it.
type cell struct {
	name string
	try  func(m *shaped) attempt
	want func(s shapeOfModel) string // the verdict; "" where the cell does not fit
}

func always(verdict string) func(shapeOfModel) string {
	return func(shapeOfModel) string { return verdict }
}

// just returns a verdict for models that are so.
func just(is func(shapeOfModel) bool, verdict string) func(shapeOfModel) string {
	return func(s shapeOfModel) string {
		if is(s) {
			return verdict
		}
		return ""
	}
}

func isUnique(s shapeOfModel) bool { return s.unique }
func isText(s shapeOfModel) bool   { return s.id == "text" }
func isChosen(s shapeOfModel) bool { return s.id == "chosen" }
func isOwned(s shapeOfModel) bool  { return s.owned }
func inTrash(s shapeOfModel) bool  { return s.trash }
func isGone(s shapeOfModel) bool   { return !s.trash }

const (
	urlencoded = "application/x-www-form-urlencoded"
	typed      = "Another hour of work."
	half       = "as-seen=SEEN&text=Another+hour+of+work."
)

// cells are what is done to each model.
var cells = []cell{
	{"too long", func(m *shaped) attempt { return m.raw("", urlencoded, "text="+strings.Repeat("a", 4_000_000)) }, always("refused 413")},
	{"malformed", func(m *shaped) attempt { return m.raw("", urlencoded, "as-seen=SEEN&text=%zz") }, always("refused 400")},
	{"semicolons", func(m *shaped) attempt { return m.raw("", urlencoded, "as-seen=SEEN;text=x") }, always("refused 400")},
	{"JSON", func(m *shaped) attempt { return m.raw("", "application/json", `{"text": "x"}`) }, always("refused 415")},
	{"plain text", func(m *shaped) attempt { return m.raw("", "text/plain", "as-seen=SEEN&text=x") }, always("refused 415")},
	{"no type", func(m *shaped) attempt { return m.raw("", "", "as-seen=SEEN&text=x") }, always("refused 415")},
	{"multipart", func(m *shaped) attempt { return m.raw("", "multipart/form-data; boundary=x", "--x") }, always("refused 415")},
	{"empty", func(m *shaped) attempt { return m.raw("", urlencoded, "") }, always("saved")},
	{"half sent", func(m *shaped) attempt { return m.raw(typed, urlencoded, half) }, always("saved")},
	{"half, unseen", func(m *shaped) attempt {
		a := m.raw(typed, urlencoded, "text=Another+hour+of+work.")
		a.then = m.ann
		return a
	}, always("kept 409, then saved")},
	{"not text", func(m *shaped) attempt { return m.raw(typed, urlencoded, half+"&title=%ff") }, always("kept 422")},
	{"NaN", func(m *shaped) attempt { return m.raw(typed, urlencoded, half+"&price=NaN") }, always("kept 422")},
	{"1,001 tags", func(m *shaped) attempt { return m.raw(typed, urlencoded, half+"&tags="+strings.Repeat("a,", 1000)) }, always("kept 422")},
	{"longest", func(m *shaped) attempt {
		at := m.make("Hours of work.")
		return m.send(m.ann, at, strings.Repeat("あ", 50_000), m.form(at)...)
	}, always("saved")},
	{"other method", (*shaped).otherMethod, always("refused 405")},
	{"guest", func(m *shaped) attempt {
		at := m.make("Hours of work.")
		a := m.send(m.guest, at, typed, m.form(at)...)
		a.then = m.ann
		return a
	}, always("kept 403, then saved")},

	{"sent twice", (*shaped).sentTwice, always("saved")},
	{"written on", (*shaped).writtenOn, func(s shapeOfModel) string {
		switch {
		case s.id == "text":
			return "kept 409, then saved"
		case s.id == "seq" && !s.unique:
			return "saved" // Nothing shows that it is the same form. Both records are there.
		case s.id == "chosen":
			return "kept 422" // The id is taken, and says so.
		}
		return "kept 409"
	}},
	{"edit twice", func(m *shaped) attempt {
		at := m.make("Hours of work.")
		fields := m.form(at)
		m.send(m.ann, at, typed, fields...)
		return m.send(m.ann, at, typed, fields...)
	}, always("saved")},
	{"in between", func(m *shaped) attempt {
		at := m.make("Hours of work.")
		fields := m.form(at)
		m.send(m.ann, at, "From another window.", fields...)
		a := m.send(m.ann, at, typed, fields...)
		a.then = m.ann
		return a
	}, always("kept 409, then saved")},
	{"taken, new", func(m *shaped) attempt {
		other := m.make("Hours of work.")
		a := attempt{text: typed, at: other, before: m.state(other)}
		a.got = m.ann.post(m.records+"/new", append(m.blank(m.ann, typed), "title", valueOf(m.form(other), "title"))...)
		return m.beside("title", a)
	}, just(isUnique, "kept 409")},
	{"taken, edit", func(m *shaped) attempt {
		other, at := m.make("Hours of work."), m.make("More of it.")
		return m.beside("title", m.send(m.ann, at, typed, m.form(at, "title", valueOf(m.form(other), "title"))...))
	}, just(isUnique, "kept 409")},
	{"taken id", func(m *shaped) attempt {
		at := m.make("Hours of work.")
		a := attempt{text: typed, at: at, before: m.state(at)}
		a.got = m.ann.post(m.records+"/new", append(m.blank(m.ann, typed), "slug", lastOf(at))...)
		return m.beside("slug", a)
	}, just(isChosen, "kept 422")},
	{"dots as id", func(m *shaped) attempt {
		return m.beside("slug", attempt{got: m.ann.post(m.records+"/new", append(m.blank(m.ann, typed), "slug", "..")...), text: typed})
	}, just(isChosen, "kept 422")},
	{"dots as its id", func(m *shaped) attempt {
		return attempt{got: m.ann.post(m.records+"/new", append(m.blank(m.ann, typed), "id", "..")...), text: typed}
	}, just(isText, "saved")},
	{"foreign id", func(m *shaped) attempt {
		at := m.make("Hours of work.")
		a := attempt{text: typed, at: at, before: m.state(at), then: m.bob}
		a.got = m.bob.post(m.records+"/new", append(m.blank(m.bob, typed), "id", lastOf(at))...)
		return a
	}, func(s shapeOfModel) string {
		switch {
		case s.id != "text":
			return ""
		case s.owned:
			return "kept 404, then saved"
		}
		return "kept 409, then saved"
	}},
	{"another's", func(m *shaped) attempt {
		at := m.make("Hours of work.")
		a := m.send(m.bob, at, typed, m.form(at)...)
		a.then = m.bob
		return a
	}, func(s shapeOfModel) string {
		if s.owned {
			return "kept 404, then saved"
		}
		return "saved"
	}},
	{"another's away", func(m *shaped) attempt {
		at, way := m.make("Hours of work."), "/delete"
		if m.trash {
			way = "/trash"
		}
		before := m.state(at)
		return attempt{got: m.bob.post(at+way, "as-seen", valueOf(m.form(at), "as-seen")), at: at, before: before}
	}, just(isOwned, "refused 404")},
	{"gone", func(m *shaped) attempt {
		at := m.make("Hours of work.")
		fields := m.form(at, "text", typed)
		m.ann.post(at+"/delete", m.ann.fields(at+"/delete", "")...)
		return attempt{got: m.ann.post(at+"/edit", fields...), text: typed, then: m.ann}
	}, just(isGone, "kept 404, then saved")},
	{"deleted late", func(m *shaped) attempt {
		at := m.make("Hours of work.")
		question := m.ann.fields(at+"/delete", "")
		m.send(m.ann, at, typed, m.form(at)...)
		before := m.state(at)
		return attempt{got: m.ann.post(at+"/delete", question...), at: at, before: before}
	}, just(isGone, "refused 200")}, // It asks again.
	{"in the trash", func(m *shaped) attempt {
		at := m.make("Hours of work.")
		fields := m.form(at)
		m.ann.post(at + "/trash")
		return m.send(m.ann, at, typed, fields...)
	}, just(inTrash, "saved")},
	{"private", (*shaped).setPrivate, func(s shapeOfModel) string {
		if s.private {
			return "saved"
		}
		return ""
	}},
}

func lastOf(path string) string { return path[strings.LastIndex(path, "/")+1:] }

// beside returns a, and asserts that its answer has a problem beside a field.
func (m *shaped) beside(field string, a attempt) attempt {
	m.Helper()
	if !strings.Contains(a.got.body, `id="`+field+`-error"`) {
		m.Errorf("%s: nothing is beside the field %s: %s", m, field, shown(a.got.body))
	}
	return a
}

func (m *shaped) otherMethod() attempt {
	at := m.make("Hours of work.")
	a := attempt{at: at, before: m.state(at)}
	for _, method := range []string{"PUT", "PATCH", "DELETE", "OPTIONS"} {
		for _, path := range []string{at + "/edit", m.records + "/new", at} {
			a.got = m.ann.send(method, path, "text=x", http.Header{"Content-Type": {urlencoded}})
			if a.got.status != 405 {
				m.Errorf("%s: %s %s: status %d", m, method, path, a.got.status)
			}
		}
	}
	return a
}

// sentTwice sends the form of a new record twice. It makes one, unless numbers are all that tells
// records from each other.
func (m *shaped) sentTwice() attempt {
	fields := m.blank(m.ann, typed)
	at := m.ann.post(m.records+"/new", fields...).header.Get("Location")
	a := attempt{text: typed, at: at, before: m.state(at)}
	a.got = m.ann.post(m.records+"/new", fields...)
	want := 1
	if m.id == "seq" && !m.unique {
		want = 2
	}
	if n := strings.Count(m.ann.get(m.records).body, ">"+values(fields).Get("title")+"<"); n != want {
		m.Errorf("%s: a form that was sent twice made %d records, want %d", m, n, want)
	}
	return a
}

// writtenOn sends the form of a new record, goes back, writes on, and sends it again.
func (m *shaped) writtenOn() attempt {
	fields := m.blank(m.ann, "Hours of work.")
	at := m.ann.post(m.records+"/new", fields...).header.Get("Location")
	a := attempt{text: typed, at: at, before: m.state(at)}
	if m.id == "text" {
		a.then = m.ann
	}
	a.got = m.ann.post(m.records+"/new", append(fields, "text", typed)...)
	return a
}

// setPrivate sends a private field, which no form has. It is unique, so the second record could
// not be made if the first had it.
func (m *shaped) setPrivate() attempt {
	if page := m.ann.get(m.records + "/new").body; strings.Contains(strings.ToLower(page), "pin") {
		m.Errorf("%s: the form asks for a private field", m)
	}
	m.ann.post(m.records+"/new", append(m.blank(m.ann, "Hours of work."), "pin", "7777")...)
	a := attempt{text: typed, got: m.ann.post(m.records+"/new", append(m.blank(m.ann, typed), "pin", "7777")...)}
	for _, path := range []string{m.records + "/by-pin/7777", m.records + "/by-pin/1"} {
		if got := m.ann.get(path); got.status != 404 || strings.Contains(m.ann.get(m.records).body, "by-pin") {
			m.Errorf("%s: %s: status %d", m, path, got.status)
		}
	}
	return a
}

// Whatever is sent to a form, and however often, what was typed is saved or shown again, and what
// was stored stays as it was, unless its author saw it.
func TestMatrix_OfForms_NothingThatIsTypedIsLost(t *testing.T) {
	rest := slices.DeleteFunc(shapesOfModels(), func(s shapeOfModel) bool { return slices.Contains(fewShapes, s) })
	few := [][]shapeOfModel{fewShapes}
	for shapes := range proof.Part(t, few, slices.AppendSeq(few, slices.Chunk(rest, 8))) {
		program := ""
		if slices.Equal(shapes, fewShapes) {
			_, program = sharedSite(t)
		} else {
			models, pages := modelsOf(shapes)
			program = buildSite(t, newSite(t, filepath.Join(t.TempDir(), "wiki"), models, pages))
		}
		url, _ := runSite(t, program, t.TempDir(), "-store", "mem:")
		tryShapes(t, &site{t: t, url: url}, shapes)
	}
}

func TestFewShapes_FitEachRow(t *testing.T) {
	for _, c := range cells {
		if !slices.ContainsFunc(fewShapes, func(s shapeOfModel) bool { return c.want(s) != "" }) {
			t.Errorf("%s: fits no shape", c.name)
		}
	}
}

// tryShapes tries all cells on a site with models of the shapes, and prints the verdicts.
func tryShapes(t *testing.T, s *site, shapes []shapeOfModel) {
	ann, bob := s.visitor(), s.visitor()
	for name, v := range map[string]*visitor{"ann": ann, "bob": bob} {
		if got := v.post("/signup", "name", name, "password", password); got.status != 303 {
			t.Fatalf("%s cannot sign up: status %d, %s", name, got.status, shown(got.body))
		}
	}
	table := make([][]string, len(cells))
	for i, shape := range shapes {
		path := fmt.Sprint("/shape", i)
		m := &shaped{T: t, shapeOfModel: shape, record: path, records: path + "s", ann: ann, bob: bob, guest: s.visitor()}
		t.Logf("%d: %s", i, shape)
		for c, cell := range cells {
			table[c] = append(table[c], m.fill(cell))
		}
	}
	for c, row := range table {
		t.Logf("%-15s %s", cells[c].name, strings.Join(row, " | "))
	}
}

// fill tries a cell, and returns what came of it.
func (m *shaped) fill(c cell) string {
	want := c.want(m.shapeOfModel)
	if want == "" {
		return "-"
	}
	a := c.try(m)
	got := m.verdict(a)
	if a.then != nil && strings.HasPrefix(got, "kept") {
		got += m.again(a)
	}
	if got != want {
		m.Errorf("%s, %s: want %s, got %s", m, c.name, want, got)
	}
	return got
}
