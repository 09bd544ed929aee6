package resolve

import (
	"fmt"
	"go/types"

	"github.com/ringtree/ringtree/codegen/internal/english"
	"github.com/ringtree/ringtree/codegen/internal/model"
	"github.com/ringtree/ringtree/codegen/internal/stored"
	"github.com/ringtree/ringtree/codegen/internal/tag"
)

// periodsStored fit into the maximum TTL of stores, five years.
var periodsStored = map[string]int{"hour": 5*365*24 - 1, "day": 5*365 - 1, "week": 5*365/7 - 1, "month": 5*12 - 2}

const periodsKept = 2

func (b *builder) finishRanking(x *model.Index, c tag.Clause) {
	r := &model.Ranking{
		By: b.byOf(c), Low: c.Get("order") == "low", Ties: c.Get("ties"), Scale: c.Number("scale", -1), Locale: c.Get("locale"),
		Counts: !x.Parts[0].Method && b.countsOn(x.Parts[0].Name), Keep: c.Number("keep", periodsKept),
	}
	x.Ranking = r
	r.Kind = scoreKind(r, x.Value)
	b.finishPeriod(x, c)
	b.finishText(x, c)
	b.finishReads(x, c)
	if r.Scale >= 0 && (r.Counts || !stored.IsBasic(x.Value, types.IsFloat)) {
		b.At(x.Pos, "scale=%d on %s, which has no decimals: it says how many of a float64 or float32 count", r.Scale, x.Parts[0].Label())
	}
}

// A method reads the counters of of= and, for the plan, the fields found in its body.
func (b *builder) finishReads(x *model.Index, c tag.Clause) {
	if x.Parts[0].Method {
		names, sure := b.source.Reads(b.draft.Name, x.Parts[0].Name)
		x.Ranking.Known = sure
		for _, name := range names {
			obj, _, _ := types.LookupFieldOrMethod(types.NewPointer(b.model.Type), true, b.source.Types, name)
			if _, ok := obj.(*types.Var); ok {
				x.Ranking.Reads = append(x.Ranking.Reads, name)
			}
		}
	}
	for _, name := range c.List("of") {
		switch {
		case !x.Parts[0].Method || x.Ranking.IsText():
			b.At(x.Pos, "of=%s on %s: it says which counters a method reads that returns a number or a time", c.Get("of"), x.Parts[0].Label())
			return
		case !b.countsOn(name):
			b.At(x.Pos, "of=%s: %s is no counter of %s; the fields of the record need not be named", c.Get("of"), name, b.model.Name)
		default:
			x.Ranking.Of = append(x.Ranking.Of, name)
		}
	}
}

func (b *builder) finishText(x *model.Index, c tag.Clause) {
	r, order := x.Ranking, c.Get("order")
	if r.IsText() {
		r.Low = order != "high"
	}
	switch {
	case r.IsText() && r.Ties != "":
		b.At(x.Pos, "ties=%s on %s: that is for equal numbers; equal texts stand in a fixed order that means nothing", r.Ties, x.Parts[0].Label())
		r.Ties = ""
	case r.IsText():
	case order == "high":
		b.At(x.Pos, "order=high on %s: without it the highest comes first; it is for texts, from Z to A", x.Parts[0].Label())
	case r.Locale != "":
		b.At(x.Pos, "locale=%s on %s, which is no text: it says in the order of which language a string stands", r.Locale, x.Parts[0].Label())
	}
}

func (b *builder) finishPeriod(x *model.Index, c tag.Clause) {
	r, per := x.Ranking, c.Get("per")
	switch most := periodsStored[per]; {
	case per == "" && c.Has("keep"):
		b.At(x.Pos, "keep=%d: a ranking without per= is kept forever", r.Keep)
	case per == "":
		return
	case r.IsText():
		b.At(x.Pos, "per=%s on %s, which is a text: only what a counter counts has periods", per, x.Parts[0].Label())
	case !r.Counts:
		b.At(x.Pos, "per=%s on %s: it counts what falls into one %s, so it stands on a counter: write counter; ranking,per=%s", per, x.Parts[0].Label(), per, per)
	case r.Keep > most:
		b.At(x.Pos, "keep=%d: stores keep what ends by itself for five years, so at most %d of per=%s", r.Keep, most, per)
	default:
		r.Per = per
	}
}

// Unsigned integers of up to 32 bits are stored as signed ones.
func scoreKind(r *model.Ranking, t types.Type) string {
	if stored.IsTime(t) {
		return "time"
	}
	switch b := t.Underlying().(*types.Basic); {
	case r.Counts:
		return "int"
	case b.Kind() == types.String:
		return model.TextKind(r.Locale)
	case r.Scale >= 0:
		return fmt.Sprintf("decimal %d", r.Scale)
	case stored.IsBasic(t, types.IsFloat):
		return "float"
	case b.Kind() == types.Uint || b.Kind() == types.Uint64:
		return "uint"
	}
	return "int"
}

func rankingName(x *model.Index) string {
	subject := english.Capital(x.Parts[0].Name)
	name := "Top" + subject
	switch {
	case x.Ranking.IsText() && x.Ranking.Low:
		name = subject + "AZ"
	case x.Ranking.IsText():
		name = subject + "ZA"
	}
	if by := x.Ranking.By; by != nil {
		name += "By" + english.Capital(by.Name())
	}
	if per := x.Ranking.Per; per != "" {
		name += "Per" + english.Capital(per)
	}
	return name
}

// rankingDef leaves out options that need no rebuild: the reading order, shared ranks and the
// number of periods.
func rankingDef(x *model.Index) string {
	text := fmt.Sprintf("ranking %s %s", x.Parts[0].Stored, x.Ranking.Kind)
	if len(x.Followed()) > 0 {
		text += " counted"
	}
	if by := x.Ranking.By; by != nil {
		text += byDef(by)
	}
	if per := x.Ranking.Per; per != "" {
		text += " per " + per
	}
	return text + tiesDef(x.Ranking)
}

// tiesDef is the same for the newest of the highest first and the oldest of the lowest: the same
// entries read in opposite directions.
func tiesDef(r *model.Ranking) string {
	switch {
	case r.Ties == "dense":
		return " ties dense"
	case r.ByTime() && (r.Ties == "newest") != r.Low:
		return " ties newer"
	case r.ByTime():
		return " ties older"
	}
	return ""
}
