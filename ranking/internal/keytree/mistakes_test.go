package keytree

import (
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
)

// Each mistake is one that the design is built around.
func TestSweep_NoticesEveryMistakeOfTheDesign(t *testing.T) {
	const dir = "ranking/internal/keytree/"
	proof.Mistakes(t, "./ranking/internal/keytree", "TestLeaf_|TestTree_Repair_|TestTree_EditsThatLose|TestSweep_After|TestSweep_WhatIsLost|TestTree_AfterALoss|TestTree_ALoss|TestReport_After", []string{"RINGTREE_SEEDS=1000"}, []proof.Mistake{
		proof.Wrong("the record is written before the entry",
			dir+"set.go", "	b.prepare(ctx, s, moves)\n", "",
			dir+"set.go", "	b.tidyAll(ctx, s, moves, b.commit(ctx, s, moves))\n", "	all := b.commit(ctx, s, moves)\n	b.prepare(ctx, s, moves)\n	b.tidyAll(ctx, s, moves, all)\n",
		),
		proof.Wrong("an entry is removed whatever its version",
			dir+"leaf.go", "return e.id == id && e.ver <= now.Ver }", "return e.id == id }",
		),
		proof.Wrong("the old entry goes in the write that puts in the new one",
			dir+"insert.go", "e.put = &entry{to.Score, to.Ver, id, true, to.End}", "e.put, e.known = &entry{to.Score, to.Ver, id, true, to.End}, &to",
		),
		proof.Wrong("a leaf is split without being frozen",
			dir+"split.go", `	whole := *kept
	whole.splitting = true
	frozen, err := p.replace(ctx, s, at, &whole, due)
	if err != nil {
		return err
	}
	if err := p.finishSplit(ctx, s, at.name, node{leaf: frozen}); frozen.lost {
`, `	frozen, _ := *kept, due
	frozen.splitting, frozen.seq = true, at.leaf.seq+1
	if err := p.finishSplit(ctx, s, at.name, node{leaf: &frozen, version: at.version}); err != nil || frozen.lost {
`),
		proof.Wrong("what goes into a leaf that is split counts as done before it is frozen",
			dir+"edit.go", "	return took, p.split(ctx, s, at, next, due)", "	_ = p.split(ctx, s, at, next, due)\n	return took, nil",
		),
		proof.Wrong("a helper adds only the next nodes below",
			dir+"split.go", "			all = append(all, deeper...)", "			_ = deeper",
		),
		proof.Wrong("a closed leaf is filled without being opened",
			dir+"edit.go", "if err := p.open(ctx, s, at); err != nil {", "if err := error(nil); err != nil {",
		),
		proof.Wrong("opening leaves the sequence of an open slot as it is",
			dir+"open.go", "case now.seq < want.seq:", "case !now.closed:\n		case now.seq < want.seq:",
		),
		proof.Wrong("the way is opened from the leaf up",
			dir+"open.go", "	for i, above := range way[:len(way)-1] {", "	for i := len(way) - 2; i >= 0; i-- {\n		above := way[i]",
		),
		proof.Wrong("a router's sequence begins again",
			dir+"split.go", "lost, seq: frozen.seq + 1,", "lost, seq: 1,",
		),
		proof.Wrong("a report counts whatever its sequence",
			dir+"report.go", "of.slot.seq > at.seq {", "of.slot != *at {",
		),
		proof.Wrong("a router that closes is reported before it is written",
			dir+"report.go", "if t.up && !t.next.closed {", "if t.up {",
		),
		proof.Wrong("what was told and not written is forgotten",
			dir+"report.go", "owed[of.name] = true", "delete(owed, of.name)",
		),
		proof.Wrong("an entry counts before its record says so",
			dir+"insert.go", "e.put = &entry{to.Score, to.Ver, id, true, to.End}", "e.put = &entry{to.Score, to.Ver, id, false, to.End}",
		),
		proof.Wrong("an entry with the same score is taken over",
			dir+"leaf.go", `		if l.entries[i].ver == put.ver {
			return l
		}
`, `		next := *l
		next.entries = slices.Clone(l.entries)
		next.entries[i].ver = put.ver
		return &next
`),
		proof.Wrong("an entry keeps its version when it gets another end",
			dir+"leaf.go", "				e.ver, e.end = now.Ver, now.End\n", "				e.end = now.End\n",
		),
		proof.Wrong("repair confirms what it puts in",
			dir+"insert.go", "	now, err := p.truth.States(ctx, s, in)", "	now, err := states, error(nil)",
		),
		proof.Wrong("a write includes what another operation has read long ago",
			dir+"queue.go", "return w == first || late(w)", "return w == first",
		),
		proof.Wrong("works side by side pause one after another",
			dir+"nodes.go", "if !kv.Pause(ctx, s, d) {", "if !kv.Sleep(ctx, d) {",
		),
		proof.Wrong("a lost root is replaced and not counted",
			dir+"meta.go", "idle, 0, m.lost+1", "idle, 0, m.lost",
		),
		proof.Wrong("a lost node is made again before its loss is counted",
			dir+"find.go", "if p.heals == nil || p.heals.name != name {", "if false {",
		),
		proof.Wrong("a query answers although a loss is counted",
			dir+"query.go", "case ep.lost:", "case false:",
		),
		proof.Wrong("a node that was made again is believed by an old definition",
			dir+"query.go", `if r.lost == "" && !r.again {`, `if r.lost == "" {`,
		),
		proof.Wrong("the routers above a lost node are not marked",
			dir+"find.go", "	next.lost = true\n", "",
		),
		proof.Wrong("a split forgets that a leaf was lost",
			dir+"split.go", "router{lost: frozen.lost, seq:", "router{seq:",
		),
		proof.Wrong("a node that is missing counts as empty",
			dir+"reading.go", "		r.lost = r.key(name)\n", "",
		),
		proof.Wrong("a lost definition makes way for a new one",
			dir+"loss.go", "	if broken == 0 && !t.missing() {\n", "	if true {\n",
			dir+"meta.go", "	if t.missing() {\n		m.lost = 1", "	if false {\n		m.lost = 1",
		),
		proof.Wrong("after a rebuild the copy of the definition leads to the old nodes",
			dir+"rebuild.go", "	if err := t.putEdge(ctx, l.s, edge{}, m); err != nil {", "	if err := error(nil); err != nil {",
		),
		proof.Wrong("a rebuild without all members makes up for a loss",
			dir+"rebuild.go", "	if all {\n		next.lost = 0", "	if true {\n		next.lost = 0",
		),
		proof.Wrong("a rebuild overlooks that something is missing",
			dir+"rebuild.go", "		next.lost++\n", "		next.lost = m.lost\n",
		),
		proof.Wrong("a lost router below one that is remembered is waited for",
			dir+"open.go", "				return cmp.Or(p.remake(ctx, s, names[i], above), errAgain)", "				return cmp.Or(error(nil), errAgain)",
		),
		proof.Wrong("a pending entry hides the one that is true",
			dir+"walk.go", "	if r.trusting {\n", "	if true {\n",
		),
	})
}
