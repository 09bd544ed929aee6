package emit

import (
	"fmt"
	"go/types"
	"strings"

	"github.com/ringtree/ringtree/codegen/internal/model"
	"github.com/ringtree/ringtree/codegen/internal/stored"
)

func variable(m *model.Model) string { return receiverName(m.Type.Obj().Name()) }

func receiverName(typ string) string {
	first := strings.ToLower(typ[:1])
	if first < "a" || first > "z" {
		return "v"
	}
	return first
}

func composite(typ string, parts []model.Part, v string) string {
	return typ + "{" + each(parts, func(p model.Part) string { return p.Name + ": " + p.Expr(v) }) + "}"
}

func eachPart(parts []model.Part, v string) string {
	return each(parts, func(p model.Part) string { return p.Expr(v) })
}

func each[T any](items []T, text func(T) string) string {
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = text(item)
	}
	return strings.Join(texts, ", ")
}

func condition(x *model.Index, before string) string {
	c, typ, v := x.Condition(), x.Model.Type.Obj().Name(), variable(x.Model)
	switch {
	case c == nil:
		return ""
	case c.Method:
		return fmt.Sprintf("%sIf: (*%s).%s,", before, typ, c.Name)
	}
	return fmt.Sprintf("%sIf: func(%s *%s) bool { return %s.%s },", before, v, typ, v, c.Name)
}

func keyExpr(t types.Type, names *imports) string {
	kvmodel := names.runtime("kvmodel")
	typ := names.typeString(t)
	s := stored.KeyStruct(t)
	if s == nil {
		make, _ := stored.ScalarKey(t)
		return fmt.Sprintf("%s.%s[%s]()", kvmodel, make, typ)
	}
	var keys, types, split, params, join []string
	for i := range s.NumFields() {
		f, param := s.Field(i), string(rune('a'+i))
		keys = append(keys, keyExpr(f.Type(), names))
		types = append(types, names.typeString(f.Type()))
		split = append(split, "k."+f.Name())
		params = append(params, param+" "+types[i])
		join = append(join, f.Name()+": "+param)
	}
	return fmt.Sprintf("%s.Key%d(\n%s,\nfunc(k %s) (%s) { return %s },\nfunc(%s) %s { return %s{%s} },\n)",
		kvmodel, s.NumFields(), strings.Join(keys, ", "),
		typ, strings.Join(types, ", "), strings.Join(split, ", "),
		strings.Join(params, ", "), typ, typ, strings.Join(join, ", "))
}
