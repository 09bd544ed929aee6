package web

import (
	"cmp"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestMatrix_OfForms writes shapes beside this file, for the models Shape0, Shape1 and so on.
type shape struct {
	id                                       string // text, chosen or seq
	versioned, unique, owned, private, trash bool
}

type pages struct {
	*testing.T
	shape
	record, records string // the beginnings of addresses: /shape3, /shape3s
	ann, bob, guest *visitor
	made            int
}

type reply struct {
	path   string
	status int
	to     string // of a redirect
	body   string
}

// A sentForm has the fields that a browser would send.
type sentForm struct {
	action string
	fields url.Values
}

// An attempt is the result of a form that was sent: the answer, the text typed into it, and the
// record that has it already, or must stay as it was.
type attempt struct {
	got    reply
	text   string
	at     string // the address of the record, or ""
	before string // all that is seen of it

	then *visitor // who sends the form again that an answer keeps the text in; nil: nobody
}

const (
	urlencoded = "application/x-www-form-urlencoded"
	typed      = "Another hour of work."
	half       = seen + "=SEEN&text=Another+hour+of+work."
)

func (v *visitor) send(method, path, kind, body string) reply {
	v.Helper()
	r, err := http.NewRequestWithContext(v.Context(), method, v.address+path, strings.NewReader(body))
	if err != nil {
		v.Fatal(err)
	}
	r.Header.Set("Content-Type", kind)
	answer, err := v.Do(r)
	if err != nil {
		v.Fatal(err)
	}
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	if err != nil {
		v.Fatal(err)
	}
	return reply{path, answer.StatusCode, answer.Header.Get("Location"), string(page)}
}

func (v *visitor) get(path string) reply { v.Helper(); return v.send("GET", path, "", "") }

func (v *visitor) post(path string, fields url.Values) reply {
	v.Helper()
	return v.send("POST", path, urlencoded, fields.Encode())
}

var (
	formTag   = regexp.MustCompile(`(?s)<form([^>]*)>(.*?)</form>`)
	fieldTag  = regexp.MustCompile(`(?s)<(?:input([^>]*)|textarea([^>]*)>(.*?)</textarea)>`)
	attribute = regexp.MustCompile(`([a-z-]+)(?:="([^"]*)")?`)
	anyTag    = regexp.MustCompile(`<[^>]*>`)
)

func formsOf(page string) (all []sentForm) {
	for _, form := range formTag.FindAllStringSubmatch(page, -1) {
		f := sentForm{attrs(form[1])["action"], url.Values{}}
		for _, field := range fieldTag.FindAllStringSubmatch(form[2], -1) {
			a := attrs(field[1] + field[2])
			if _, checked := a["checked"]; a["type"] != "checkbox" || checked {
				f.fields.Set(a["name"], a["value"]+strings.TrimPrefix(html.UnescapeString(field[3]), "\n"))
			}
		}
		if strings.EqualFold(attrs(form[1])["method"], "post") {
			all = append(all, f)
		}
	}
	return all
}

func attrs(tag string) map[string]string {
	all := map[string]string{}
	for _, a := range attribute.FindAllStringSubmatch(tag, -1) {
		all[a[1]] = html.UnescapeString(a[2])
	}
	return all
}

func formWith(page, text string) (sentForm, bool) {
	all := formsOf(page)
	i := slices.IndexFunc(all, func(f sentForm) bool { return f.fields.Get("text") == text })
	if i < 0 {
		return sentForm{}, false
	}
	return all[i], true
}

// shown returns the text of a page without its foot, where the cost is.
func shown(page string) string {
	body, _, _ := strings.Cut(page, "<footer")
	return strings.Join(strings.Fields(html.UnescapeString(anyTag.ReplaceAllString(body, " "))), " ")
}

func with(fields url.Values, name, value string) url.Values { fields.Set(name, value); return fields }

func (m *pages) next() string {
	m.made++
	return fmt.Sprintf("%s %d", strings.Trim(m.record, "/"), m.made)
}

// form returns the form of a page that is sent to action, as a browser sends it to v.
func (m *pages) form(v *visitor, path, action string) url.Values {
	m.Helper()
	got := v.get(path)
	for _, f := range formsOf(got.body) {
		if f.action == action {
			return f.fields
		}
	}
	m.Fatalf("%s: %s (status %d) has no form for %q:\n%s", m, path, got.status, action, got.body)
	return nil
}

func (m *pages) edit(at string) url.Values { m.Helper(); return m.form(m.ann, at+"/edit", at+"/edit") }

// blank returns the form of a new record with a title and a text.
func (m *pages) blank(v *visitor, text string) url.Values {
	title, fields := m.next(), m.form(v, m.records+"/new", m.records+"/new")
	for name, value := range map[string]string{
		"title": title, "text": text, "hot": "on", "tags": "warm, deep", "minutes": "10", "price": "1.5", "since": "2026-11-01T10:00",
	} {
		fields.Set(name, value)
	}
	if m.id == "chosen" {
		fields.Set("slug", strings.ReplaceAll(title, " ", "-"))
	}
	return fields
}

func (m *pages) make() string {
	m.Helper()
	got := m.ann.post(m.records+"/new", m.blank(m.ann, "Hours of work."))
	if got.status != 303 {
		m.Fatalf("%s: a record is not made: status %d, %s", m, got.status, shown(got.body))
	}
	return got.to
}

// state returns all that ann sees of the record at an address.
func (m *pages) state(at string) string {
	m.Helper()
	return fmt.Sprint(m.edit(at), shown(m.ann.get(at).body))
}

// send changes the record at an address.
func (m *pages) send(v *visitor, at, text string, fields url.Values) attempt {
	m.Helper()
	before := m.state(at)
	return attempt{got: v.post(at+"/edit", with(fields, "text", text)), text: text, at: at, before: before}
}

// add sends the form of a new record, while the one at an address has to stay.
func (m *pages) add(v *visitor, at, name, value string) attempt {
	m.Helper()
	a := attempt{text: typed, at: at}
	if at != "" {
		a.before = m.state(at)
	}
	a.got = v.post(m.records+"/new", with(m.blank(v, typed), name, value))
	return a
}

// raw has ann send a body as a kind to the form of a record. SEEN in it is replaced.
func (m *pages) raw(text, kind, body string) attempt {
	m.Helper()
	at := m.make()
	before := m.state(at)
	body = strings.ReplaceAll(body, "SEEN", m.edit(at).Get(seen))
	return attempt{got: m.ann.send("POST", at+"/edit", kind, body), text: text, at: at, before: before}
}

// again sends an answer's form once more. If it makes a record, that gets a title and an id of its
// own.
func (m *pages) again(a attempt) string {
	m.Helper()
	f, _ := formWith(a.got.body, a.text)
	if strings.HasSuffix(f.action, "/new") {
		f.fields.Set("title", m.next())
		if f.fields.Has("slug") {
			f.fields.Set("slug", strings.ReplaceAll(m.next(), " ", "-"))
		}
	}
	got := a.then.post(cmp.Or(f.action, a.got.path), f.fields)
	if got.status == 303 && strings.Contains(shown(m.ann.get(got.to).body), a.text) {
		return ", then saved"
	}
	return fmt.Sprintf(", then LOST: status %d\n%s", got.status, shown(got.body))
}

// verdict is the fate of the typed text, and of the record that existed before.
func (m *pages) verdict(a attempt) string {
	m.Helper()
	leads := a.got.status == 303
	switch {
	case a.at != "" && a.before != m.state(a.at) && (a.got.to != a.at || a.text == ""):
		return fmt.Sprintf("LOST: status %d, and the record is\n%s\nIt was\n%s", a.got.status, m.state(a.at), a.before)
	case leads && strings.Contains(shown(m.ann.get(a.got.to).body), a.text):
		return "saved"
	case leads:
		return "LOST: the answer leads to " + a.got.to + ", which does not show the text"
	}
	if _, ok := formWith(a.got.body, a.text); ok && a.text != "" {
		return fmt.Sprint("kept ", a.got.status)
	}
	if a.text == "" || slices.Contains([]int{400, 405, 413, 415}, a.got.status) {
		return fmt.Sprint("refused ", a.got.status)
	}
	return fmt.Sprintf("LOST: status %d, and the page has no form with the text:\n%s", a.got.status, shown(a.got.body))
}

// beside requires the answer of a to have a problem beside a field.
func (m *pages) beside(field string, a attempt) attempt {
	m.Helper()
	if !strings.Contains(a.got.body, `id="`+field+`-error"`) {
		m.Errorf("%s: nothing is beside the field %s: %s", m, field, shown(a.got.body))
	}
	return a
}

// A cell is a way to send a form, and the required verdict; "" where it does not fit.
type cell struct {
	name string
	try  func(m *pages) attempt
	want func(s shape) string
}

func always(verdict string) func(shape) string { return func(shape) string { return verdict } }

// where returns a verdict for some models.
func where(is func(shape) bool, verdict string) func(shape) string {
	return func(s shape) string { return map[bool]string{true: verdict}[is(s)] }
}

func isUnique(s shape) bool { return s.unique }
func isChosen(s shape) bool { return s.id == "chosen" }
func isGone(s shape) bool   { return !s.trash }

func body(name, text, kind, body, want string) cell {
	return cell{name, func(m *pages) attempt { return m.raw(text, kind, body) }, always(want)}
}

var cells = []cell{
	body("too long", "", urlencoded, "text="+strings.Repeat("a", 4_000_000), "refused 413"),
	body("malformed", "", urlencoded, "as-seen=SEEN&text=%zz", "refused 400"),
	body("semicolons", "", urlencoded, "as-seen=SEEN;text=x", "refused 400"),
	body("JSON", "", "application/json", `{"text": "x"}`, "refused 415"),
	body("plain text", "", "text/plain", "as-seen=SEEN&text=x", "refused 415"),
	body("no type", "", "", "as-seen=SEEN&text=x", "refused 415"),
	body("multipart", "", "multipart/form-data; boundary=x", "--x", "refused 415"),
	body("empty", "", urlencoded, "", "saved"),
	body("half sent", typed, urlencoded, half, "saved"),
	{"half, unseen", func(m *pages) attempt {
		a := m.raw(typed, urlencoded, "text=Another+hour+of+work.")
		a.then = m.ann
		return a
	}, always("kept 409, then saved")},
	body("not text", typed, urlencoded, half+"&title=%ff", "kept 422"),
	body("NaN", typed, urlencoded, half+"&price=NaN", "kept 422"),
	{"100,000 tags", func(m *pages) attempt {
		return m.beside("tags", m.raw(typed, urlencoded, half+"&tags="+strings.Repeat("a,", 100_000)))
	}, always("kept 422")},
	{"longest", func(m *pages) attempt {
		at := m.make()
		return m.send(m.ann, at, strings.Repeat("あ", 50_000), m.edit(at))
	}, always("saved")},
	{"other method", func(m *pages) attempt {
		at := m.make()
		a := attempt{at: at, before: m.state(at)}
		for _, method := range []string{"PUT", "PATCH", "DELETE", "OPTIONS"} {
			for _, path := range []string{at + "/edit", m.records + "/new", at} {
				if a.got = m.ann.send(method, path, urlencoded, "text=x"); a.got.status != 405 {
					m.Errorf("%s: %s %s: status %d", m, method, path, a.got.status)
				}
			}
		}
		return a
	}, always("refused 405")},
	{"guest", func(m *pages) attempt {
		at := m.make()
		a := m.send(m.guest, at, typed, m.edit(at))
		a.then = m.ann
		return a
	}, always("kept 403, then saved")},

	{"sent twice", func(m *pages) attempt { // It makes one, unless only numbers distinguish records.
		fields := m.blank(m.ann, typed)
		at := m.ann.post(m.records+"/new", fields).to
		a := attempt{text: typed, at: at, before: m.state(at), got: m.ann.post(m.records+"/new", fields)}
		want := 1
		if m.id == "seq" && !m.unique {
			want = 2
		}
		if n := strings.Count(m.ann.get(m.records).body, ">"+fields.Get("title")+"<"); n != want {
			m.Errorf("%s: a form that was sent twice made %d records, want %d", m, n, want)
		}
		return a
	}, always("saved")},
	{"written on", func(m *pages) attempt { // It is sent, and after a step back written on and sent again.
		fields := m.blank(m.ann, "Hours of work.")
		at := m.ann.post(m.records+"/new", fields).to
		a := attempt{text: typed, at: at, before: m.state(at)}
		if m.id == "text" {
			a.then = m.ann
		}
		a.got = m.ann.post(m.records+"/new", with(fields, "text", typed))
		return a
	}, func(s shape) string {
		switch {
		case s.id == "text":
			return "kept 409, then saved"
		case s.id == "seq" && !s.unique:
			return "saved" // Nothing shows that it is the same form.
		case s.id == "chosen":
			return "kept 422"
		}
		return "kept 409"
	}},
	{"edit twice", func(m *pages) attempt {
		at := m.make()
		fields := m.edit(at)
		m.send(m.ann, at, typed, fields)
		return m.send(m.ann, at, typed, fields)
	}, always("saved")},
	{"in between", func(m *pages) attempt {
		at := m.make()
		fields := m.edit(at)
		m.send(m.ann, at, "From another window.", fields)
		a := m.send(m.ann, at, typed, fields)
		a.then = m.ann
		return a
	}, always("kept 409, then saved")},
	{"taken, new", func(m *pages) attempt {
		at := m.make()
		return m.beside("title", m.add(m.ann, at, "title", m.edit(at).Get("title")))
	}, where(isUnique, "kept 409")},
	{"taken, edit", func(m *pages) attempt {
		title, at := m.edit(m.make()).Get("title"), m.make()
		return m.beside("title", m.send(m.ann, at, typed, with(m.edit(at), "title", title)))
	}, where(isUnique, "kept 409")},
	{"taken id", func(m *pages) attempt {
		at := m.make()
		return m.beside("slug", m.add(m.ann, at, "slug", lastOf(at)))
	}, where(isChosen, "kept 422")},
	{"dots as id", func(m *pages) attempt { return m.beside("slug", m.add(m.ann, "", "slug", "..")) }, where(isChosen, "kept 422")},
	{"dots as its id", func(m *pages) attempt { return m.add(m.ann, "", "id", "..") }, where(func(s shape) bool { return s.id == "text" }, "saved")},
	{"foreign id", func(m *pages) attempt {
		at := m.make()
		a := m.add(m.bob, at, "id", lastOf(at))
		a.then = m.bob
		return a
	}, func(s shape) string {
		switch {
		case s.id != "text":
			return ""
		case s.owned:
			return "kept 404, then saved"
		}
		return "kept 409, then saved"
	}},
	{"another's", func(m *pages) attempt {
		at := m.make()
		a := m.send(m.bob, at, typed, m.edit(at))
		a.then = m.bob
		return a
	}, func(s shape) string {
		if s.owned {
			return "kept 404, then saved"
		}
		return "saved"
	}},
	{"another's away", func(m *pages) attempt {
		at, way := m.make(), "/delete"
		if m.trash {
			way = "/trash"
		}
		before := m.state(at)
		return attempt{got: m.bob.post(at+way, url.Values{seen: {m.edit(at).Get(seen)}}), at: at, before: before}
	}, where(func(s shape) bool { return s.owned }, "refused 404")},
	{"gone", func(m *pages) attempt {
		at := m.make()
		fields := with(m.edit(at), "text", typed)
		m.ann.post(at+"/delete", m.form(m.ann, at+"/delete", ""))
		return attempt{got: m.ann.post(at+"/edit", fields), text: typed, then: m.ann}
	}, where(isGone, "kept 404, then saved")},
	{"deleted late", func(m *pages) attempt {
		at := m.make()
		question := m.form(m.ann, at+"/delete", "")
		m.send(m.ann, at, typed, m.edit(at))
		before := m.state(at)
		return attempt{got: m.ann.post(at+"/delete", question), at: at, before: before}
	}, where(isGone, "refused 200")}, // It asks again.
	{"in the trash", func(m *pages) attempt {
		at := m.make()
		fields := m.edit(at)
		m.ann.post(at+"/trash", nil)
		return m.send(m.ann, at, typed, fields)
	}, where(func(s shape) bool { return s.trash }, "saved")},
	{"private", (*pages).setPrivate, where(func(s shape) bool { return s.private }, "saved")},
}

func lastOf(path string) string { return path[strings.LastIndex(path, "/")+1:] }

// setPrivate sends a private field, which no form has. It is unique, so the second record could not
// be made if the first had it.
func (m *pages) setPrivate() attempt {
	if page := m.ann.get(m.records + "/new").body; strings.Contains(strings.ToLower(page), "pin") {
		m.Errorf("%s: the form asks for a private field", m)
	}
	m.add(m.ann, "", "pin", "7777")
	a := m.add(m.ann, "", "pin", "7777")
	for _, path := range []string{m.records + "/by-pin/7777", m.records + "/by-pin/1"} {
		if got := m.ann.get(path); got.status != 404 || strings.Contains(m.ann.get(m.records).body, "by-pin") {
			m.Errorf("%s: %s: status %d", m, path, got.status)
		}
	}
	return a
}

// Whatever is sent to a form, and however often, the typed text is saved or shown again, and the
// stored record stays as it was, unless its author saw it.
func TestForms_LoseNothingThatIsTyped(t *testing.T) {
	guest := visitSite(t)
	guest.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	ann, bob := guest.another(), guest.another()
	for name, v := range map[string]*visitor{"ann": ann, "bob": bob} {
		if got := v.post("/signup", url.Values{"name": {name}, "password": {"long enough"}}); got.status != 303 {
			t.Fatalf("%s cannot sign up: status %d, %s", name, got.status, shown(got.body))
		}
	}
	for i, s := range shapes {
		path := fmt.Sprint("/shape", i)
		m := &pages{T: t, shape: s, record: path, records: path + "s", ann: ann, bob: bob, guest: guest}
		for _, c := range cells {
			m.fill(c)
		}
	}
}

func (m *pages) String() string { return fmt.Sprintf("%s, %+v", m.record, m.shape) }

func (m *pages) fill(c cell) {
	want := c.want(m.shape)
	if want == "" {
		return
	}
	a := c.try(m)
	got := m.verdict(a)
	if a.then != nil && strings.HasPrefix(got, "kept") {
		got += m.again(a)
	}
	if got != want {
		m.Errorf("%s, %s: want %s, got %s", m, c.name, want, got)
	}
}
