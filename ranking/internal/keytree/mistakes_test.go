package keytree

import (
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
)

// Each mistake is one that the design is built around.
func TestSweep_NoticesEveryMistakeOfTheDesign(t *testing.T) {
	const dir = "ranking/internal/keytree/"
	proof.Mistakes(t, "./ranking/internal/keytree", "TestSweep_After|TestReport_After", []string{"RINGTREE_SEEDS=1000"}, []proof.Mistake{
		proof.Wrong("the record is written before the entry",
			dir+"set.go", `	if in {
		if err := m.insert(ctx, s, m.due, m.id, m.old.State, score, m.new.Ver); err != nil {
			return err
		}
	}
	leaves, err := m.commit(ctx, s)
	if err != nil {
		return m.lost(ctx, s, err)
	}
`, `	leaves, err := m.commit(ctx, s)
	if err != nil {
		return m.lost(ctx, s, err)
	}
	if in {
		if err := m.insert(ctx, s, m.due, m.id, m.old.State, score, m.new.Ver); err != nil {
			return err
		}
	}
`),
		proof.Wrong("an entry is removed whatever its version",
			dir+"truth.go", "return e.ver <= st.Ver && !st.confirms(e)", "return !st.confirms(e)",
		),
		proof.Wrong("the old entry goes in the write that puts in the new one",
			dir+"insert.go", "id: id, known: known, put: &entry{score, ver, id}}", "id: id, known: State{Ver: ver}, put: &entry{score, ver, id}}",
		),
		proof.Wrong("a leaf is split without being frozen",
			dir+"split.go", "	if err := p.write(ctx, s, at.name, at.node, frozen.encode()); err != nil {\n		return err\n	}\n	return p.finishSplit(ctx, s, at.name, node{leaf: &frozen})",
			"	return p.finishSplit(ctx, s, at.name, node{leaf: &frozen, version: at.version})",
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
			dir+"split.go", "r := &router{seq: frozen.seq + 1,", "r := &router{seq: 1,",
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
		proof.Wrong("a pending entry hides the one that is true",
			dir+"walk.go", "	if r.trusting {\n", "	if true {\n",
		),
	})
}
