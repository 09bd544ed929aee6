package emit

import (
	"fmt"
	"strings"

	"github.com/ringtree/ringtree/codegen/internal/english"
	"github.com/ringtree/ringtree/codegen/internal/model"
)

func timelineType(x *model.Index, n *imports) string {
	if x.Ring.By == nil {
		return fmt.Sprintf("*%s.Ring[%s]", n.runtime("timeline"), n.typeString(x.Model.Type))
	}
	return fmt.Sprintf("*%s.Rings[%s, %s]", n.runtime("timeline"), n.typeString(x.Model.Type), n.typeString(x.Ring.By.Type))
}

func makeTimeline(x *model.Index, n *imports) string {
	timeline, typ, v := n.runtime("timeline"), x.Model.Type.Obj().Name(), variable(x.Model)
	var b strings.Builder
	fmt.Fprintf(&b, "%s.Spec[%s]{\nName: %q, Def: %q,\n", timeline, typ, x.Stored, x.Def)
	fmt.Fprintf(&b, "Value: func(%s *%s) string { return %s.Text(%s) },", v, typ, timeline, x.Parts[0].Expr(v))
	if c := x.Condition(); c != nil {
		fmt.Fprintf(&b, " If: %s,", conditionExpr(c, typ, v))
	}
	fmt.Fprintf(&b, "\nShape: %s,", shapeExpr(x.Ring.Shape, timeline+".Shape"))
	if len(x.Ring.Before) > 0 {
		fmt.Fprintf(&b, " Before: []%s.Shape{", timeline)
		for _, s := range x.Ring.Before {
			fmt.Fprintf(&b, "%s, ", shapeExpr(s, ""))
		}
		b.WriteString("},")
	}
	if x.Ring.Shards > 1 {
		fmt.Fprintf(&b, " Shards: %d,", x.Ring.Shards)
	}
	b.WriteString("\n}")
	if x.Ring.By == nil {
		return fmt.Sprintf("%s.NewRing(r, %s)", timeline, b.String())
	}
	by := x.Ring.By
	return fmt.Sprintf("%s.NewRings(r, %s, %s, func(%s *%s) %s { return %s })",
		timeline, b.String(), keyExpr(by.Type, n), v, typ, n.typeString(by.Type), by.Expr(v))
}

func shapeExpr(s model.RingShape, typ string) string {
	return fmt.Sprintf("%s{Size: %d, Segment: %d}", typ, s.Size, s.Segment)
}

func timelineLine(x *model.Index) string {
	what := "last change of " + english.List(labels(x.Parts)) + " first"
	if x.Ring.By != nil {
		return fmt.Sprintf("%s, per %s; newest %d of each", what, x.Ring.By.Label(), x.Ring.Shape.Size)
	}
	return fmt.Sprintf("%s; newest %d", what, x.Ring.Shape.Size)
}
