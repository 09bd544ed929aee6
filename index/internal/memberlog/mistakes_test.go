package memberlog

import (
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
)

// Each mistake is one that the protocol was designed around.
func TestSweep_NoticesEveryMistakeOfTheProtocol(t *testing.T) {
	const (
		dir   = "index/internal/memberlog/"
		entry = dir + "entry.go"
		seg   = dir + "segment.go"
		logs  = dir + "logs.go"
		write = dir + "write.go"
		roll  = dir + "roll.go"
		fold  = dir + "fold.go"
		read  = dir + "read.go"
		loss  = dir + "loss.go"
		tend  = dir + "tend.go"
	)
	proof.Mistakes(t, "./index/internal/memberlog", "TestSweep_Nothing|TestLogs_AHeadThatIsLost", []string{"RINGTREE_SEEDS=6000"}, []proof.Mistake{
		proof.Wrong("a head that is remembered is not asked for again",
			logs, "return l.Now().UnixNano()-h.looked.Load() > int64(headAge)", "return false",
		),
		proof.Wrong("of two entries with one rev the addition counts",
			entry, "return !e.In", "return e.In",
		),
		proof.Wrong("the entry that arrives last counts",
			entry, "return e.Rev > than.Rev", "return true",
		),
		proof.Wrong("what was read from a segment without a seal is published",
			roll, "r.announce, r.seal, r.read", "r.announce, r.read",
			roll, "case !g.sealed:", "case false:",
		),
		proof.Wrong("a writer does not verify",
			write, "return Ticket{n, w.unless(), false}, nil\n	case errors.Is(err, kv.ErrUnclear)", "return Ticket{n, true, false}, nil\n	case errors.Is(err, kv.ErrUnclear)",
		),
		proof.Wrong("a process that is about to seal does not say so in the head",
			roll, "err != nil || kv.PowersOf(r.s).Unless {", "err != nil || true {",
		),
		proof.Wrong("a writer ignores that a process is about to seal",
			write, "if p.name != n || !p.rolling {", "if true {",
		),
		proof.Wrong("a writer takes a sealed segment for an open one",
			write, "return Ticket{}, w.follow(n)", "return Ticket{n, true, false}, nil",
		),
		proof.Wrong("what stands after a seal counts",
			seg, "			g.sealed = true\n			return nil\n", "			g.sealed = true\n			p.at++\n			continue\n",
		),
		proof.Wrong("names are used again",
			roll, "r.parts[at].name = r.newName()", "r.parts[at].name = r.names[0]\n			r.parts[at].name[15] += byte(1 + at)",
			roll, "			case err == nil:\n			case unclear(err), errors.Is(err, kv.ErrExists):\n				again", "			case err == nil, errors.Is(err, kv.ErrExists):\n			case unclear(err):\n				again",
		),
		proof.Wrong("the first segment is deleted",
			roll, "		if n == (name{}) {\n			ops[i] = kv.OpSet", "		if false {\n			ops[i] = kv.OpSet",
		),
		proof.Wrong("folding drops removals",
			fold, "if !row.forgettable(now, l.Limits.Grace) {", "if row.In || now < 0 {",
		),
		proof.Wrong("what a record says of one entry is taken for all of its member",
			fold, "		if e, ok := sure[row.Entry]; ok {", "		e, ok := sure[row.Entry]\n		for of, says := range sure {\n			if of.ID == row.ID {\n				e, ok = says, true\n			}\n		}\n		if ok {",
		),
		proof.Wrong("an entry that is not certain is dropped",
			fold, "			needed = append(needed, row)\n			continue\n", "			continue\n",
		),
		proof.Wrong("a new segment is removed while a request to publish it is under way",
			roll, "if !inFlight {", "if true {",
		),
		proof.Wrong("the loser of a race removes its new segment without reading the head",
			roll, "if !unsettled(err) {\n			if !inFlight {", "if !unclear(err) {\n			if true {",
		),
		proof.Wrong("a new segment whose publication is unclear is removed",
			roll, "if !unsettled(err) {\n			if !inFlight {", "if !kv.Raced(err) {\n			if true {",
		),
		proof.Wrong("the head is set, not swapped",
			logs, "kv.OpReplace(l.Key(place), h.version, h.encode())", "kv.OpSet(l.Key(place), h.encode())",
		),
		proof.Wrong("a fold in place is set, not swapped",
			tend, "kv.OpSwap(get.Key, get.Result.Version, encodeSegment(rows))", "kv.OpSet(get.Key, encodeSegment(rows))",
		),
		proof.Wrong("a sealed segment is folded in place",
			tend, "case g.sealed, p.rolling,", "case p.rolling,",
		),
		proof.Wrong("a reader does not read the head again after a seal",
			read, "		if now.indexOf(n) < 0 {\n			return now, nil, nil\n		}\n", "		if absent(&ops[i]) && now.indexOf(n) < 0 {\n			return now, nil, nil\n		}\n",
		),
		proof.Wrong("a segment that was replaced is taken for lost",
			loss, "	if at < 0 {\n		return nil\n	}\n	ops", "	at = max(at, 0)\n	ops",
		),
	})
}
