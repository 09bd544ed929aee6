package index_test

import (
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
)

// The protocol of a total is that of derived counts. Each of these is a mistake in what it
// has of its own.
func TestMistakes_OfTotalsAreNoticed(t *testing.T) {
	const total, truth, derived = "index/total.go", "index/truth.go", "index/derived.go"
	const rebuild = "kvmodel/rebuild.go"
	proof.Mistakes(t, "./index", "TestTotal_|TestSweep_ATotal", []string{"RINGTREE_SEEDS=300"}, []proof.Mistake{
		proof.Wrong("it is read before it is built",
			total, "	if err := t.lists.host.Ready(ctx); err != nil {", "	if err := ctx.Err(); err != nil {",
		),
		proof.Wrong("it can be read before all is counted",
			rebuild, "!fits || errors.Is(err, plug.ErrUnfit) || err", "!fits || err",
		),
		proof.Wrong("a rebuild gives it no time",
			derived, "firstRounds = 20", "firstRounds = 1",
		),
		proof.Wrong("a rebuild leaves out what has no records",
			truth, "	l.met.Note(l.total)\n", "",
		),
		proof.Wrong("a number that was dropped is 0",
			total, "n + lost, err", "n + 0*lost, err",
		),
		proof.Wrong("a number that was dropped stays away",
			total, "t.lists.host.DB().Writable() == nil", "false",
		),
		proof.Wrong("a reader that must not write is to count",
			total, "t.lists.host.DB().Writable() == nil", "true",
		),
		proof.Wrong("a list that has begun since is not looked at",
			total, "bare&(listed|more)", "bare&(listed&0|more)",
		),
		proof.Wrong("nothing is remembered of the shards without a number",
			total, "	t.bare.Store(uint64(bare))\n", "",
		),
		proof.Wrong("the shards are others",
			total, ".Hash % shards)", ".Hash >> 58 % shards)",
		),
		proof.Wrong("all records are in one shard",
			total, ".Hash % shards)", ".Hash % 1)",
		),
		proof.Wrong("it is read past what others read",
			total, "kv.Near(t.lists.host.Store())", "t.lists.host.Store()",
		),
	})
}
