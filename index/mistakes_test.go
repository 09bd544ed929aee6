package index_test

import (
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
)

// Each mistake makes a number of a list wrong.
func TestSweep_NoticesEveryMistakeWithNumbers(t *testing.T) {
	const (
		truth    = "index/truth.go"
		lists    = "index/lists.go"
		expected = "index/internal/memberlog/expected.go"
		page     = "index/page.go"
		fold     = "index/internal/memberlog/fold.go"
		commit   = "kvmodel/write_commit.go"
		plan     = "kvmodel/write_plan.go"
		prepare  = "kvmodel/write_prepare.go"
		rebuild  = "kvmodel/rebuild.go"
	)
	proof.Mistakes(t, "./index", "TestList_(A|Has|Size)|TestLists_Rebuild|TestRecords_TheLine|TestSweep_(AfterACrash|WhereTrips|AProcess)", []string{"RINGTREE_SEEDS=500"}, []proof.Mistake{
		proof.Wrong("a fold writes what no record confirms",
			fold, "return l.Confirm != nil && r.late && r.member(now)", "return false && r.late && r.member(now)",
		),
		proof.Wrong("a fold takes a pending entry for a dead one",
			truth, "case rec.Rev < entries[i].Rev: // The change may yet commit.", "case rec.Rev < entries[i].Rev:\n			says[i] = l.out(rec.ID, entries[i].Rev)",
		),
		proof.Wrong("a fold drops what a record contradicts",
			fold, "			row.Entry = e\n", "			if row.Entry = e; !e.In {\n				continue\n			}\n",
		),
		proof.Wrong("what is long pending is never looked at again",
			fold, "		l.Overdue(place, e)", "		_ = e",
		),
		proof.Wrong("what is long pending is not fenced",
			truth, "e.ID, place, e.Rev)", "e.ID, place, 0)",
		),
		proof.Wrong("a page takes nothing for old",
			page, "	case m.Rev > rec.Rev && p.hasEnded(m, rec):", "	case m.Rev > rec.Rev && p.hasEnded(m, rec) && p.logs == nil:",
		),
		proof.Wrong("a rebuild only adds",
			truth, "slices.Chunk(left(entered, from, mending), mendAtOnce) {", "slices.Chunk(left(entered[:0], from, mending), mendAtOnce) {",
		),
		proof.Wrong("a rebuild does not outdo a removal of the same rev",
			truth, "			past++ // An entry with the rev of e would not count.\n", "			past += 0\n",
			"kvmodel/repair.go", "if m.ends && past > 0 {", "if m.ends && past < 0 {", // These records expire.
		),
		proof.Wrong("a rebuild passes over deleted records",
			rebuild, "		return nil, m.repair(ctx, s, rec.ID, 0, nil, false)", "		return nil, nil",
		),
		proof.Wrong("Size does not subtract",
			commit, "	c.committed(p)\n", "	_ = c.committed\n",
		),
		proof.Wrong("Size subtracts what has entered again",
			expected, "found && own[i].counts(&rows[at].Entry)", "found",
		),
		proof.Wrong("Size subtracts only until the removal was tried",
			lists, "	if err == nil {\n		l.logs.Written(place, e)", "	if true {\n		l.logs.Written(place, e)",
		),
		proof.Wrong("Size counts what was entered only once it surely stands",
			lists, "		if !a.tickets[i].Settled() {", "		if i < 0 {",
		),
		proof.Wrong("a change does not outdo what an earlier one has left",
			plan, "max(rec.Rev, c.maxRev, c.uncleaned.past(c.id)) + 1", "max(rec.Rev, c.maxRev) + 1",
		),
		proof.Wrong("a try does not outdo the one before",
			plan, "max(rec.Rev, c.maxRev, c.uncleaned.past(c.id)) + 1", "max(rec.Rev, c.uncleaned.past(c.id)) + 1",
		),
		proof.Wrong("a deletion's line goes out after the record",
			commit, "	record := len(works)\n	works = append(works, func(s kv.Store) error { return c.write(s, p) })\n", "	works = append([]func(kv.Store) error{func(s kv.Store) error { return c.write(s, p) }}, works...)\n	record := 0\n",
		),
		proof.Wrong("the line is not the first op of its trip",
			prepare, "works = append(works, c.each(p, plug.Index.Prepare)...)", "works = append(c.each(p, plug.Index.Prepare), works...)",
		),
	})
}

// Each mistake lets a claim end before its record, or outlive it.
func TestMistakes_WithTheEndsOfEntriesAreNoticed(t *testing.T) {
	const claim, unique, plan, ends = "index/claim.go", "index/unique.go", "kvmodel/write_plan.go", "kvmodel/write_ends.go"
	proof.Mistakes(t, "./index", "TestUnique_(AC|AR|Repair)|TestList_A(Change|Process)", nil, []proof.Mistake{
		proof.Wrong("a process learns of an end of its own when the list does",
			"index/lists.go", "		l.logs.Expect(place, in(m.ID, m.Rev, m.Ends))\n", "		_ = place\n",
		),
		proof.Wrong("an entry ends sooner before the commit",
			ends, "	return sooner || was", "	return !sooner && was",
		),
		proof.Wrong("A1 shortens a claim",
			plan, "	stands := c.stands(p, ttl)\n", "	stands := ttl\n",
		),
		proof.Wrong("repair leaves the end that it finds",
			claim, "	case c.owner != rec.ID || c.base >= rec.Rev:\n", "	case c.owner != rec.ID || c.base >= rec.Rev || holds:\n",
		),
		proof.Wrong("repair shortens a claim that is pending",
			claim, "	case c.owner != rec.ID || c.base >= rec.Rev:\n", "	case c.owner != rec.ID || c.base > rec.Rev:\n",
		),
		proof.Wrong("repair does not make a claim",
			claim, "case c.owner == \"\" && holds:", "case c.owner == \"\" && holds && rec.Rev == 0:",
		),
		proof.Wrong("a claim keeps the end that it has",
			unique, "	places := slices.Concat(m.Renewed, m.Lost)\n", "	places := slices.Clone(m.Lost)\n",
		),
		proof.Wrong("a claim that another try has made never ends sooner",
			unique, "	if m.Stands != m.TTL {\n", "	if m == nil {\n",
		),
		proof.Wrong("another try leaves the claims of the one before",
			ends, "switch tried := c.ends && placesOf(c.touched, c.indexes[i].Name()) != nil; {", "switch tried := i < 0; {",
		),
	})
}

// Each mistake lets damage go unnoticed, or reach further than it must.
func TestMistakes_WithDamagedClaimsAndValuesAreNoticed(t *testing.T) {
	const claim, elements, sequence = "index/claim.go", "index/elements.go", "index/sequence.go"
	proof.Mistakes(t, "./index", "TestClaim_|TestSequence_A|TestUnique_ADamaged", nil, []proof.Mistake{
		proof.Wrong("the bits of a claim are not counted",
			claim, "&& n == baseSize(value[:n], c.owner)", "&& n <= longest",
		),
		proof.Wrong("a damaged claim is anyone's",
			claim, "wire.IsCorrupt(err) && slices.Contains(m.Was, place)", "wire.IsCorrupt(err)",
		),
		proof.Wrong("a damaged claim is no one's, even of a record that holds the value",
			claim, "slices.Contains(m.Was, place)", "len(m.Was) < 0",
		),
		proof.Wrong("the sum of a value is not compared",
			elements, "binary.BigEndian.Uint16(value[randomEnd:]) == sumOf(value)", "len(value[randomEnd:]) > 0",
		),
		proof.Wrong("accepting keeps what is damaged",
			elements, "		} else if _, err := e.decode(r.Value); err != nil {", "		} else if r.Version == 0 {",
		),
		proof.Wrong("damage ends a range",
			sequence, "			if wire.IsCorrupt(err) {\n", "			if err == nil && len(damaged) < 0 {\n",
		),
	})
}

// Each mistake loses records behind the numbers of lost ones, or gives a number twice.
func TestMistakes_WithLostNumbersAreNoticed(t *testing.T) {
	const row, enumerate = "internal/numbering/lost.go", "kvmodel/enumerate.go"
	proof.Mistakes(t, "./index", "BehindGaps", nil, []proof.Mistake{
		proof.Wrong("a rebuild ends at a gap",
			enumerate, "m.numbers.Left(", "m.numbers.Last(",
		),
		proof.Wrong("a rebuild leaves the gaps",
			"kvmodel/build_enter.go", "	if b.numbers != nil {\n		if err := b.fillGaps", "	if false {\n		if err := b.fillGaps",
		),
		proof.Wrong("Accept leaves the hint of a number that is gone",
			enumerate, "m.acceptNumbers(ctx)", "error(nil)",
		),
		proof.Wrong("Accept ends at a gap",
			row, "r.Left(ctx, s)", "r.Last(ctx, s)",
		),
		proof.Wrong("Accept forgets what the process knows",
			row, "max(named, r.hint.Swap(0))", "max(named, 0*r.hint.Swap(0))",
		),
		proof.Wrong("Accept forgets what a key names",
			row, "max(named, r.hint.Swap(0))", "max(0, r.hint.Swap(0))",
		),
	})
}

// Each mistake leaves a child of a deleted record, or deletes one of another record.
func TestSweep_NoticesEveryMistakeWithChildren(t *testing.T) {
	const children, repair = "kvmodel/children.go", "kvmodel/internal/repair/repair.go"
	proof.Mistakes(t, "./index", "TestRecords_Delete_|TestSweep_Children", []string{"RINGTREE_SEEDS=2000"}, []proof.Mistake{
		proof.Wrong("the lists are read once only",
			children, "case err == nil && m.db.atomic == nil && m.db.now().Sub(at) < childrenSettle:", "case false:",
		),
		proof.Wrong("a deletion that was not answered leaves the children",
			"kvmodel/write_cleanup.go", "c.follow(ctx, since, c.creates)", "c.Changed(ctx, c.db.now().Sub(since), c.id, c.creates)",
		),
		proof.Wrong("a repair leaves the children",
			repair, "			errs = append(errs, guard(l, func() error { return m.DeleteChildren(ctx, l.ID) }))\n", "			_ = m\n",
		),
		proof.Wrong("a fence counts as a deletion",
			children, "if rec.Envelope.Live() || n <= 0 {", "if rec.Envelope.Live() || n < 0 {",
		),
		proof.Wrong("the children of a record that was made again go",
			children, "if rec.Envelope.Live() || n <= 0 {", "if n < 0 {",
		),
		proof.Wrong("a record that has moved to another list goes",
			children, "slices.Contains(m.index(index).Places(rec.Value), o.place)", "(slices.Contains(m.index(index).Places(rec.Value), o.place) || len(o.place) > 0)",
		),
	})
}
