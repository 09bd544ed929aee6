package emit

import (
	"fmt"

	"github.com/ringtree/ringtree/codegen/internal/english"
	"github.com/ringtree/ringtree/codegen/internal/model"
)

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
		return ", per value among " + english.List(labels(by.Parts))
	}
	return ", per " + english.List(labels(by.Parts))
}
