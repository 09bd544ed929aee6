package ranking_test

import (
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
)

// Each mistake is one that lets count what is not so, or leaves out what is.
func TestSweep_NoticesEveryMistakeAboutWhatCounts(t *testing.T) {
	const tree = "ranking/internal/keytree/"
	proof.Mistakes(t, "./ranking", "TestSweep_InAContest|TestBoard_ALostRace|TestBoard_WhatHasEnded|TestBoard_FlushMakes|TestBoard_WhoLooks", []string{"RINGTREE_SEEDS=1000"}, []proof.Mistake{
		proof.Wrong("nothing is ever confirmed",
			tree+"leaf.go", "e.pending, e.end = false, now.End", "e.end, changed = now.End, changed && !e.pending",
		),
		proof.Wrong("a change tidies only where it has come to",
			"ranking/exact.go", "append(m.Lost[:len(m.Lost):len(m.Lost)], m.Gained...)", "m.Gained",
		),
		proof.Wrong("to tidy is not to compare versions",
			tree+"leaf.go", "return e.id == id && e.ver <= now.Ver }", "return e.id == id }",
		),
		proof.Wrong("repair does not look at the counts on the way",
			tree+"insert.go", "	due.doubt(name)\n", "	_ = name\n",
		),
		proof.Wrong("a line is complete before the counts are reported",
			"ranking/core.go", "	return cmp.Or(err, c.reports.now(ctx, due))\n", "	c.reports.add(due)\n	return err\n",
		),
		proof.Wrong("a change writes no line",
			"kvmodel/write_prepare.go", "	return []func(kv.Store) error{func(s kv.Store) error { return c.note(s, c.lineOf(p)) }}, nil", "	return nil, nil",
		),
		proof.Wrong("an entry does not say when it ends",
			"ranking/exact.go", "Ver: m.Rev, End: keytree.EndAt(m.Ends)}", "Ver: m.Rev}",
			"ranking/core.go", "Ver: rev, End: keytree.EndAt(ends)}", "Ver: rev}",
		),
		proof.Wrong("what has ended is counted where a router says so",
			tree+"end.go", "	if !s.ends.by(now) || ", "	if now > 0 || ",
		),
		proof.Wrong("what has ended makes no report after the next write",
			tree+"edit.go", "if was := at.leaf.ends(0); was != 0 || ends != 0 {", "if was := End(0); was != 0 {",
		),
		proof.Wrong("a report that fails is forgotten",
			"ranking/reporter.go", "	if err == nil {\n		r.made = adds", "	if r.made = adds; adds > 0 {",
		),
		proof.Wrong("a follower of a change to what is there writes nothing",
			tree+"set.go", "	if m.stays && !m.fences() {", "	if m.stays {",
		),
		proof.Wrong("taking a record off a board fences only what is there",
			"ranking/counted.go", "	if len(m.Lost) > 0 {\n		fence = keytree.FenceAll", "	if len(m.Lost) > 0 {\n		fence = keytree.FenceThere",
		),
		proof.Wrong("a board by a counter notes nothing",
			"ranking/note.go", "	if kv.PowersOf(db.Store()).Atomic != nil {", "	if db != nil {",
		),
		proof.Wrong("a note is complete before the counts are reported",
			tree+"set.go", "	b.due.done = append(b.due.done, done)", "	defer done()",
		),
		proof.Wrong("a loser takes out what it has put in, unasked",
			"ranking/exact.go", "Repair(ctx, s, rec.ID, p.score, stateOf(p.by, rec))", "Repair(ctx, s, rec.ID, p.score, stateIn(p.by, nil, rec.Rev, time.Time{}))",
		),
		proof.Wrong("a loser that stops leaves what it has put in",
			"kvmodel/write_change.go", "		c.cleanUp()\n	}\n	if errors.Is(err, errUnchanged) {", "		c.complete()\n	}\n	if errors.Is(err, errUnchanged) {",
		),
	})
}
