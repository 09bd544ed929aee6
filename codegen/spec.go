package codegen

import (
	"fmt"
	"go/types"
	"strings"
)

// generic returns the type of an index: the library's type name of the package
// pkg for the model's records, the types between, and the index's values.
func generic(x *Index, names *imports, pkg, name string, between ...types.Type) string {
	args := names.typeString(x.Model.Type)
	for _, t := range append(between, x.Value) {
		args += ", " + names.typeString(t)
	}
	return fmt.Sprintf("*%s.%s[%s]", names.runtime(pkg), name, args)
}

// listOptions returns the further arguments of lists: that many write to them at
// once, and which counter follows them.
func listOptions(x *Index, names *imports) string {
	options := ""
	if x.Clause.Has("hot") {
		options += fmt.Sprintf(", %s.Hot(%s)", names.runtime("index"), x.Clause.Get("hot"))
	}
	if x.Count != nil {
		options += fmt.Sprintf(", %s.Counted(%q, %q)", names.runtime("index"), x.Count.Model.Stored, x.Count.Stored)
	}
	return options
}

// indexSpec returns the literal that describes x to the library.
func indexSpec(x *Index, names *imports) string {
	kvmodel, value := names.runtime("kvmodel"), names.typeString(x.Value)
	typ, v := x.Model.Type.Obj().Name(), x.Model.receiver()
	var b strings.Builder
	fmt.Fprintf(&b, "%s.IndexSpec[%s, %s]{\n", kvmodel, typ, value)
	fmt.Fprintf(&b, "Name: %q, Def: %q, Fields: []string{%s}, Key: %s,\n", x.Stored, x.definition(), x.fieldList(), keyExpr(x.Value, names))
	fmt.Fprintf(&b, "Values: func(%s *%s) []%s { return %s },", v, typ, value, x.values(value, v))
	if c := x.condition(); c != nil {
		fmt.Fprintf(&b, " If: %s,", c.expr(typ, v))
	}
	return b.String() + "\n}"
}

// fieldList returns the quoted names of what x is made of.
func (x *Index) fieldList() string {
	names := make([]string, len(x.Parts))
	for i, p := range x.Parts {
		names[i] = fmt.Sprintf("%q", p.Name)
	}
	return strings.Join(names, ", ")
}

// values returns the expression of the values of x in the record v.
func (x *Index) values(typ, v string) string {
	switch {
	case x.Many:
		return x.Parts[0].Expr(v)
	case len(x.Parts) > 1:
		return fmt.Sprintf("[]%s{%s}", typ, composite("", x.Parts, v))
	}
	return fmt.Sprintf("[]%s{%s}", typ, x.Parts[0].Expr(v))
}

// condition returns which records x holds: its own condition or the model's.
func (x *Index) condition() *Condition {
	if x.If != nil {
		return x.If
	}
	return x.Model.If
}

// expr returns the condition as a function of a record.
func (c *Condition) expr(typ, v string) string {
	if c.Method {
		return fmt.Sprintf("(*%s).%s", typ, c.Name)
	}
	return fmt.Sprintf("func(%s *%s) bool { return %s.%s }", v, typ, v, c.Name)
}
