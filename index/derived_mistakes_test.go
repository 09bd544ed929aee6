package index_test

import (
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
)

// Each mistake is one that the protocol of derived counts was designed around.
func TestMistakes_OfDerivedCountsAreNoticed(t *testing.T) {
	const derived, lists = "index/derived.go", "index/lists.go"
	const count, doubts = "kvmodel/internal/tally/derived.go", "kvmodel/internal/tally/doubts.go"
	const counters, plan = "kvmodel/counters.go", "kvmodel/write_plan.go"
	proof.Mistakes(t, "./index", "TestDerivedCount_|TestSweep_AfterACrash", []string{"RINGTREE_SEEDS=2000"}, []proof.Mistake{
		proof.Wrong("it is counted after the reply",
			lists, "func(s kv.Store) error { l.add(ctx, s, m.Added, shares(m)); return nil },", "func(kv.Store) error { return nil },",
			lists, "		a.told = true\n", "		a.told = true\n		l.add(ctx, s, m.Added, shares(m))\n",
		),
		proof.Wrong("numbers end at 0",
			count, "		return 0, err\n	}\n	return max(0, r.Number-zero), nil", "		return 0, err\n	}\n	if r.Number < zero {\n		_, err = kv.One(ctx, s, kv.OpSet(d.Key(id), stored(0)))\n	}\n	return max(0, r.Number-zero), err",
		),
		proof.Wrong("the count goes with its target",
			counters, "		case c.plain == nil:\n", "		case m == nil:\n",
			counters, "		if m.counters[i].plain != nil {\n", "		if i >= 0 {\n",
		),
		proof.Wrong("what gave up stays counted",
			derived, "	l.add(ctx, s, added, back)\n", "",
		),
		proof.Wrong("what a lost try has added stays where nothing moves any more",
			plan, "		t.Places = append(t.Places, plug.Without(mv.Added.Places(), t.Places)...)\n", "",
		),
		proof.Wrong("each try adds again",
			derived, "all[at].By -= sent.By", "all[at].By -= 0",
		),
		proof.Wrong("what was added long ago counts",
			derived, "(l.tooLate(m.Began) || l.tooLate(m.Added.Began))", "l.tooLate(m.Began)",
		),
		proof.Wrong("no answer is taken for done",
			derived, "		if errs[i] != nil {\n", "		if errors.Is(errs[i], kv.ErrNotFound) {\n",
		),
		proof.Wrong("a doubt is said after the reply",
			lists, "	if l.countsBeside(m) {\n		for", "	if l.countsBeside(m) && l.derived == nil {\n		for",
		),
		proof.Wrong("what was lost begins at 0",
			lists, "if made && !a.tickets[i].Began() {", "if made && a.tickets[i].Began() {",
		),
		proof.Wrong("it is counted again too early",
			doubts, "const quietFor = 15 * time.Second", "const quietFor = 0 * time.Second",
		),
		proof.Wrong("it is counted again whatever has changed",
			doubts, "kv.OpReplace(d.Key(id), round.version, stored(int64(members.N)))", "kv.OpSet(d.Key(id), stored(int64(members.N)))",
		),
		proof.Wrong("it is counted again without asking the records",
			doubts, "	if mended {\n		return nil, d.beginRound(ctx, s, id, now)\n	}\n", "	if mended {\n		members = round.members\n	}\n",
		),
		proof.Wrong("repair counts nothing again",
			lists, "if err != nil || !rec.Doubt || l.derived == nil {", "if err != nil || l != nil {",
		),
	})
}
