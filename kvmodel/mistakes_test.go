package kvmodel_test

import (
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
)

// Each mistake is one that the write path was designed around.
func TestSweep_NoticesEveryMistakeOfTheWritePath(t *testing.T) {
	const write, prepare, commit = "kvmodel/write.go", "kvmodel/write_prepare.go", "kvmodel/write_commit.go"
	const repair, journals = "kvmodel/repair.go", "kvmodel/internal/repair/repair.go"
	const journal = "kvmodel/internal/journal/journal.go"
	const unique, claim = "index/unique.go", "index/claim.go"
	proof.Mistakes(t, "./kvmodel", "TestClaim|TestRepair|TestSweep_(After|ARecord|ACut)", []string{"RINGTREE_SEEDS=6000"}, []proof.Mistake{
		proof.Wrong("the record is written beside its claim",
			prepare, "	works = append(works, c.each(p, plug.Index.Prepare)...)\n", "	_ = plug.Index.Prepare\n",
			commit, "c.each(p, plug.Index.Beside)...)\n	if c.removes && c.history", "c.each(p, plug.Index.Prepare)...)\n	if c.removes && c.history",
		),
		proof.Wrong("repair does not fence",
			repair, "if err != nil || rec.Rev >= past {", "if true {",
		),
		proof.Wrong("a fence does not reach past the entry",
			"kvmodel/model_store.go", "env.Rev = max(rec.Rev+1, past)", "env.Rev = rec.Rev + 1",
			repair, "if err != nil || rec.Rev >= past {", "if err != nil || rec.Version != 0 && rec.Envelope.Tries == nil {",
		),
		proof.Wrong("a loser cleans without reading",
			"kvmodel/write_cleanup.go", "c.repair(ctx, c.db.store, c.id, c.maxRev, c.touched, false)", "c.repairUnread(ctx)",
			write, "// complete is A5.", `func (c *change) repairUnread(ctx context.Context) error {
	for _, t := range c.touched {
		index := c.index(t.Index)
		if err := index.Repair(ctx, c.db.store, &plug.Seen{ID: c.id, Rev: c.maxRev}, t.Places); err != nil {
			return err
		}
	}
	return nil
}

// complete is A5.`,
		),
		proof.Wrong("the line is complete before the old entries are gone",
			commit, "	errs := kv.Together(c.ctx, c.s, works...)\n	if errs[record] != nil {", "	errs := kv.Together(c.ctx, c.s, works...)\n	c.complete()\n	if errs[record] != nil {",
		),
		proof.Wrong("the line goes out with the record",
			prepare, "	return []func(kv.Store) error{func(s kv.Store) error { return c.note(s, c.lineOf(p)) }}, nil", "	return nil, nil",
			commit, "	if c.notesBeside(p) {", "	if len(c.lines) == 0 && c.needsLine(p) {",
		),
		proof.Wrong("a second try has no line of its own",
			write, "func (c *change) note(s kv.Store, l journal.Line) error {\n", "func (c *change) note(s kv.Store, l journal.Line) error {\n	if len(c.lines) > 0 {\n		return nil\n	}\n",
		),
		proof.Wrong("the old entries go first",
			commit, "	c.setMarks(p)\n	c.unnoted", "	if err := c.removeOldest(p); err != nil {\n		return err\n	}\n	c.setMarks(p)\n	c.unnoted",
			write, "// complete is A5.", `func (c *change) removeOldest(p *plan) error {
	for i, index := range c.indexes {
		if mv := p.moves[i]; mv != nil {
			if err := index.Repair(c.ctx, c.s, &plug.Seen{ID: c.id, Rev: p.env.Rev}, mv.Lost); err != nil {
				return err
			}
		}
	}
	return nil
}

// complete is A5.`,
		),
		proof.Wrong("what moved on is taken for failed",
			commit, "	case did:\n		return nil\n	case now.Version == p.rec.Version:", "	case now.Version != p.rec.Version:\n		return errLost\n	case did:\n		return nil\n	case now.Version == p.rec.Version:",
		),
		proof.Wrong("a segment is removed before its ids are archived",
			journal, "	if err := j.Archive(ctx, seg.created); err != nil {\n		return err\n	}\n", "",
			journal, "	j.segments = slices.DeleteFunc(j.segments, func(s *Segment) bool { return s == seg })\n	return nil", "	j.segments = slices.DeleteFunc(j.segments, func(s *Segment) bool { return s == seg })\n	go j.Archive(ctx, seg.created)\n	return nil",
		),
		proof.Wrong("a journal is removed before it is repaired",
			journals, "	if err := r.once(ctx, j, mended, all, r.repairLines); err != nil {\n", "	if err := j.Remove(ctx, r.Store); err != nil {\n		return err\n	}\n	j.Lines = j.Lines[len(j.Lines)/2:]\n	if err := r.once(ctx, j, mended, all, r.repairLines); err != nil {\n",
		),
		proof.Wrong("there is no second pass",
			journals, "	if err := r.once(ctx, j, mendedAgain, extent{j.Bytes, r.Known()}, r.repairLines); err != nil {\n		return false, err\n	}\n", "",
		),
		proof.Wrong("a reader does not check",
			unique, "if err != nil || !recs[0].Holds(f.place) {", "if err != nil || recs[0].Value == nil {",
		),
		proof.Wrong("release deletes whatever is there",
			claim, "kv.OpDrop(u.key(place), c.version)", "kv.OpDelete(u.key(place))",
		),
		proof.Wrong("release stops only at the same rev",
			claim, "c.base >= rec.Rev", "c.base == rec.Rev",
		),
		proof.Wrong("a pending claim is taken over without a fence",
			claim, "	if owner.Rev != c.base {\n", "	if true {\n",
		),
		proof.Wrong("one's own claim is not refreshed",
			claim, "			return false, kv.ErrConflict\n		}\n		return u.replace(ctx, s, m, place, c)", "			return false, kv.ErrConflict\n		}\n		return true, nil",
		),
		proof.Wrong("a claim's base is lowered",
			claim, "		if c.base > m.Base {", "		if false {",
		),
		proof.Wrong("what is read of a model that begins is a loss",
			"kvmodel/internal/built/birth.go", "	if err == nil && v.lost(b.Model) != nil {\n", "	if false {\n",
			"kvmodel/internal/built/birth.go", "			err = v.lost(b.Model)\n		}\n	}\n	return v, err", "		}\n	}\n	if err == nil {\n		err = v.lost(b.Model)\n	}\n	return v, err",
		),
		proof.Wrong("of two entries with one rev the addition counts",
			"kvmodel/sweep_test.go", "rev == old && line[0] == '-'", "rev == old && line[0] == '+'",
		),
	})
}

// Each mistake is one that leaves a record without an entry before its end, or with one
// after it.
func TestMistakes_OfEndsAreNoticed(t *testing.T) {
	const ends, commit, plan = "kvmodel/write_ends.go", "kvmodel/write_commit.go", "kvmodel/write_plan.go"
	const exact, counted = "ranking/exact.go", "ranking/counted.go"
	proof.Mistakes(t, "./kvmodel", "TestTouch_|TestSweep_ALease", []string{"RINGTREE_SEEDS=300"}, []proof.Mistake{
		proof.Wrong("there is no line",
			commit, "	if c.notesBeside(p) {", "	if c.removes && c.notesBeside(p) {",
		),
		proof.Wrong("the line goes out with the record where they have no order",
			commit, "	return c.db.ordered && !p.created", "	return !p.created",
		),
		proof.Wrong("the line goes out after the record",
			commit, "	record := len(works)\n	works = append(works, func(s kv.Store) error { return c.write(s, p) })\n", "	const record = 0\n	works = append([]func(kv.Store) error{func(s kv.Store) error { return c.write(s, p) }}, works...)\n",
		),
		proof.Wrong("entries that soon end wait for the commit",
			ends, "	return sooner || was.Sub(c.db.now()) > renewedIn\n", "	return sooner || was.Sub(c.db.now()) > renewedIn/3\n",
		),
		proof.Wrong("what has ended is not made again",
			commit, "	if p.unsettled || len(p.removals) > 0 && p.isOverdue(c.db.now().Sub(since)) {\n", "	if p.unsettled {\n",
		),
		proof.Wrong("the record is written again without a line",
			commit, "			c.unnoted = err != nil\n", "",
		),
		proof.Wrong("a list keeps the old end",
			"index/lists.go", "	places := slices.Concat(m.Lost, m.Renewed)\n", "	places := slices.Clone(m.Lost)\n",
		),
		proof.Wrong("a claim keeps the old end",
			"index/unique.go", "	places := slices.Concat(m.Renewed, m.Lost)\n", "	places := slices.Clone(m.Lost)\n",
		),
		proof.Wrong("a board keeps the old end",
			exact, "		return slices.Concat(m.Lost, m.Renewed)\n", "		return m.Lost\n",
			exact, "	return slices.Concat(m.Lost, m.Renewed, m.Gained)\n", "	return slices.Concat(m.Lost, m.Gained)\n",
		),
		proof.Wrong("a board by a counter keeps the old end",
			counted, "slices.Concat(m.Lost, m.Renewed, m.Gained), m.ID", "slices.Concat(m.Lost, m.Gained), m.ID",
		),
		proof.Wrong("an end that comes late counts",
			"ranking/internal/keytree/leaf.go", "				e.ver, e.end = now.Ver, now.End\n", "				e.end = now.End\n",
		),
		proof.Wrong("a touch is a new version",
			plan, "	if !c.touches {\n		set(", "	if c != nil {\n		set(",
		),
	})
}

// Each mistake is one that the protocol of plain counters was designed around.
func TestMistakes_OfCountersAreNoticed(t *testing.T) {
	const counters, prepare = "kvmodel/counters.go", "kvmodel/write_prepare.go"
	proof.Mistakes(t, "./kvmodel", "TestCounter_|TestSweep_ACounter", []string{"RINGTREE_SEEDS=300"}, []proof.Mistake{
		proof.Wrong("a counter begins at 0 and is then added to",
			"kvmodel/kv/op.go", "		first := max(0, delta)", "		first := int64(0)",
			"kvmodel/kv/op.go", "		if !errors.Is(err, ErrExists) {", "		if err != nil && !errors.Is(err, ErrExists) {",
		),
		proof.Wrong("the deleter drops what it reads after its commit",
			counters, "ops = append(ops, kv.OpDrop(c.key(id), known[i].Version))", "ops = append(ops, kv.OpGet(c.key(id)))",
			counters, "if err != nil || rec.Envelope.Live() {", "if err != nil || rec == nil {",
		),
		proof.Wrong("the guard does not look at the record",
			counters, "if err != nil || rec.Envelope.Live() {", "if err != nil || rec == nil {",
		),
		proof.Wrong("the guard looks at the record before it reads the counter",
			counters, "		drops, err := dropsOf(ctx, s, keys)\n", "		rec, err := m.readable(ctx, s, id)\n		if err != nil || rec.Envelope.Live() {\n			return err\n		}\n		drops, err := dropsOf(ctx, s, keys)\n",
			counters, "		rec, err := m.readable(ctx, s, id)\n		if err != nil || rec.Envelope.Live() {\n			return err\n		}\n		if err := s.Do", "		if err := s.Do",
		),
		proof.Wrong("a counter is dropped whatever has been hit since",
			counters, "kv.OpDrop(c.key(id), known[i].Version)", "kv.OpDelete(c.key(id))",
		),
		proof.Wrong("the guard drops whatever has been hit since",
			counters, "kv.OpDrop(keys[i], r.Version)", "kv.OpDelete(keys[i])",
		),
		proof.Wrong("who makes the record again leaves the counter",
			prepare, "if p.created && p.rec.Version != 0 && c.hasPlain() {", "if p.created && p.rec.Version == 1 && c.hasPlain() {",
		),
		proof.Wrong("who makes the record again trusts one trip",
			prepare, "		if !c.anyCounted(rec.Counts) {\n", "		if true {\n",
		),
		proof.Wrong("repair leaves the counter",
			"kvmodel/repair.go", "return m.dropCounters(ctx, s, id, nil) })", "return nil })",
		),
	})
}

// Each mistake is one that the protocol of releases side by side was designed around.
func TestMistakes_OfReleasesSideBySideAreNoticed(t *testing.T) {
	const current, rebuild = "kvmodel/current.go", "kvmodel/rebuild.go"
	const repair, item = "kvmodel/internal/repair/repair.go", "kvmodel/internal/built/built.go"
	proof.Mistakes(t, "./kvmodel", "TestReleases_", nil, []proof.Mistake{
		proof.Wrong("a build is marked whatever the item says",
			item, "			case i < 0, indexes[i].token != \"\" && indexes[i].token != building[def]:\n				stopped = true\n", "			case i < 0:\n				indexes, change = append(indexes, state{def: def}), true\n",
		),
		proof.Wrong("records are not fenced",
			rebuild, "	changed := b.fencing\n", "	changed := false\n",
		),
		proof.Wrong("who has slept does not look again",
			current, "	return claimed && (recent(looked) || recent(ticked) && !looked.Before(since))", "	_, _ = recent(ticked), looked.Before(since)\n	return claimed",
		),
		proof.Wrong("no one waits for the readers",
			item, "	if !kv.Sleep(ctx, b.ripe.Sub(b.Now())) {", "	if ctx.Err() != nil {",
		),
		proof.Wrong("an index leaves in one step",
			item, "				foreign = append(foreign, s)\n				indexes[i].token, change = leaving, change || s.token != leaving", "				if s.token != leaving {\n					foreign = append(foreign, s)\n				}\n				indexes[i].token, change = leaving, change || s.token != leaving",
		),
		proof.Wrong("a reader looks once",
			item, "b.Now().Sub(b.read) < readFor)", "b.Now().Sub(b.read) < 1000*readFor)",
			rebuild, "		if m.built.IsDue() {", "		if false {",
		),
		proof.Wrong("a repair removes lines of indexes it does not know",
			repair, "		if touchesAny(l, names) {", "		if touchesAny(l, nil) {",
		),
	})
}

// Each mistake is one that builds were designed around.
func TestMistakes_OfBuildsAreNoticed(t *testing.T) {
	const rebuild, enter, runs = "kvmodel/rebuild.go", "kvmodel/build_enter.go", "kvmodel/build.go"
	const item, state = "kvmodel/internal/build/build.go", "kvmodel/internal/build/state.go"
	const steps, truth = "kvmodel/build_steps.go", "index/truth.go"
	proof.Mistakes(t, "./kvmodel", "TestBuild_", nil, []proof.Mistake{
		proof.Wrong("a build leaves the claims of records that have moved",
			"index/unique.go", "	return u.settleAll(ctx, s, m.ID, m.Gained)\n", "	return nil\n",
		),
		proof.Wrong("each process begins at the first record",
			state, "	if len(tokens) == 0 || st.Stage", "	if len(tokens) >= 0 || st.Stage",
		),
		proof.Wrong("what was reached counts for any token",
			state, "bool { return !slices.Contains(st.Tokens, token) }", "bool { return token == \"\" }",
		),
		proof.Wrong("a build is taken from an owner that lives",
			item, "	return now.Sub(i.since) >= deadAfter", "	return now.Sub(i.since) >= 0",
		),
		proof.Wrong("no one takes over",
			item, "	return now.Sub(i.since) >= deadAfter", "	return now.Sub(i.since) >= 1000*deadAfter",
		),
		proof.Wrong("on a store held alone the dead are waited for",
			item, "first && i.Alone", "false && first && i.Alone",
		),
		proof.Wrong("more counts as reached than was entered",
			enter, "	b.state.Reached = to\n", "	to.IDs += int64(n)\n	b.state.Reached = to\n",
		),
		proof.Wrong("what was reached is not written down with the records",
			enter, "		return b.lease.Keep(ctx, s, b.state)\n", "		return nil\n",
		),
		proof.Wrong("who waits for another process builds all over",
			rebuild, "		if joined && !after && len(b.missing()) == 0 {", "		if false && joined && !after {",
		),
		proof.Wrong("what others have entered is not finished",
			enter, "	if to == (enumeration.Reached{}) || b", "	if to != (enumeration.Reached{}) || b",
		),
		proof.Wrong("what an index reaches first is not written down at once",
			steps, "	if b.noted[s.name] && ", "	if ",
		),
		proof.Wrong("lists are noted before they are read",
			truth, "		n := loadAtOnce // To find them takes as long.\n", "		if err := steps.Reached(ctx, append([]byte{mending}, batch[len(batch)-1]...), plug.Many); err != nil {\n			return err\n		}\n		n := loadAtOnce\n",
		),
		proof.Wrong("lists are counted from where they were read",
			truth, "len(from) == 0 || from[0] < what || ", "len(from) == 0 || ",
			truth, "	case from[0] > what:\n", "	case from[0] > what && len(places) == 0:\n",
		),
		proof.Wrong("a record in conflict ends the build",
			rebuild, "				taken, moves[i], err = append(taken, other), nil, nil\n", "				taken, moves[i] = append(taken, other), nil\n",
		),
		proof.Wrong("an index with conflicts is marked",
			rebuild, "b.finishIndexes(ctx, b.without(duplicates))", "b.finishIndexes(ctx, b.without(nil))",
		),
		proof.Wrong("the losers are forgotten",
			enter, "	b.state.Losers = append(b.state.Losers, losers...)\n", "	_ = losers\n",
		),
		proof.Wrong("a build that has failed is not tried again",
			runs, "last != nil && m.db.now().Sub(ended) < buildAgain", "last != nil && !ended.IsZero()",
		),
		proof.Wrong("a reader waits longer than it asks",
			runs, "		case <-ctx.Done():\n		}\n	}\n	if host", "		case <-context.WithoutCancel(ctx).Done():\n		}\n	}\n	if host",
		),
	})
}

// Each mistake makes damage reach further, or go unnoticed.
func TestMistakes_OfWhatDamageMayDoAreNoticed(t *testing.T) {
	const repair, birth, line = "kvmodel/internal/repair/repair.go", "kvmodel/internal/built/birth.go", "kvmodel/internal/journal/line.go"
	proof.Mistakes(t, "./kvmodel", "TestDamage_", nil, []proof.Mistake{
		proof.Wrong("lines that are lost leave indexes whole",
			repair, "	if err := r.Lost(ctx, j.Process, models, j.Damaged); err != nil {", "	if err := error(nil); err != nil {",
		),
		proof.Wrong("a damaged journal stays as it is",
			repair, "	return j.Clear(ctx, r.Store)\n", "	return nil\n",
		),
		proof.Wrong("the lines after a damaged one are not read",
			line, "		before, data = data[:size], data[size:]", "		if before, data = data[:size], data[size:]; damaged != nil {\n			break\n		}",
		),
		proof.Wrong("an index is built without the records that a damaged item named",
			"kvmodel/build_enter.go", "	b.unread = damaged\n", "	_ = damaged\n",
		),
		proof.Wrong("a damaged built item names all indexes",
			birth, "v.of, v.indexes, v.rings = wire.Corrupt(builtKey.Key(b.Model), err), \"\", \"\", nil, nil", "v.of, v.indexes, v.rings = wire.Corrupt(builtKey.Key(b.Model), nil), \"\", \"\", allWhole(b.Mine()), nil",
		),
		proof.Wrong("no one makes a damaged head again",
			birth, "		return b.All.Remake(ctx, s, v.head, cmp.Or(v.birth, newBirth()))", "		_ = cmp.Or(v.birth, newBirth())\n		return v.head.Damaged",
		),
		proof.Wrong("a chunk that is damaged is not told",
			"kvmodel/internal/enumeration/walk.go", "		p.damaged, p.damagedAt = cmp.Or(p.damaged, c.damaged), n", "		p.damagedAt = n",
		),
		proof.Wrong("an entry that is damaged ends a rebuild",
			"kvmodel/build_enter.go", "		if wire.IsCorrupt(err) {\n			damaged[recs[i].ID] = err\n		} else if err != nil {", "		if err != nil {",
		),
	})
}

func TestMistakes_OfTheLooksForTheDeadAreNoticed(t *testing.T) {
	const watch, repair, sign = "kvmodel/watch.go", "kvmodel/internal/repair/repair.go", "kvmodel/internal/repair/sign.go"
	proof.Mistakes(t, "./kvmodel", "TestRepair_(OnA|ALine|ALook|AProcess|Changes)|TestSweep_AReader", []string{"RINGTREE_SEEDS=60"}, []proof.Mistake{
		proof.Wrong("only a process that writes looks",
			watch, "	db.watch.once.Do(func() { go db.work.Every(", "	db.watch.once.Do(func() {})\n	_ = (func() { go db.work.Every(",
		),
		proof.Wrong("a process counts as dead one look later",
			sign, "const deadAfter = 29 * time.Second", "const deadAfter = 31 * time.Second",
		),
		proof.Wrong("changes go unheard",
			repair, "err != nil || !r.isHeard(j) {", "err != nil {",
		),
		proof.Wrong("what was done before a model was registered counts for it",
			repair, "all := extent{j.Bytes, r.Known()}", "all := extent{j.Bytes, 0}",
			repair, "err != nil || !known || r.Known() != all.known {", "err != nil || !known {",
		),
		proof.Wrong("who comes later to a store held alone is taken for dead",
			sign, "	s.orphans = false\n", "	_ = s.orphans\n",
		),
		proof.Wrong("one's own journal is taken for one that was there before",
			"kvmodel/internal/journal/journal.go", "return process == j.begun", "return process == j.process",
		),
		proof.Wrong("a store held alone has the patience of others",
			repair, "orphans: c.Alone,", "orphans: false,",
		),
	})
}

// What makes an intent end, whatever dies.
func TestMistakes_OfIntentsAreNoticed(t *testing.T) {
	const intent, turns, repairs = "kvmodel/intent.go", "kvmodel/intent_turn.go", "kvmodel/internal/repair/repair.go"
	proof.Mistakes(t, "./kvmodel", "TestIntent|TestSweep_AnIntent", []string{"RINGTREE_SEEDS=300"}, []proof.Mistake{
		proof.Wrong("nobody carries out what a dead process has left",
			repairs, "is, err := m.Resume(ctx, l)", "is, err := false, error(nil)",
		),
		proof.Wrong("the line is complete before the function has run",
			intent, "	err = i.tries(ctx, args, turn)\n", "	line.done()\n	line.segments = nil\n	err = i.tries(ctx, args, turn)\n",
		),
		proof.Wrong("there is no line",
			intent, "	line, err := i.begin(ctx, text, turn)\n", "	line, err := new(written), turn.try(ctx, i.db.store)\n",
		),
		proof.Wrong("a line that was not written counts as begun",
			intent, "	switch err := errs[0]; {\n", "	switch err := error(nil); {\n	case errs == nil:\n",
		),
		proof.Wrong("what may have begun is forgotten",
			intent, "		i.keep(text, line, err)\n		return nil, err\n", "		line.done()\n		return nil, err\n",
		),
		proof.Wrong("an append that was unclear is denied by the next try",
			"kvmodel/kv/op.go", "		err = Unclear(err)\n", "",
		),
		proof.Wrong("a function that fails denies that the intent has begun",
			intent, "target != ErrUnavailable && ", "",
		),
		proof.Wrong("what has failed is complete",
			intent, "	i.keep(text, line, err)\n	return i.failure(&notEnded{err})", "	line.done()\n	return i.failure(&notEnded{err})",
		),
		proof.Wrong("what was refused is left for others to carry out",
			intent, "	return line.end(ctx)\n", "	line.done()\n	return nil\n",
		),
		proof.Wrong("what was refused in the background is left for others to carry out",
			intent, "			err = i.refuse(ctx, line)\n", "			line.done()\n			err = nil\n",
		),
		proof.Wrong("what has ended is left in a segment that stays",
			"kvmodel/internal/journal/journal.go", "	seg.over = note.encode(seg.over)\n", "",
		),
		proof.Wrong("a journal that stays does not say what has ended when its process closes it",
			"kvmodel/internal/journal/journal.go", "	return j.writeOver(ctx, 0)\n", "	return nil\n",
		),
		proof.Wrong("what has failed is never tried again",
			intent, "		i.again.Set()\n", "",
		),
		proof.Wrong("what fails keeps others from ending",
			repairs, "		}))\n	}\n	return work.FirstError(append(errs, j.End", "		}))\n		if err := work.FirstError(errs...); err != nil {\n			return err\n		}\n	}\n	return work.FirstError(append(errs, j.End",
		),
		proof.Wrong("what has ended is carried out again beside what fails",
			repairs, "j.End(ctx, r.Store, ended)", "j.End(ctx, r.Store, ended[:0])",
		),
		proof.Wrong("a process does not wait for the turn of another one",
			turns, "	case !errors.Is(err, kv.ErrExists):\n		t.mine = err == nil\n		return err\n", "	default:\n		t.mine = true\n		return nil\n",
		),
		proof.Wrong("the last that asks has the turn",
			turns, "kv.OpAdd(t.key", "kv.OpSet(t.key",
		),
		proof.Wrong("the turn of a dead process never ends",
			turns, ".For(turnTime)", "",
		),
		proof.Wrong("a journal with an intent that nobody knows is removed",
			repairs, "		if m == nil {\n			return false, nil\n		}\n		names, known", "		if m == nil {\n			continue\n		}\n		names, known",
		),
	})
}
