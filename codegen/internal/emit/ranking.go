package emit

import (
	"fmt"
	"strings"

	"github.com/ringtree/ringtree/codegen/internal/english"
	"github.com/ringtree/ringtree/codegen/internal/model"
)

func scores(x *model.Index, n *imports) string {
	if x.Ranking.Counts {
		return "int64"
	}
	return n.typeString(x.Value)
}

func rankingType(x *model.Index, n *imports) string {
	args := []string{n.typeString(x.Model.Type), n.typeString(x.Model.IDType), scores(x, n)}
	name := "Board"
	if by := x.Ranking.By; by != nil {
		name = "Boards"
		args = append(args, n.typeString(by.Value))
	}
	return fmt.Sprintf("*%s.%s[%s]", n.runtime("ranking"), name, strings.Join(args, ", "))
}

func makeRanking(x *model.Index, n *imports) string {
	ranking, spec := n.runtime("ranking"), rankingSpec(x, n)
	if by := x.Ranking.By; by != nil {
		return fmt.Sprintf("%s.NewBoards(r, %s, %s)", ranking, spec, byExpr(x, by, n))
	}
	return fmt.Sprintf("%s.NewBoard(r, %s)", ranking, spec)
}

func rankingSpec(x *model.Index, n *imports) string {
	ranking, typ, v := n.runtime("ranking"), x.Model.Type.Obj().Name(), variable(x.Model)
	var b strings.Builder
	fmt.Fprintf(&b, "%s.Spec[%s, %s]{\nName: %q, Def: %q,\nOf: %s,", ranking, typ, scores(x, n), x.Stored, x.Def, scoreOrder(x, n))
	if !x.Ranking.Counts {
		fmt.Fprintf(&b, "\nScore: func(%s *%s) %s { return %s },", v, typ, scores(x, n), x.Parts[0].Expr(v))
	}
	b.WriteString(condition(x, "\n"))
	if x.Ranking.Low {
		b.WriteString("\nLow: true,")
	}
	if ties := x.Ranking.Ties; ties != "" {
		fmt.Fprintf(&b, "\nTies: %s.%s,", ranking, english.Capital(ties))
	}
	if x.Ranking.ByTime() {
		fmt.Fprintf(&b, "\nMade: func(%s *%s) %s.Time { return %s.%s },", v, typ, n.add("time", "time"), v, x.Model.Created)
	}
	b.WriteString(follows(x, n))
	if per := x.Ranking.Per; per != "" {
		fmt.Fprintf(&b, "\nPer: %s.%s, Keep: %d,", ranking, english.Capital(per), x.Ranking.Keep)
	}
	return b.String() + "\n}"
}

func follows(x *model.Index, n *imports) string {
	counters := x.Followed()
	if len(counters) == 0 {
		return ""
	}
	text := fmt.Sprintf("\nCounter: %s, Batch: %s.%s,", tally(counters[0]), n.runtime("ranking"), batches[counters[0].Batch].name)
	if len(counters) == 1 {
		return text
	}
	return text + fmt.Sprintf("\nAlso: []%s.Counter{%s},", n.runtime("ranking"), each(counters[1:], tally))
}

func scoreOrder(x *model.Index, n *imports) string {
	ranking := n.runtime("ranking")
	switch kind := x.Ranking.Kind; {
	case kind == "time":
		return ranking + ".Time()"
	case x.Ranking.IsText():
		return fmt.Sprintf("%s.Text[%s](%s.Of(%q))", ranking, scores(x, n), n.runtime("ranking/collation"), x.Ranking.Locale)
	case x.Ranking.Scale >= 0:
		return fmt.Sprintf("%s.Decimal[%s](%d)", ranking, scores(x, n), x.Ranking.Scale)
	default:
		return fmt.Sprintf("%s.%s[%s]()", ranking, english.Capital(kind), scores(x, n))
	}
}

// The entries of a ranking by a counter are written after the reply; the trip is for a journal
// line.
func rankingEntering(x *model.Index) (trips, first int) {
	switch {
	case len(x.Followed()) > 0:
		return 1, 1
	case x.Ranking.By == nil:
		return 2, 2
	}
	return 2, 5
}

func rankingLine(x *model.Index) string {
	r := x.Ranking
	text := "by " + x.Parts[0].Label()
	if r.Per != "" {
		text = fmt.Sprintf("%s of one %s", x.Parts[0].Label(), r.Per)
	}
	text += ", " + order(r)
	if r.By != nil {
		text += byLine(r.By)
	}
	text += tiesLine[r.Ties]
	if followed := x.Followed(); x.Parts[0].Method && len(followed) > 0 {
		names := make([]string, len(followed))
		for i, c := range followed {
			names[i] = c.Field
		}
		text += "; follows " + english.List(names)
	}
	if r.Per != "" {
		text += "; " + periods(r)
	}
	return text
}

// readsLine is for the plan alone: generated code does not depend on bodies.
func readsLine(x *model.Index) string {
	r := x.Ranking
	if r == nil || r.IsText() || !x.Parts[0].Method || len(x.Model.Counters) == 0 {
		return ""
	}
	if !r.Known {
		return "; the fields it reads are unknown"
	}
	text := "; reads no field"
	if len(r.Reads) > 0 {
		text = "; reads " + english.List(r.Reads)
	}
	unread, unnamed := x.Unread()
	if len(unread) > 0 {
		text += "; need not follow " + english.List(unread) + ": see of="
	}
	if len(unnamed) > 0 {
		text += "; does not follow " + english.List(unnamed) + ": see of="
	}
	return text
}

var tiesLine = map[string]string{
	"newest": ", of equal ones the newest first",
	"oldest": ", of equal ones the oldest first",
	"shared": ", ties share a place",
	"dense":  ", ties share a place and none is left out",
}

func order(r *model.Ranking) string {
	words := [2]string{"highest first", "lowest first"}
	switch {
	case r.Kind == "time":
		words = [2]string{"latest first", "earliest first"}
	case r.IsText():
		words = [2]string{"from Z to A" + language(r), "from A to Z" + language(r)}
	}
	if r.Low {
		return words[1]
	}
	return words[0]
}

func language(r *model.Ranking) string {
	if r.Locale == "" {
		return ""
	}
	return " in " + r.Locale
}

func periods(r *model.Ranking) string {
	if r.Keep == 1 {
		return "1 " + r.Per
	}
	return fmt.Sprintf("%d %ss", r.Keep, r.Per)
}
