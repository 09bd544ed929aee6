package emit

import (
	"fmt"
	"go/types"
	"strconv"
	"strings"
	"time"

	"github.com/ringtree/ringtree/codegen/internal/english"
	"github.com/ringtree/ringtree/codegen/internal/model"
)

func uniqueType(x *model.Index, n *imports) string { return generic(x, n, "index", "Unique") }

func makeUnique(x *model.Index, n *imports) string {
	return n.runtime("index") + ".NewUnique(r, " + indexSpec(x, n) + heldFor(x, n) + ")"
}

func heldFor(x *model.Index, n *imports) string {
	if x.For == 0 {
		return ""
	}
	v, t := variable(x.Model), n.add("time", "time")
	return fmt.Sprintf(", %s.HeldFor(%s, func(%s *%s) %s.Time { return %[3]s.%[6]s })",
		n.runtime("index"), durationExpr(x.For, t), v, x.Model.Type.Obj().Name(), t, x.Model.Created)
}

func durationExpr(d time.Duration, t string) string {
	unit, name := time.Nanosecond, "Nanosecond"
	for larger, its := range map[time.Duration]string{time.Second: "Second", time.Minute: "Minute", time.Hour: "Hour"} {
		if d%larger == 0 && larger > unit {
			unit, name = larger, its
		}
	}
	return fmt.Sprintf("%d*%s.%s", d/unit, t, name)
}

func uniqueLine(x *model.Index) string {
	line := "the one " + x.Model.Name + " with " + phrase(x)
	if x.For > 0 {
		line += fmt.Sprintf(", until %s after %s", english.Duration(x.For), x.Model.Created)
	}
	return line
}

func listsType(x *model.Index, n *imports) string {
	return generic(x, n, "index", "Lists", x.Model.IDType)
}

func makeLists(x *model.Index, n *imports) string {
	return n.runtime("index") + ".NewLists(r, " + indexSpec(x, n) + listOptions(x, n) + ")"
}

func listsLine(x *model.Index) string {
	text := "the " + x.Model.Collection + " with " + phrase(x)
	if x.Parent != nil {
		text += "; they go with " + english.Article(x.Parent.Name)
	}
	for _, n := range x.Numbers {
		text += "; " + numberLine(n)
	}
	return text
}

func withValues(x *model.Index, lists handle, n *imports) handle {
	name := lists.name
	lists.name = "Lists"
	return handle{name: name, parts: []handle{lists, {
		name: "Values", typ: fmt.Sprintf("*%s.Values[%s]", n.runtime("ranking"), n.typeString(x.Value)),
		make: fmt.Sprintf("%s.NewValues(r, c.%s.Spec(), c.%s.Derived())", n.runtime("ranking"), name, name),
		line: valuesLine(x),
		read: "Page 2, or 1 if nothing is new; Has, Count and Len 1; Words and All in parts",
	}}}
}

func valuesLine(x *model.Index) string {
	each := "each " + english.List(model.Labels(x.Parts))
	if x.Many {
		each = "each value among " + english.List(model.Labels(x.Parts))
	}
	line := each + ", and how many " + x.Model.Collection + " have it"
	if x.If != nil {
		line += "; if " + x.If.Name
	}
	return line
}

// phrase returns "a Slug", "a value among Tags".
func phrase(x *model.Index) string {
	what := english.List(model.Labels(x.Parts))
	if x.Many {
		return "a value among " + what
	}
	return english.Article(what)
}

func generic(x *model.Index, names *imports, pkg, name string, between ...types.Type) string {
	args := names.typeString(x.Model.Type)
	for _, t := range append(between, x.Value) {
		args += ", " + names.typeString(t)
	}
	return fmt.Sprintf("*%s.%s[%s]", names.runtime(pkg), name, args)
}

func listOptions(x *model.Index, names *imports) string {
	options := ""
	if x.Hot > 0 {
		options += fmt.Sprintf(", %s.Hot(%d)", names.runtime("index"), x.Hot)
	}
	for _, n := range x.Numbers {
		options += fmt.Sprintf(", %s.%s", names.runtime("index"), numberOption(x, n))
	}
	if x.Values && !x.Counted() {
		options += fmt.Sprintf(", %s.ForValues()", names.runtime("index"))
	}
	return options
}

func numberLine(n *model.Number) string {
	target := n.Counter.Model.Name + "." + n.Counter.Field
	switch {
	case n.Of != nil:
		return "the sum of " + n.Summand() + " is " + target
	case n.If != nil:
		return "counted in " + target + " " + n.Summand()
	}
	return "counted in " + target
}

func numberOption(x *model.Index, n *model.Number) string {
	target := fmt.Sprintf("%q, %q", n.Counter.Model.Stored, n.Counter.Stored)
	if n.Of == nil && n.If == nil {
		return fmt.Sprintf("Counted(%s)", target)
	}
	v := variable(x.Model)
	head := fmt.Sprintf("%s, %q, func(%s *%s)", target, n.Summand(), v, x.Model.Type.Obj().Name())
	if n.Of == nil {
		return fmt.Sprintf("CountedIf(%s bool { return %s })", head, n.If.Expr(v))
	}
	sum := fmt.Sprintf("return int64(%s)", n.Of.Expr(v))
	if n.If != nil {
		sum = fmt.Sprintf("if !%s { return 0 }; %s", n.If.Expr(v), sum)
	}
	return fmt.Sprintf("Summed(%s int64 { %s })", head, sum)
}

func indexSpec(x *model.Index, names *imports) string {
	kvmodel, value := names.runtime("kvmodel"), names.typeString(x.Value)
	typ, v := x.Model.Type.Obj().Name(), variable(x.Model)
	var b strings.Builder
	fmt.Fprintf(&b, "%s.IndexSpec[%s, %s]{\n", kvmodel, typ, value)
	fmt.Fprintf(&b, "Name: %q, Def: %q, Fields: []string{%s}, Key: %s,%s\n", x.Stored, x.Def, fields(x), keyExpr(x.Value, names), maxExpr(x))
	fmt.Fprintf(&b, "Values: func(%s *%s) []%s { return %s },", v, typ, value, values(x, value, v))
	return b.String() + condition(x, " ") + "\n}"
}

func maxExpr(x *model.Index) string {
	if x.Max == 0 {
		return ""
	}
	return fmt.Sprintf(" Max: %d,", x.Max)
}

func fields(x *model.Index) string {
	if x.Field != "" {
		return strconv.Quote(x.Field)
	}
	return each(x.Parts, func(p model.Part) string { return strconv.Quote(p.Name) })
}

func values(x *model.Index, typ, v string) string {
	switch {
	case x.Many:
		return x.Parts[0].Expr(v)
	case len(x.Parts) > 1:
		return fmt.Sprintf("[]%s{%s}", typ, composite("", x.Parts, v))
	}
	return fmt.Sprintf("[]%s{%s}", typ, x.Parts[0].Expr(v))
}

func byExpr(x *model.Index, by *model.By, n *imports) string {
	typ, v, value := x.Model.Type.Obj().Name(), variable(x.Model), n.typeString(by.Value)
	field, result, expr, limit := "Value", value, by.Parts[0].Expr(v), ""
	switch {
	case by.Many:
		field, result = "Values", "[]"+value
		limit = fmt.Sprintf("\nField: %q,%s", by.Parts[0].Name, maxExpr(x))
	case by.Group != "":
		expr = composite(value, by.Parts, v)
	}
	return fmt.Sprintf("%s.By[%s, %s]{\nKey: %s,\n%s: func(%s *%s) %s { return %s },%s\n}",
		n.runtime("kvmodel"), typ, value, keyExpr(by.Value, n), field, v, typ, result, expr, limit)
}

func byLine(by *model.By) string {
	if by.Many {
		return ", per value among " + english.List(model.Labels(by.Parts))
	}
	return ", per " + english.List(model.Labels(by.Parts))
}
