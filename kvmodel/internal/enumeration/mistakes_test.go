package enumeration

import (
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
)

// Each mistake is one that the protocol of the enumeration was designed around.
func TestMistakes_OfTheEnumerationAreNoticed(t *testing.T) {
	const dir = "kvmodel/internal/enumeration/"
	const head, add, walk, compact = dir + "head.go", dir + "add.go", dir + "walk.go", dir + "compact.go"
	proof.Mistakes(t, "./kvmodel/internal/enumeration", "TestSweep_|TestLeave_|TestFrom_|TestDamage_", []string{"RINGTREE_SEEDS=6000"}, []proof.Mistake{
		proof.Wrong("a walk ends at what is absent",
			walk, "			return p.e.chunkLost(p.hole, p.ids/max(p.chunks, 1))", "			return nil",
		),
		proof.Wrong("what comes after a lost chunk counts as reached",
			dir+"from.go", "	if p.hole > 0 {", "	if p.hole < 0 {",
		),
		proof.Wrong("a walk goes on at the lost chunk and not before it",
			dir+"from.go", "max(p.hole-1, 1)", "p.hole",
		),
		proof.Wrong("chunks have no nonces",
			walk, "n == h.high && c.nonce != h.nonce", "n == h.high && c.nonce == 1",
			walk, "	return first || h.isLost(n-1) || before.damaged != nil || c.follows(before)", "	return true",
		),
		proof.Wrong("who loses the race for the head is in",
			add, "		return false, nil\n	}\n	return mine && err == nil, err", "		return mine, nil\n	}\n	return mine && err == nil, err",
		),
		proof.Wrong("ids are appended to a chunk that no head names",
			add, "	h, err := e.mustLook(ctx, s)\n	g := e.known()", "	h, err := e.mustLook(ctx, s)\n	if c, absent := e.readOne(ctx, s, h.high+1); absent == nil && c.exists() {\n		h.high++\n	}\n	g := e.known()",
		),
		proof.Wrong("who finds no head makes one",
			head, "	if err == nil && !h.Exists() {\n		err = e.headLost()", "	if err == nil && !h.Exists() {\n		_ = e.Begin(ctx, s, \"again\")\n		h, err = e.look(ctx, s)",
		),
		proof.Wrong("ids count as in before the head is raised",
			add, "	to := h\n	to.high, to.nonce, to.moves = n, c.nonce, h.moves+moves", "	if mine && moves == 0 {\n		return true, nil\n	}\n	to := h\n	to.high, to.nonce, to.moves = n, c.nonce, h.moves+moves",
		),
		proof.Wrong("ids move and the head does not say so",
			compact, "c.e.extend(ctx, c.s, h, moves, 1)", "c.e.extend(ctx, c.s, h, moves, 0)",
		),
		proof.Wrong("a chunk leaves while there may be writes for it",
			compact, "e.now().Sub(chunks[2].made) < stays", "e.now().Sub(chunks[2].made) < -stays",
		),
		proof.Wrong("a wrong bit among ids is not noticed",
			dir+"chunk.go", "; now != sum {", "; now == sum+1 {",
		),
		proof.Wrong("who adds what is missing does not look",
			dir+"missing.go", "return listed[id] })", "return listed[id] && h.high == 0 })",
		),
		proof.Wrong("who adds what is missing does not notice another who does",
			dir+"missing.go", "kv.OpSwap(e.key(h.high), last.version, append(last.encode(), grouped(ids)...))", "kv.OpAppend(e.key(h.high), grouped(ids))",
		),
		proof.Wrong("a chunk that shows a loss is taken away",
			compact, "	gone := n\n", "	gone := n\n	if c.exists() && next.exists() {\n		return nil\n	}\n",
		),
	})
}
