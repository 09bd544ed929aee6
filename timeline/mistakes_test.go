package timeline_test

import (
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
)

// Each mistake is one that the protocol was designed around. docs/timeline.md explains
// what goes wrong with it.
func TestSweep_Lane_NoticesEveryMistakeOfTheProtocol(t *testing.T) {
	const push, shape, trim, reader = "timeline/push.go", "timeline/shape.go", "timeline/trim.go", "timeline/reader.go"
	proof.Mistakes(t, "./timeline", "TestSweep_Lane_Nothing", []string{"RINGTREE_SEEDS=3000"}, []proof.Mistake{
		proof.Wrong("a segment is trimmed by set",
			trim, "kv.OpSwap(seg.key, seg.version, encodeAll(seg.entries[from:]))", "kv.OpSet(seg.key, encodeAll(seg.entries[from:]))",
		),
		proof.Wrong("a segment is trimmed to the trimmer's own block",
			trim, "	return l.cut(ctx, s, seg)\n", "	return l.cutTo(ctx, s, seg, own)\n",
			trim, "// cut is T2,", `func (l *lane) cutTo(ctx context.Context, s kv.Store, seg segment, own int64) error {
	var data []byte
	for _, e := range seg.entries {
		if l.shape().block(e.stamp) == l.shape().block(own) {
			data = e.encode(data)
		}
	}
	if own == lastStamp || len(data) == 0 || seg.version == 0 {
		return l.cut(ctx, s, seg)
	}
	_, err := kv.One(ctx, s, kv.OpSwap(seg.key, seg.version, data))
	if kv.Raced(err) {
		return nil
	}
	return err
}

// cut is T2,`,
		),
		proof.Wrong("the first of a block opens its segment by set",
			push, "	a := addition{key", "	if e.stamp%g.width == 0 {\n		_, err := kv.One(ctx, s, kv.OpSet(l.key(g, i), e.encode(nil)))\n		return err\n	}\n	a := addition{key",
		),
		proof.Wrong("the first of a block deletes its segment",
			push, "	a := addition{key", "	if e.stamp%g.width == 0 {\n		_, _ = kv.One(ctx, s, kv.OpDelete(l.key(g, i)))\n	}\n	a := addition{key",
		),
		proof.Wrong("an absent segment is made by set",
			push, "err := one(kv.OpAdd(a.key, a.data).For(a.ttl))", "err := one(kv.OpSet(a.key, a.data).For(a.ttl))",
		),
		proof.Wrong("a reader has no floor",
			reader, "return !r.up && e.stamp < reach || r.up", "return r.up",
			reader, "		oldest, begin := r.oldest(seg.shape), len(r.ordered)\n", "		oldest, begin := int64(seg.shape), len(r.ordered)\n",
		),
		proof.Wrong("a reader has no counter",
			reader, "		r.top = max(r.top, r.counter)\n", "",
		),
		proof.Wrong("a segment is cut where its newest block ends",
			trim, "l.shape().block(seg.entries[from].stamp) != newest {", "l.shape().block(seg.entries[from].stamp) != newest-newest%2 {",
		),
		proof.Wrong("the ring has no segment to spare",
			shape, "	blocks := (size+width-1)/width + 1\n", "	blocks := (size + width - 1) / width\n",
		),
	})
}

func TestSweep_Lane_NoticesEveryMistakeAboutTheCounter(t *testing.T) {
	const counter, shape, reader = "timeline/counter.go", "timeline/shape.go", "timeline/reader.go"
	proof.Mistakes(t, "./timeline", "TestSweep_Lane_A.*Counter|TestLane_Take", []string{"RINGTREE_SEEDS=3000"}, []proof.Mistake{
		proof.Wrong("a lost counter goes on a ring further",
			counter, "		n = l.shape().next(top)\n", "		n = top + l.shape().width*l.shape().blocks\n",
		),
		proof.Wrong("a lost counter goes on in the next block",
			shape, "skip := min(2, (g.blocks-1)/4)", "skip := min(0, (g.blocks-1)/4)",
		),
		proof.Wrong("a lost counter starts from the beginning",
			counter, "	if top > 0 {\n		n = l.shape().next(top)\n	}\n", "",
			counter, "	if err != nil || top < n {\n", "	if true {\n",
		),
		proof.Wrong("a lost counter is made without a look at the ring",
			counter, "	top = max(top, high)\n", "	top = max(top, min(high, 0))\n",
			counter, "	if err != nil || top < n {\n", "	if true {\n",
		),
		proof.Wrong("a lost counter is made by what was read before",
			counter, "	top = max(top, high)\n", "	if top == 0 {\n		top = high\n	}\n",
		),
		proof.Wrong("the ring is not read again once the counter is made",
			counter, "	if err != nil || top < n {\n", "	if true {\n",
		),
		proof.Wrong("a counter that has gone back is not noticed",
			counter, "	if !l.atomic && (n <= known || ", "	if l.atomic && (n <= known || ",
		),
		proof.Wrong("a new process does not read the ring",
			counter, "	case !first:\n", "	case !first || first:\n",
		),
		proof.Wrong("a new process forgets what it has found when it tries again",
			counter, "		l.learn(known)\n", "",
		),
		proof.Wrong("a reader keeps to the counter it has read",
			reader, "		r.top = max(r.top, highest(seg.entries))\n", "",
			reader, "if e := &seg.entries[i]; e.stamp >= oldest {", "if e := &seg.entries[i]; e.stamp >= oldest && e.stamp <= r.top {",
		),
	})
}

func TestSweep_Events_NoticesEveryMistakeOfTheLayouts(t *testing.T) {
	const appended, layout, packed, push = "timeline/appended.go", "timeline/layout.go", "timeline/packed.go", "timeline/push.go"
	proof.Mistakes(t, "./timeline", "TestSweep_Events_W|TestEvents_(Push_Keeps|TheClock|AnEvent)", []string{"RINGTREE_SEEDS=3000"}, []proof.Mistake{
		proof.Wrong("the last entries are kept, not the last different ones",
			layout, "	kept := distinct(entries, c.keep, c.what)\n", "	kept := slices.Clone(entries[:min(len(entries), c.keep)])\n",
		),
		proof.Wrong("what is appended to is trimmed by set",
			appended, "	_, err = kv.One(ctx, s, kv.OpSwap(key, version, encodeAll(kept)).For(2*a.ttl))", "	_ = version\n	_, err = kv.One(ctx, s, kv.OpSet(key, encodeAll(kept)).For(2*a.ttl))",
		),
		proof.Wrong("an absent key is made by set",
			push, "err := one(kv.OpAdd(a.key, a.data).For(a.ttl))", "err := one(kv.OpSet(a.key, a.data).For(a.ttl))",
		),
		proof.Wrong("a clock that is ahead hides events from others",
			appended, "a.keyOf(owner, now+1), ", "",
		),
		proof.Wrong("a key with a TTL ends when the next one begins",
			appended, ", a.keyOf(owner, now-1)}", "}",
		),
		proof.Wrong("a packed value is replaced by set",
			packed, "		_, err = kv.One(ctx, s, kv.OpReplace(key, version, data)", "		_ = version\n		_, err = kv.One(ctx, s, kv.OpSet(key, data)",
		),
	})
}

func TestSweep_Records_NoticesEveryMistakeOfTheIndex(t *testing.T) {
	const filling, index, commit = "timeline/filling.go", "timeline/index.go", "kvmodel/write_commit.go"
	proof.Mistakes(t, "./timeline", "TestSweep_(Records|Several)_[^N]|TestRing_(Page_N|AnEntry)|TestRings_(AR|Of_W|Re)", []string{"RINGTREE_SEEDS=2500"}, []proof.Mistake{
		proof.Wrong("a reader does not compare the stamp",
			filling, "return m.stamp == it.stamp && ", "return ",
		),
		proof.Wrong("a reader does not ask whose record it is",
			index, "return c.owners.Has(v, in.owner) && c.shardOf(rec.ID) == in.shard", "return true",
		),
		proof.Wrong("a reader shows a record only at its newest entry",
			filling, "	for _, it := range items {\n		if len(found) == n {", "	seen := map[string]bool{}\n	for _, it := range items {\n		if seen[it.what] {\n			it.reader.pass(it)\n			continue\n		}\n		seen[it.what] = true\n		if len(found) == n {",
		),
		proof.Wrong("repair makes no entry",
			index, "	return c.enter(ctx, s, rec.ID, l.owner, m)\n", "	return nil\n",
		),
		proof.Wrong("a number is taken early without a line",
			"kvmodel/write_early.go", "		err := c.note(s, l)\n", "		var err error\n",
			"kvmodel/write_early.go", "	l.Touched = append", "	_ = append",
			"kvmodel/write_early.go", "	l := journal.Line{Model: c.name, ID: c.id, Rev: journal.FenceAlways}\n", "	l := journal.Line{}\n",
		),
		proof.Wrong("what fails beside the commit is not made up for",
			commit, "	if p.unsettled || len(p.removals) > 0 && p.isOverdue", "	if len(p.removals) > 0 && p.isOverdue",
		),
		proof.Wrong("a number takes the place of those in other rings",
			index, "	m.Mark = c.without(m.Mark, func(owner string) bool { return !stay.Has(owner) })\n", "	m.Mark = nil\n",
		),
		proof.Wrong("a page of several rings shows a record in each of them",
			filling, " && (!f.core.several || f.isFirst(it, m.at, rec))", "",
		),
		proof.Wrong("a record stays hidden where another ring has forgotten it",
			filling, "m.stamp < r.oldest(r.writes) || m.stamp == 0", "m.stamp == 0",
		),
		proof.Wrong("another number is taken for the entry than for the record",
			index, "	return c.enter(ctx, s, id, owner, marks.of(owner))\n", "	stamped := marks.of(owner)\n	stamped.stamp++\n	return c.enter(ctx, s, id, owner, stamped)\n",
		),
	})
}

func TestSweep_Ring_NoticesEveryMistakeOfWhatIsBuiltOnIt(t *testing.T) {
	const archive, merge = "timeline/archive.go", "timeline/merge.go"
	proof.Mistakes(t, "./timeline", "TestWithArchive_|TestRings_Of_|TestSweep_Feed_", nil, []proof.Mistake{
		proof.Wrong("an archive shows what the ring has shown",
			archive, "below = cuts[i].isOver(entry{stamp: st.stamp, body: []byte(rec.ID)})", "below = cuts[i].stamp >= 0 || st.stamp >= 0",
		),
		proof.Wrong("an archive begins at the last record of the ring",
			archive, "const seam = 100", "const seam = 1",
		),
		proof.Wrong("an archive begins at the last mark, and not at the highest",
			archive, "slices.MaxFunc(marks", "slices.MinFunc(marks",
		),
		proof.Wrong("an archive does not ask when the last records of the ring were put there",
			archive, "(M); ok {", "(M); ok && p.put < 0 {",
		),
		proof.Wrong("an archive begins below what has its mark",
			"timeline/marks.go", "next.SetInt(next.Int() + 1)", "next.SetInt(next.Int())",
		),
		proof.Wrong("a page of an archive has more than it should",
			archive, "if err != nil || len(items) <= n {", "if err != nil || n >= 0 {",
		),
		proof.Wrong("the same millisecond is the other way round on the way up",
			merge, "return a.at <= b.at", "return a.at < b.at",
		),
		proof.Wrong("a repair does not fan out",
			"kvmodel/internal/repair/repair.go", "m.Changed(ctx, r.signs.deadFor(j.Process), l.ID, l.Created)", "error(nil)",
		),
	})
}

func TestSweep_Build_NoticesEveryMistakeOfABuild(t *testing.T) {
	const build, era, index, shape, standing = "timeline/build.go", "timeline/era.go", "timeline/index.go", "timeline/shape.go", "timeline/standing.go"
	proof.Mistakes(t, "./timeline", "TestSweep_Build_[BST]|TestBuild_", []string{"RINGTREE_SEEDS=600"}, []proof.Mistake{
		proof.Wrong("a build begins with the oldest record",
			standing, "cmp.Compare(other.order, s.order)", "cmp.Compare(s.order, other.order)",
		),
		proof.Wrong("a build takes its numbers from the counter",
			build, "		b.next--\n", "		n, _ := b.lane.take(context.Background(), b.db.Store())\n		b.next = n\n",
		),
		proof.Wrong("a build overwrites what has changed since it was sorted",
			build, "st.isAt(r.standing) || st.stamp == r.stamp\n", "true\n",
			build, "if ok && stays && st.stamp <= b.dawn && ", "if ok && stays && ",
		),
		proof.Wrong("the era begins once the records are sorted",
			build, "	err := b.host.Each(ctx, func(recs []*plug.Seen) error { return b.begin(ctx, recs) })\n", "	var err error\n",
		),
		proof.Wrong("each process begins an era of its own",
			build, "reached: decodeReached(steps.From())}", "reached: decodeReached(steps.From()[:0])}",
		),
		proof.Wrong("a build begins an era that rings were in",
			build, "dawn(last + 1)", "dawn(max(last, 1))",
		),
		proof.Wrong("the era begins in rings that are new",
			build, "now.stamp != 0 && era(now.stamp) == era(count)", "now.stamp != 0 && era(now.stamp) < 0",
		),
		proof.Wrong("a build leaves what is at the dawn",
			build, "	case st.stamp > b.dawn:\n", "	case st.stamp >= b.dawn:\n",
			build, "st.stamp <= b.dawn && st", "st.stamp < b.dawn && st",
		),
		proof.Wrong("what was reached is noted before it is written",
			build, "		if err := b.enter(ctx, chunk); err != nil {\n", "		ahead := b.reached\n		ahead.last, ahead.next = &chunk[len(chunk)-1], cmp.Or(b.next, b.dawn)-int64(len(chunk))\n		if err := b.steps.Reached(ctx, ahead.encode(), plug.Many); err != nil {\n			return false, err\n		}\n		if err := b.enter(ctx, chunk); err != nil {\n",
		),
		proof.Wrong("each process begins at the dawn again",
			build, "		b.lane = c.shard(b.last.owner, b.last.shard)\n", "		b.lane, b.next = c.shard(b.last.owner, b.last.shard), b.dawn\n",
		),
		proof.Wrong("what has come to stand before the last record is left out",
			build, "		b.late = append(b.late, st)\n", "		_ = st.id\n",
		),
		proof.Wrong("what would stand somewhere else by now is left out",
			build, "st.isAt(r.standing) || st.stamp == r.stamp\n", "st.isAt(r.standing)\n",
		),
		proof.Wrong("a change does not look whether a build has missed it",
			index, "	if err != nil || era(n) == now {", "	if now >= 0 {",
		),
		proof.Wrong("a repair does not look whether a build has missed the change",
			index, "rec.Doubt && era(", "rec.Doubt && false && era(",
		),
		proof.Wrong("a dawn takes the room of a record",
			shape, "	if d := dawn(era(top)); n <= d && d <= top {", "	if d := dawn(era(top)); n <= d && d < 0 {",
		),
		proof.Wrong("what changes during it is numbered below the dawn",
			era, "l.setCounter(ctx, s, version, dawn(n))", "l.setCounter(ctx, s, version, dawn(n)-1000)",
		),
	})
}

func TestSweep_Readers_NoticesEveryMistakeOfAReader(t *testing.T) {
	const since, merge, reader = "timeline/since.go", "timeline/merge.go", "timeline/reader.go"
	proof.Mistakes(t, "./timeline", "TestSweep_Readers_E|TestEvents_Latest_OfA", []string{"RINGTREE_SEEDS=500"}, []proof.Mistake{
		proof.Wrong("Since counts entries",
			since, "		if f.stands(it) {\n", "		if it.stamp > 0 {\n",
		),
		proof.Wrong("Since counts what is below the cursor",
			merge, "				if !cuts[i].isOver(*e) {\n", "				if cuts[i].stamp > 0 {\n",
		),
		proof.Wrong("a page ends at its first stale entry",
			"timeline/filling.go", "		it.reader.pass(it)\n		f.passed++\n", "		it.reader.pass(it)\n		if f.passed++; !f.stands(it) {\n			return found\n		}\n",
		),
		proof.Wrong("a reader of large entries does not look at the next key",
			reader, "	if !slices.Contains(refs, above) {\n", "	if r.top < 0 {\n",
		),
	})
}

// Each mistake is one that the way to a new shape was designed around.
func TestMistakes_OfRingsThatChangeTheirShapeAreNoticed(t *testing.T) {
	const rings, shapes = "kvmodel/internal/built/rings.go", "timeline/shapes.go"
	proof.Mistakes(t, "./timeline", "TestReleases_", nil, []proof.Mistake{
		proof.Wrong("a shape is written as soon as it is named",
			rings, "	return Ring{append(others, own), newBirth()}\n", "	return Ring{append(others, own), \"\"}\n",
		),
		proof.Wrong("who sees a shape coming does not wait before it is written",
			rings, "	return known && b.Now().Sub(since) >= leaves\n", "	return known && !since.IsZero()\n",
		),
		proof.Wrong("a release writes its own shape, once that is named",
			shapes, "	writes := len(texts) - 1 - written\n", "	writes := len(texts) - 1 - max(written, slices.Index(texts, s.own[0].text()))\n",
		),
		proof.Wrong("a release reads the shapes that it knows itself",
			shapes, "	if len(texts) == 0 {\n", "	if len(texts) < 1<<20 || written < 0 {\n",
		),
		proof.Wrong("what other releases have named is forgotten",
			rings, "		if all[name] = r; r.coming", "		if all[name] = (Ring{Shapes: r.Shapes[len(r.Shapes)-1:], coming: r.coming}); r.coming",
		),
		proof.Wrong("each release makes the ring as long as its own",
			rings, "sizeOf(own) > last ||", "sizeOf(own) != last ||",
		),
		proof.Wrong("a rebuild leaves entries where a shorter ring drops them",
			shapes, "g.size >= s.shape().size && (", "(",
		),
		proof.Wrong("a rebuild leaves entries in a shape that it lets be forgotten",
			shapes, "(k <= writes || slices.Contains(own, g))", "k >= 0",
		),
		proof.Wrong("who writes other models does not look again",
			"kvmodel/current.go", "	if m.plugged.Load().shaped && !recent(m.built.RingsRead()) {\n", "	if m.plugged.Load().shaped && m.built.RingsRead().IsZero() {\n",
		),
		proof.Wrong("a repair goes by the shapes of its own release",
			"timeline/index.go", "	if err := c.host.Look(ctx); err != nil {\n		return c.failure(err)\n	}\n	marks := c.marksIn(rec.Mark)\n	for _, place := range rec.Places {\n		owner := ownerOf(place)\n		if m :=", "	marks := c.marksIn(rec.Mark)\n	for _, place := range rec.Places {\n		owner := ownerOf(place)\n		if m :=",
		),
		proof.Wrong("a rebuild does not wait for the shape that is coming",
			"kvmodel/rebuild.go", "	forgets, err := b.awaitRings(ctx)\n", "	forgets, err := b.built.MayForget(), error(nil)\n",
		),
	})
}

func TestMistakes_WithSumsAreNoticed(t *testing.T) {
	const damage = "timeline/damage.go"
	proof.Mistakes(t, "./timeline", "TestEntries_A|TestEntries_W", nil, []proof.Mistake{
		proof.Wrong("a sum is not compared", damage, " || d.sum(from, d.at) != e.stamp {", " {"),
		proof.Wrong("what has no sum is taken as it is", damage, "		d.lose()\n	}\n}\n", "		d.keep()\n	}\n}\n"),
		proof.Wrong("what follows damage is lost", damage, "ok && from > d.sure && d.sum(from, at) == e.stamp {", "ok && from > d.sure && false {"),
		proof.Wrong("what is lost is forgotten", "timeline/entry.go", "		e.stamp = lostStamp\n", "		return dst\n"),
	})
}
