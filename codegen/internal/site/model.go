package site

import (
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"unicode"

	"github.com/ringtree/ringtree/codegen/internal/english"
	"github.com/ringtree/ringtree/codegen/internal/model"
	"github.com/ringtree/ringtree/codegen/internal/output"
)

// pages is the data for the pages of a model. Expressions are about a record in the variable Var.
type pages struct {
	Package, Path    string
	Type, Collection string
	One              string // prefix of names: recipeBook
	Var              string
	Word, Words, A   string // recipe book, recipe books, a recipe book
	Record, Records  string // prefixes of paths: recipe-book, recipe-books

	ID, IDType, IDText string // its field, the type of that, and its text
	NewID              string // "" if people choose ids, or they are numbers
	IDField            string // for an id that people choose
	TitleExpr          string
	When               string

	Forms                  bool
	Author                 string
	AuthorText, AuthorUser string
	AuthorShown, Owned     bool // whether pages show it, and whether only that user may change the record

	Trash, TrashList string
	Hits             string
	Listings, Finds  []route
	Left             []string // the indexes without a page
	Fields           []field
	Facts            []fact
	Areas            []string
	Links            []linked

	model   *model.Model
	private []string
	chosen  []string // the fields of forms; nil: all known ones
	known   []string
	hidden  []string // from forms, with the reason
}

// field is part of forms, fact of pages.
type (
	field struct{ Form, Label, Of, Extra string }
	fact  struct{ Label, Text string }
)

// Pages returns the files with the pages of m, and a report of the users' rights.
func Pages(p *model.Package, m *model.Model, a Access) ([]output.File, string, error) {
	s, err := pagesOf(p, m, a)
	if err != nil {
		return nil, "", err
	}
	var all []output.File
	for _, ext := range []string{".go", ".templ"} {
		body, err := fill("files/model/pages"+ext+".tmpl", s)
		if err != nil {
			return nil, "", err
		}
		made, err := finish("web/"+snake(m.Collection, '_')+ext, slices.Concat(s.head(string(body)), body))
		if err != nil {
			return nil, "", err
		}
		all = append(all, made...)
	}
	return all, s.report(), nil
}

func (s *pages) head(body string) []byte {
	b := []byte("package web\n\nimport (\n")
	for i, group := range [][]string{
		{"cmp", "net/http", "net/url", "slices", "strconv", "time"},
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

func pagesOf(p *model.Package, m *model.Model, a Access) (*pages, error) {
	switch {
	case m.Events != nil:
		return nil, fmt.Errorf("%s are events, for which scaffold writes no pages", m.Collection)
	case len(m.ID) != 1:
		return nil, fmt.Errorf("%s has an id of %d fields: scaffold needs an id of one field", m.Name, len(m.ID))
	}
	s := &pages{
		Package: p.Name, Path: p.Path, Type: m.Name, Collection: m.Collection,
		One: english.Uncapital(m.Name), Var: variable(m.Name),
		Word: snake(m.Name, ' '), Words: snake(m.Collection, ' '),
		Record: snake(m.Name, '-'), Records: records(m),
		ID: m.ID[0].Name, When: m.Created, model: m, chosen: a.Fields,
	}
	s.A = english.Article(s.Word)
	s.findPrivate()
	for _, look := range []func() error{s.id, func() error { return s.access(a) }, s.fields, s.indexes} {
		if err := look(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func records(m *model.Model) string {
	if m.Collection == m.Name {
		return "all-" + snake(m.Collection, '-')
	}
	return snake(m.Collection, '-')
}

func (s *pages) id() error {
	value := s.Var + "." + s.ID
	s.IDType = s.name(s.model.IDType)
	switch kind := kindOf(s.model.IDType); {
	case kind == text:
		s.IDText = as("string", s.model.IDType, value)
		if s.ID == "ID" {
			s.NewID = s.typed(s.model.IDType, "id")
		} else {
			s.IDField = strings.ToLower(s.ID)
		}
	case kind == whole && s.model.Sequential:
		s.IDText = digits(s.model.IDType, value)
	default:
		return fmt.Errorf("the id of %s is a %s: scaffold needs a string, or id,seq", s.Type, s.IDType)
	}
	return nil
}

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

// as returns expr, a t, as the basic type want.
func as(want string, t types.Type, expr string) string {
	if types.TypeString(t, nil) == want {
		return expr
	}
	return want + "(" + expr + ")"
}

func digits(t types.Type, expr string) string {
	if t.Underlying().(*types.Basic).Info()&types.IsUnsigned != 0 {
		return "strconv.FormatUint(" + as("uint64", t, expr) + ", 10)"
	}
	return "strconv.FormatInt(" + as("int64", t, expr) + ", 10)"
}

func variable(name string) string {
	short := strings.ToLower(name[:1])
	if slices.Contains(taken, short) {
		short = english.Uncapital(name)
	}
	if token.IsKeyword(short) || slices.Contains(taken, short) {
		short += "1"
	}
	return short
}

var taken = []string{"v", "s", "f"}

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
