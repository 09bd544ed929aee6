package boot

import (
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
)

func TestMistakes_OfTheWitnessesAreNoticed(t *testing.T) {
	const judge = "internal/boot/judge.go"
	proof.Mistakes(t, "./internal/boot", "TestModels", []string{"RINGTREE_BOOT=wide"}, []proof.Mistake{
		proof.Wrong("an item counts before all servers have one",
			judge, "s.Item.Level >= complete && s.Item.Table", "s.Item.Table",
		),
		proof.Wrong("a server without an item is a new one",
			judge, "		return \"it was restarted or flushed, or it evicts items\"\n", "		return \"\"\n",
			judge, "	low := confirmed\n", "	if more := begin(names, seen, number); len(more) > 0 {\n		return more, nil\n	}\n	low := confirmed\n",
		),
		proof.Wrong("Accept puts its table in the place of the old one",
			judge, "		it.Next = next\n		ops = append(ops, s.write(it))", "		it.Table, it.Number = next, 77\n		ops = append(ops, s.write(it))",
		),
		proof.Wrong("items are read once",
			judge, "	case !same(last, seen):\n		return v, again, nil, nil\n", "	case last == nil && false:\n		return v, again, nil, nil\n",
		),
		proof.Wrong("use begins when one server has confirmed",
			judge, "		return s.Err == nil && (s.Item.Level != confirmed || s.Item.Table != v.table)", "		return v.table.Edition == 0 || s.Err == nil && s.Version == 0",
		),
		proof.Wrong("one round of confirming",
			judge, "			it.Level = low + 1\n", "			it.Level = confirmed\n",
		),
		proof.Wrong("an item that came late is taken for the server's own",
			judge, "	case used && it.Level == added:\n", "	case used && it.Level < added:\n",
		),
	})
}
