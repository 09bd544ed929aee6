package site

import (
	"cmp"
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/ringtree/ringtree/codegen/internal/english"
	"github.com/ringtree/ringtree/codegen/internal/model"
	"github.com/ringtree/ringtree/codegen/internal/output"
	"github.com/ringtree/ringtree/codegen/internal/stored"
)

// pages says what is special about the pages of a model. Expressions are those of a record in
// the variable Var.
type pages struct {
	Package, Path    string // of the models
	Type, Collection string
	One              string // what names begin with: recipeBook
	Var              string
	Word, Words, A   string // recipe book, recipe books, a recipe book
	Record, Records  string // the beginnings of paths: recipe-book, recipe-books

	ID                  string // its field
	IDText, IDForm      string
	IDFromPath, IDParse string // one of them is empty
	NewID               string // of a form, or a new one; empty if the visitor chooses the id
	TitleExpr           string
	When                string // the field by which a list shows its age

	Author                 string // the field that names its user
	AuthorText, AuthorUser string

	Version, Trash, TrashList string
	Hits                      string // the counter of its views
	Listings, Finds           []route
	Left                      string // the indexes that no page shows
	Fails                     bool   // what is typed into its form may be wrong
	Fields, Facts             []field
	Areas                     []string
	Links                     []linked
}

// A route is an address that an index answers.
type route struct {
	Route, Parse, Title, Tab, Expr string

	part part // which records it has
}

// A part is which records an index has. The first that there is makes the page of a model.
type part int

const (
	newestOf part = iota
	allOf
	someOf // such as those seen this week
)

// linked are the links of a record to a listing of what has the same value.
type linked struct{ Before, Route, Values string }

// A field is one that forms ask for, or pages show.
type field struct{ Form, Label, Extra, Read, Write string }

// Pages returns the files with the pages of m, a model of p.
func Pages(p *model.Package, m *model.Model) ([]output.File, error) {
	s, err := pagesOf(p, m)
	if err != nil {
		return nil, err
	}
	var all []output.File
	for _, ext := range []string{".go", ".templ"} {
		body, err := fill("files/model/pages"+ext+".tmpl", s)
		if err != nil {
			return nil, err
		}
		made, err := finish("web/"+snake(m.Collection, '_')+ext, slices.Concat(s.head(string(body)), body))
		if err != nil {
			return nil, err
		}
		all = append(all, made...)
	}
	return all, nil
}

// head returns the package clause and the imports that body needs.
func (s *pages) head(body string) []byte {
	b := []byte("package web\n\nimport (\n")
	for i, group := range [][]string{
		{"cmp", "errors", "net/http", "net/url", "slices", "strconv", "strings", "time"},
		{s.Path, "github.com/ringtree/ringtree/kvmodel", "github.com/ringtree/ringtree/templates"},
	} {
		if i > 0 {
			b = append(b, '\n')
		}
		for _, path := range group {
			name := path[strings.LastIndex(path, "/")+1:]
			if path == s.Path {
				name = "models"
			}
			if !strings.Contains(body, name+".") {
				continue
			}
			if path == s.Path && s.Package != "models" {
				b = append(b, "models "...)
			}
			b = fmt.Appendf(b, "%q\n", path)
		}
	}
	return append(b, ")\n\n"...)
}

// pagesOf looks at m for what its pages need.
func pagesOf(p *model.Package, m *model.Model) (*pages, error) {
	switch {
	case m.Events != nil:
		return nil, fmt.Errorf("%s are events, which have no pages of their own", m.Collection)
	case len(m.ID) != 1:
		return nil, fmt.Errorf("%s has an id of %d fields: pages are for models with one", m.Name, len(m.ID))
	}
	s := &pages{
		Package: p.Name, Path: p.Path, Type: m.Name, Collection: m.Collection,
		One: english.Uncapital(m.Name), Var: variable(m.Name),
		Word: snake(m.Name, ' '), Words: snake(m.Collection, ' '),
		Record: snake(m.Name, '-'), Records: records(m),
		ID: m.ID[0].Name, Version: m.VersionField, When: m.Created,
	}
	s.A = english.Article(s.Word)
	if err := s.id(m); err != nil {
		return nil, err
	}
	s.fields(m)
	s.indexes(m)
	if len(s.Listings) == 0 || s.Listings[0].Route != "/"+s.Records {
		return nil, fmt.Errorf("no index of %s has all of them for a page to list: give it a field such as\n\tMade time.Time `kv:\"created; timeline\"`", m.Name)
	}
	return s, nil
}

// records returns the beginning of the paths to several records of m.
func records(m *model.Model) string {
	if m.Collection == m.Name {
		return "all-" + snake(m.Collection, '-')
	}
	return snake(m.Collection, '-')
}

// id looks at the id of m.
func (s *pages) id(m *model.Model) error {
	value := s.Var + "." + s.ID
	switch kind := kindOf(m.IDType); {
	case kind == text:
		s.IDText = as("string", m.IDType, value)
		s.IDFromPath = s.typed(m.IDType, `v.PathValue("id")`)
		if s.ID == "ID" {
			s.NewID = s.typed(m.IDType, `cmp.Or(v.FormValue("id"), kvmodel.NewID(time.Now()))`)
		}
	case kind == whole && m.Sequential:
		s.IDText = "strconv.FormatInt(" + as("int64", m.IDType, value) + ", 10)"
		s.IDParse = fmt.Sprintf(`templates.ReadNumber[%s](problems, "id", v.PathValue("id"))`, s.name(m.IDType))
	default:
		return fmt.Errorf("the id of %s is a %s: pages are for models whose id is a text, or id,seq", m.Name, s.name(m.IDType))
	}
	return nil
}

// fields looks at the fields of m: which can be asked for in a form, and which are shown.
func (s *pages) fields(m *model.Model) {
	s.hidden(m)
	all := m.Type.Underlying().(*types.Struct)
	for i := range all.NumFields() {
		f := all.Field(i)
		if !f.Exported() || f.Embedded() || !stored.Belongs(f, all.Tag(i)) {
			continue
		}
		s.field(m, f)
	}
	s.Fails = slices.ContainsFunc(s.Fields, func(f field) bool { return strings.Contains(f.Read, "problems") })
	if s.TitleExpr == "" {
		s.TitleExpr = s.IDText
	} else {
		s.TitleExpr = "cmp.Or(" + s.TitleExpr + ", " + s.IDText + ")"
	}
}

// hidden adds the fields of the form that visitors do not see.
func (s *pages) hidden(m *model.Model) {
	if s.NewID != "" {
		s.Fields = append(s.Fields, field{Form: "id", Extra: `Type: "hidden", `, Write: s.IDText})
	}
	if m.VersionField != "" {
		value := s.Var + "." + m.VersionField
		s.Fields = append(s.Fields, field{
			Form: "version", Extra: `Type: "hidden", `, Write: "strconv.FormatInt(" + value + ", 10)",
			Read: value + `, _ = strconv.ParseInt(v.FormValue("version"), 10, 64)`,
		})
	}
}

// field looks at the field f of m.
func (s *pages) field(m *model.Model, f *types.Var) {
	name, value, kind := f.Name(), s.Var+"."+f.Name(), kindOf(f.Type())
	shown := field{Form: strings.ToLower(name), Label: english.Capital(snake(name, ' '))}
	asked := fmt.Sprintf("v.FormValue(%q)", shown.Form)
	counter := slices.ContainsFunc(m.Counters, func(c *model.Counter) bool { return c.Field == name })
	switch {
	case name == s.ID && (s.NewID != "" || kind != text), name == m.VersionField, name == m.Created, name == m.Updated:
		return
	case name == s.ID:
		s.IDForm = shown.Form
		s.Facts = append(s.Facts, field{Label: shown.Label, Write: s.IDText})
		s.Fields = append(s.Fields, field{
			Form: shown.Form, Label: shown.Label, Extra: "Required: true, ", Write: s.IDText,
			Read: fmt.Sprintf("if %s == \"\" {\n%[1]s = %s\n}", value, s.typed(f.Type(), "strings.TrimSpace("+asked+")")),
		})
		return
	case counter:
		s.Facts = append(s.Facts, field{Label: shown.Label, Write: "strconv.FormatInt(" + as("int64", f.Type(), value) + ", 10)"})
		if slices.Contains([]string{"Views", "Visits", "Hits", "Reads"}, name) {
			s.Hits = name
		}
		return
	case kind == text && slices.Contains([]string{"Author", "Owner"}, name):
		s.Author, s.AuthorText, s.AuthorUser = name, as("string", f.Type(), value), s.typed(f.Type(), "v.user")
		return
	case kind == moment && name == "Trashed":
		s.Trash = name
		return
	}
	facts, areas, title := s.Facts, s.Areas, s.TitleExpr
	s.ask(shown, f.Type(), kind, name, value, asked)
	if slices.Contains(m.Private, name) {
		s.Facts, s.Areas, s.TitleExpr = facts, areas, title // Forms alone show it.
	}
}

// ask adds a field that forms ask for.
func (s *pages) ask(shown field, t types.Type, kind kind, name, value, asked string) {
	switch kind {
	case text:
		shown.Write = as("string", t, value)
		if slices.Contains([]string{"Body", "Text", "Content", "About", "Description", "Notes"}, name) {
			shown.Extra, shown.Read = "Rows: 10, Writing: true, ", value+" = "+s.typed(t, "templates.ReadText("+asked+")")
			s.Areas = append(s.Areas, shown.Write)
			break
		}
		shown.Read = value + " = " + s.typed(t, "strings.TrimSpace("+asked+")")
		if s.TitleExpr == "" && slices.Contains([]string{"Title", "Name", "Subject"}, name) {
			s.TitleExpr = shown.Write
		} else {
			s.Facts = append(s.Facts, shown)
		}
	case texts:
		shown.Extra, shown.Read = `Hint: "With commas between them.", `, value+" = templates.ReadWords("+asked+")"
		shown.Write = fmt.Sprintf(`strings.Join(%s, ", ")`, value)
	case yes:
		shown.Extra, shown.Read, shown.Write = `Type: "checkbox", `, value+" = "+asked+` != ""`, "templates.Checked("+as("bool", t, value)+")"
	case whole:
		shown.Extra, shown.Read = `Type: "number", `, fmt.Sprintf("%s = templates.ReadNumber[%s](problems, %q, %s)", value, s.name(t), shown.Form, asked)
		shown.Write = "strconv.FormatInt(int64(" + value + "), 10)"
		s.Facts = append(s.Facts, shown)
	case real:
		shown.Read = fmt.Sprintf("%s = templates.ReadDecimal[%s](problems, %q, %s)", value, s.name(t), shown.Form, asked)
		shown.Write = "strconv.FormatFloat(float64(" + value + "), 'f', -1, 64)"
		s.Facts = append(s.Facts, shown)
	case moment:
		shown.Extra, shown.Read = `Type: "datetime-local", Hint: "In UTC.", `, fmt.Sprintf("%s = templates.ReadTime(problems, %q, %s)", value, shown.Form, asked)
		shown.Write = "templates.TimeValue(" + value + ")"
		s.Facts = append(s.Facts, shown)
	default:
		return
	}
	s.Fields = append(s.Fields, shown)
}

// indexes looks at the indexes of m: which pages there are.
func (s *pages) indexes(m *model.Model) {
	var overall, valued []route
	var left []string
	for _, x := range m.Indexes {
		by := byOf(x)
		switch {
		case x.Name == "Trash" && s.Trash != "":
			s.TrashList = x.Name
			if by != nil {
				s.TrashList += ".Of(" + s.typed(by.Value, "v.user") + ")"
			}
		case by == nil:
			overall = append(overall, s.wholeOf(x))
		default:
			r, ok := s.valuedOf(x, by)
			switch {
			case !ok:
				left = append(left, x.Name)
			case x.Word == "unique":
				s.Finds = append(s.Finds, r)
			default:
				valued = append(valued, r)
			}
		}
	}
	slices.SortStableFunc(overall, func(a, b route) int { return cmp.Compare(a.part, b.part) })
	if len(overall) > 0 && overall[0].part < someOf {
		overall[0].Route, overall[0].Title = "/"+s.Records, strconv.Quote(english.Capital(s.Words))
	}
	s.Listings, s.Left = append(overall, valued...), english.List(left)
}

// way returns the address of what x answers.
func (s *pages) way(x *model.Index) string { return "/" + s.Records + "/" + snake(x.Name, '-') }

// label returns what pages call x: "Top views", "Title A–Z".
func label(x *model.Index) string {
	words := strings.Fields(snake(x.Name, ' '))
	for i, word := range words {
		if order := map[string]string{"az": "A–Z", "za": "Z–A"}[word]; order != "" && x.Ranking.IsText() {
			words[i] = order
		}
	}
	return english.Capital(strings.Join(words, " "))
}

// wholeOf returns the address of the records that x has.
func (s *pages) wholeOf(x *model.Index) route {
	tab := label(x)
	r := route{Route: s.way(x), Title: strconv.Quote(english.Capital(s.Words) + ": " + tab), Tab: tab, Expr: x.Name, part: allOf}
	switch {
	case x.If != nil || x.Ranking != nil && x.Ranking.Per != "":
		r.part = someOf
	case x.Name == "Newest":
		r.part = newestOf
	}
	return r
}

// byOf returns what the value of x is made of that a listing is of; nil if there is one listing.
func byOf(x *model.Index) *model.By {
	switch {
	case x.Ring != nil:
		return x.Ring.By
	case x.Ranking != nil:
		return x.Ranking.By
	}
	return &model.By{Group: x.Group, Parts: x.Parts, Value: x.Value, Many: x.Many}
}

// valuedOf returns the address of the records that x has with a value. There is none if the
// value is neither a text nor a number.
func (s *pages) valuedOf(x *model.Index, by *model.By) (r route, ok bool) {
	if len(by.Parts) != 1 {
		return route{}, false
	}
	r = route{Route: s.way(x) + "/{value}", Title: fmt.Sprintf("%q+v.PathValue(\"value\")", english.Capital(s.Words)+": ")}
	expr, value := by.Parts[0].Expr(s.Var), "value"
	link := linked{Route: s.way(x) + "/"}
	kind := kindOf(by.Value)
	switch kind {
	case text:
		value = s.typed(by.Value, `v.PathValue("value")`)
		link.Values = as("string", by.Value, expr)
		if by.Many {
			link.Values = expr + "..."
		}
	case whole:
		r.Parse = fmt.Sprintf(`templates.ReadNumber[%s](problems, "value", v.PathValue("value"))`, s.name(by.Value))
		link.Values = "strconv.FormatInt(int64(" + expr + "), 10)"
	default:
		return route{}, false
	}
	if x.Word == "unique" {
		r.Expr = fmt.Sprintf("%s.Find(v.Context(), %s)", x.Name, value)
		return r, true
	}
	r.Expr = fmt.Sprintf("%s.Of(%s)", x.Name, value)
	if x.Word != "list" || kind != text {
		link.Before = label(x) + ": "
	}
	if private := slices.Contains(x.Model.Private, by.Parts[0].Name); !private && (!by.Many || types.Identical(by.Value, types.Typ[types.String])) {
		s.Links = append(s.Links, link)
	}
	return r, true
}

// A kind is what forms make of a type.
type kind int

const (
	other kind = iota
	text
	texts
	yes
	whole
	real
	moment
)

// kindOf returns the kind of t.
func kindOf(t types.Type) kind {
	if stored.IsTime(t) {
		return moment
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		switch {
		case u.Kind() == types.String:
			return text
		case u.Kind() == types.Bool:
			return yes
		case u.Info()&types.IsInteger != 0:
			return whole
		case u.Info()&types.IsFloat != 0:
			return real
		}
	case *types.Slice:
		if types.Identical(t, types.NewSlice(types.Typ[types.String])) {
			return texts
		}
	}
	return other
}

// name returns t as the site's code writes it.
func (s *pages) name(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p.Path() == s.Path {
			return "models"
		}
		return p.Name()
	})
}

// typed returns expr, a string, as a t.
func (s *pages) typed(t types.Type, expr string) string {
	if types.Identical(t, types.Typ[types.String]) {
		return expr
	}
	return s.name(t) + "(" + expr + ")"
}

// as returns expr, of type t, as the basic type want.
func as(want string, t types.Type, expr string) string {
	if types.TypeString(t, nil) == want {
		return expr
	}
	return want + "(" + expr + ")"
}

// variable returns a name for a record of the model called name that means nothing else.
func variable(name string) string {
	short := strings.ToLower(name[:1])
	if short == "v" || short == "s" {
		short = english.Uncapital(name)
	}
	if token.IsKeyword(short) || short == "v" || short == "s" {
		short += "1"
	}
	return short
}

// snake returns the words of a name in lower case, with sep between them.
func snake(name string, sep rune) string {
	var b strings.Builder
	all := []rune(name)
	for i, r := range all {
		if i > 0 && unicode.IsUpper(r) && (!unicode.IsUpper(all[i-1]) || i+1 < len(all) && unicode.IsLower(all[i+1])) {
			b.WriteRune(sep)
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
