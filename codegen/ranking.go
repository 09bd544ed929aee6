package codegen

import (
	"cmp"
	"fmt"
	"go/types"
	"slices"
	"strings"
)

// A Ranking is what a ranking has besides: whose it is, for how long, and in
// which order.
type Ranking struct {
	By     *Part // nil: there is one for all records
	Per    *Period
	Keep   int // periods
	Low    bool
	Shared bool
	Scale  int // the decimals that count; -1: scores are as they are
	OnTime bool
	Counts bool // it stands on a counter
}

// A Period is a stretch of the calendar as the tag, the library and people call
// it.
type Period struct {
	tag, name string
	most      int // that stores keep
}

// Stores keep what ends by itself for five years.
var periods = []*Period{
	{"hour", "Hour", 5*365*24 - 1}, {"day", "Day", 5*365 - 1}, {"week", "Week", 5*365/7 - 1}, {"month", "Month", 5*12 - 2},
}

// periodsKept is how many periods are kept where the tag does not say: the one
// under way and the one before.
const periodsKept = 2

var rankingEmission = &emission{
	name:    rankingName,
	typ:     rankingType,
	make:    makeRanking,
	line:    rankingLine,
	def:     rankingDefinition,
	read:    "Page, At and Between 2, more when cold; Around 3; Rank and Percentile 2; Len and Count 1",
	listing: true,
	deep:    func(x *Index) bool { return len(x.followed()) == 0 },
}

// useRanking settles whose ranking x is, and its order.
func (b *builder) useRanking(x *Index) {
	c := x.Clause
	r := &Ranking{
		Low: c.Has("order"), Shared: c.Has("ties"), Scale: optionNumber(c, "scale", -1), OnTime: isTime(x.Value),
		Counts: !x.Parts[0].Method && b.countsOn(x.Parts[0].Name), Keep: optionNumber(c, "keep", periodsKept),
	}
	x.Ranking = r
	if f := b.field(c.Get("by")); f != nil {
		r.By = &Part{f.Name(), b.storedAs(f), f.Type(), false}
	}
	b.usePeriod(x)
	if r.Scale >= 0 && (r.Counts || !isFloat(x.Value)) {
		b.at(x.pos, "scale=%d on %s, which has no decimals: it says how many of a float64 or float32 count", r.Scale, x.Parts[0].Label())
	}
}

// usePeriod settles the period of the ranking x.
func (b *builder) usePeriod(x *Index) {
	r, c := x.Ranking, x.Clause
	i := slices.IndexFunc(periods, func(p *Period) bool { return p.tag == c.Get("per") })
	switch {
	case i < 0 && c.Has("keep"):
		b.at(x.pos, "keep=%d: a ranking without per= is kept for ever", r.Keep)
	case i < 0:
		return
	case !r.Counts:
		b.at(x.pos, "per=%s on %s: it counts what falls into one %s, so it stands on a counter: write counter; ranking,per=%s", periods[i].tag, x.Parts[0].Label(), periods[i].tag, periods[i].tag)
	case r.Keep > periods[i].most:
		b.at(x.pos, "keep=%d: stores keep what ends by itself for five years, so at most %d of per=%s", r.Keep, periods[i].most, periods[i].tag)
	default:
		r.Per = periods[i]
	}
}

// countsOn reports whether the field called name is a counter.
func (b *builder) countsOn(name string) bool {
	s := b.model.Type.Underlying().(*types.Struct)
	for i := range s.NumFields() {
		if s.Field(i).Name() == name {
			return says(s.Tag(i), "counter")
		}
	}
	return false
}

func isFloat(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsFloat != 0
}

// followed returns the counters that the ranking x follows: the one it stands
// on, or all of the model, of which a method may make its score. Empty: the
// record says the score by itself.
func (x *Index) followed() []*Counter {
	if x.Parts[0].Method {
		return x.Model.Counters
	}
	i := slices.IndexFunc(x.Model.Counters, func(c *Counter) bool { return c.Field == x.Parts[0].Name })
	if i < 0 {
		return nil
	}
	return x.Model.Counters[i : i+1]
}

func rankingName(x *Index) string {
	name := "Top" + capital(x.Parts[0].Name)
	if by := x.Ranking.By; by != nil {
		name += "By" + capital(by.Name)
	}
	if p := x.Ranking.Per; p != nil {
		name += "Per" + p.name
	}
	return name
}

// score returns the type of the scores of x.
func (x *Index) score(n *imports) string {
	if x.Ranking.Counts {
		return "int64"
	}
	return n.typeString(x.Value)
}

func rankingType(x *Index, n *imports) string {
	args := []string{n.typeString(x.Model.Type), n.typeString(x.Model.IDType), x.score(n)}
	name := "Board"
	if by := x.Ranking.By; by != nil {
		name = "Boards"
		args = append(args, n.typeString(by.Type))
	}
	return fmt.Sprintf("*%s.%s[%s]", n.runtime("ranking"), name, strings.Join(args, ", "))
}

func makeRanking(x *Index, n *imports) string {
	ranking, typ, v := n.runtime("ranking"), x.Model.Type.Obj().Name(), x.Model.receiver()
	spec := rankingSpec(x, n)
	by := x.Ranking.By
	if by == nil {
		return fmt.Sprintf("%s.NewBoard(r, %s)", ranking, spec)
	}
	value := n.typeString(by.Type)
	return fmt.Sprintf("%s.NewBoards(r, %s, %s.By[%s, %s]{\nKey: %s,\nValue: func(%s *%s) %s { return %s },\n})",
		ranking, spec, ranking, typ, value, keyExpr(by.Type, n), v, typ, value, by.Expr(v))
}

// rankingSpec returns the literal that describes the ranking x to the library.
func rankingSpec(x *Index, n *imports) string {
	ranking, typ, v := n.runtime("ranking"), x.Model.Type.Obj().Name(), x.Model.receiver()
	var b strings.Builder
	fmt.Fprintf(&b, "%s.Spec[%s, %s]{\nName: %q, Def: %q,\nOf: %s,", ranking, typ, x.score(n), x.Stored, x.definition(), x.scoreOf(n))
	if !x.Ranking.Counts {
		fmt.Fprintf(&b, "\nScore: func(%s *%s) %s { return %s },", v, typ, x.score(n), x.Parts[0].Expr(v))
	}
	if c := x.condition(); c != nil {
		fmt.Fprintf(&b, "\nIf: %s,", c.expr(typ, v))
	}
	if x.Ranking.Low {
		b.WriteString("\nLow: true,")
	}
	if x.Ranking.Shared {
		b.WriteString("\nShared: true,")
	}
	b.WriteString(x.follows(n))
	if p := x.Ranking.Per; p != nil {
		fmt.Fprintf(&b, "\nPer: %s.%s, Keep: %d,", ranking, p.name, x.Ranking.Keep)
	}
	return b.String() + "\n}"
}

// follows returns the lines that say which counters the ranking x follows.
func (x *Index) follows(n *imports) string {
	counters := x.followed()
	if len(counters) == 0 {
		return ""
	}
	text := fmt.Sprintf("\nCounter: %s, Batch: %s.%s,", counters[0].tally(), n.runtime("ranking"), batches[counters[0].Batch].name)
	if len(counters) == 1 {
		return text
	}
	text += fmt.Sprintf("\nAlso: []%s.Counter{", n.runtime("kvmodel"))
	for _, c := range counters[1:] {
		text += c.tally() + ", "
	}
	return text + "},"
}

// scoreOf returns the expression of how the library orders the scores of x.
func (x *Index) scoreOf(n *imports) string {
	ranking := n.runtime("ranking")
	switch kind := x.scoreKind(); {
	case kind == "time":
		return ranking + ".Time()"
	case x.Ranking.Scale >= 0:
		return fmt.Sprintf("%s.Decimal[%s](%d)", ranking, x.score(n), x.Ranking.Scale)
	default:
		return fmt.Sprintf("%s.%s[%s]()", ranking, capital(kind), x.score(n))
	}
}

// scoreKind returns the kind of stored scores of x: a change of it needs a
// rebuild. Unsigned integers of up to 32 bits are stored as signed ones.
func (x *Index) scoreKind() string {
	if x.Ranking.OnTime {
		return "time"
	}
	switch b := x.Value.Underlying().(*types.Basic); {
	case x.Ranking.Counts:
		return "int"
	case x.Ranking.Scale >= 0:
		return fmt.Sprintf("decimal %d", x.Ranking.Scale)
	case b.Info()&types.IsFloat != 0:
		return "float"
	case b.Kind() == types.Uint || b.Kind() == types.Uint64:
		return "uint"
	}
	return "int"
}

// rankingDefinition leaves out in which order the scores are read, how ties
// stand and how many periods are kept: that needs no rebuild.
func rankingDefinition(x *Index) string {
	text := fmt.Sprintf("ranking %s %s", x.Parts[0].Stored, x.scoreKind())
	if len(x.followed()) > 0 {
		text += " counted"
	}
	if by := x.Ranking.By; by != nil {
		text += fmt.Sprintf(" by %s %s", by.Stored, keyKind(by.Type))
	}
	if p := x.Ranking.Per; p != nil {
		text += " per " + p.tag
	}
	if c := x.condition(); c != nil {
		text += " if " + c.Name
	}
	return text
}

func rankingLine(x *Index) string {
	r := x.Ranking
	text := "by " + x.Parts[0].Label()
	if r.Per != nil {
		text = fmt.Sprintf("%s of one %s", x.Parts[0].Label(), r.Per.tag)
	}
	text += ", " + r.order()
	if r.By != nil {
		text += ", per " + r.By.Label()
	}
	if r.Shared {
		text += ", ties share a place"
	}
	if r.Per != nil {
		text += "; " + r.kept()
	}
	return text
}

func (r *Ranking) order() string {
	words := [2]string{"highest first", "lowest first"}
	if r.OnTime {
		words = [2]string{"latest first", "earliest first"}
	}
	if r.Low {
		return words[1]
	}
	return words[0]
}

func (r *Ranking) kept() string {
	if r.Keep == 1 {
		return "1 " + r.Per.tag
	}
	return fmt.Sprintf("%d %ss", r.Keep, r.Per.tag)
}

// A batch is when rankings follow a counter, as the library and people call it.
type batch struct{ name, words string }

var batches = map[string]batch{
	"window":  {"Windowed", "rankings follow within a second"},
	"sampled": {"Sampled", "rankings follow one change in many"},
	"every":   {"Every", "rankings follow before the reply"},
}

// batchByDefault is the batch of counters whose tag says none.
const batchByDefault = "window"

// tally returns the expression of the counter that rankings follow.
func (c *Counter) tally() string {
	return fmt.Sprintf("db.Tally(%q, %q)", c.Model.Stored, c.Stored)
}

// followers returns the rankings that follow c.
func (c *Counter) followers() []*Index {
	var found []*Index
	for _, x := range c.Model.Indexes {
		if x.Ranking != nil && slices.Contains(x.followed(), c) {
			found = append(found, x)
		}
	}
	return found
}

// line returns what c is, for the comment beside it.
func (c *Counter) line() string {
	text := "outside of the record, filled in when that is loaded"
	if len(c.followers()) > 0 {
		text += "; " + batches[c.Batch].words
	}
	return text
}

// read returns the trips of using c. A ranking that follows before the reply takes
// five, and one more to find out whose it is.
func (c *Counter) read() string {
	if c.Batch != "every" {
		return "Hit, Add and Get 1"
	}
	add := 1
	for _, x := range c.followers() {
		add += 5
		if x.Ranking.By != nil {
			add++
		}
	}
	return fmt.Sprintf("Hit and Add %d, Get 1", add)
}

// finishCounters reports counters whose batch nothing goes by.
func (b *builder) finishCounters() {
	for _, c := range b.model.Counters {
		if c.Batch != "" && len(c.followers()) == 0 {
			b.at(c.pos, "batch=%s of %s says when rankings follow it, but none does: write counter,batch=%s; ranking", c.Batch, c.Field, c.Batch)
		}
		c.Batch = cmp.Or(c.Batch, batchByDefault)
	}
}
