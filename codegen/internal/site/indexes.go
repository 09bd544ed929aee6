package site

import (
	"cmp"
	"fmt"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/ringtree/ringtree/codegen/internal/english"
	"github.com/ringtree/ringtree/codegen/internal/model"
)

type route struct {
	Route, Title, Tab, Expr string

	Number string // the type of the number in the address, or ""
	part   part
}

// The first available part becomes the page of a model.
type part int

const (
	newestOf part = iota
	allOf
	someOf
)

type linked struct{ Before, Route, Values string }

func (s *pages) indexes() error {
	var overall, valued []route
	for _, x := range s.model.Indexes {
		by := byOf(x)
		switch {
		case !s.public(x):
			s.Left = append(s.Left, x.Name+" (private)")
		case s.Trash != "" && x.Condition() == nil && x.Parent != nil:
			s.Left = append(s.Left, x.Name+" (has the trash, too)")
		case x.Name == "Trash" && s.Trash != "":
			s.trashList(x, by)
		case by == nil:
			overall = append(overall, s.wholeOf(x))
		default:
			r, ok := s.valuedOf(x, by)
			switch {
			case !ok:
				s.Left = append(s.Left, x.Name)
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
	s.Listings = append(overall, valued...)
	if len(s.Listings) == 0 || s.Listings[0].Route != "/"+s.Records {
		return fmt.Errorf("%s has no index of all records for a page to list: add a field such as\n\tMade time.Time `kv:\"created; timeline\"`", s.Type)
	}
	return nil
}

// public reports whether pages of x reveal no private field. A method may return one, unless the
// field for its problems is not private.
func (s *pages) public(x *model.Index) bool {
	parts := x.Parts
	by := byOf(x)
	if by != nil {
		parts = slices.Concat(parts, by.Parts)
	}
	return !slices.ContainsFunc(parts, func(p model.Part) bool {
		if p.Method {
			return by != nil && len(s.model.Private) > 0 && (x.Field == "" || slices.Contains(s.private, x.Field))
		}
		return slices.Contains(s.model.Private, p.Stored)
	})
}

// trashList adds the page of x if it lists only records that the user may change.
func (s *pages) trashList(x *model.Index, by *model.By) {
	switch {
	case by == nil && s.Forms && !s.Owned:
		s.TrashList = x.Name
	case by != nil && by.Name() == s.Author && kindOf(by.Value) == text:
		s.TrashList = x.Name + ".Of(" + s.typed(by.Value, "v.user") + ")"
	default:
		s.Left = append(s.Left, x.Name)
	}
}

func (s *pages) way(x *model.Index) string { return "/" + s.Records + "/" + snake(x.Name, '-') }

func label(x *model.Index) string {
	words := strings.Fields(snake(x.Name, ' '))
	for i, word := range words {
		if order := map[string]string{"az": "A–Z", "za": "Z–A"}[word]; order != "" && x.Ranking.IsText() {
			words[i] = order
		}
	}
	return english.Capital(strings.Join(words, " "))
}

func (s *pages) wholeOf(x *model.Index) route {
	tab := label(x)
	r := route{Route: s.way(x), Title: strconv.Quote(english.Capital(s.Words) + ": " + tab), Tab: tab, Expr: x.Name, part: allOf}
	switch {
	case x.If != nil && s.Trash == "" || x.Ranking != nil && x.Ranking.Per != "":
		r.part = someOf
	case x.Name == "Newest":
		r.part = newestOf
	}
	return r
}

// byOf returns nil if there is one listing.
func byOf(x *model.Index) *model.By {
	switch {
	case x.Ring != nil:
		return x.Ring.By
	case x.Ranking != nil:
		return x.Ranking.By
	}
	return &model.By{Group: x.Group, Parts: x.Parts, Value: x.Value, Many: x.Many}
}

// It is a text or a number.
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
		r.Number = s.name(by.Value)
		link.Values = digits(by.Value, expr)
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
	if !by.Many || types.Identical(by.Value, types.Typ[types.String]) {
		s.Links = append(s.Links, link)
	}
	return r, true
}
