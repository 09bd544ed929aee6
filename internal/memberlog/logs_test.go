package memberlog

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// With small a few hundred members take many segments.
var small = Limits{Split: 1 << 10, Merge: 256, Slack: 128, Look: 128, Grace: 24 * time.Hour}

func TestLogs_AListGrowsIntoSegmentsAndShrinksAgain(t *testing.T) {
	eachKind(t, func(t *testing.T, mem *memkv.Store, s kv.Store) {
		ctx := t.Context()
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		l, wait := prompt(s, small)
		l.Now = func() time.Time { return now }
		want := fill(t, l, wait, 1000)
		proof.NoDiff(t, cmp.Diff(want, members(t, l)), "mismatch")
		if n := segments(t, l); n < 16 || n > 64 {
			t.Errorf("1000 members of 18 bytes are in %d segments of 1 KiB", n)
		}
		// plus the head and the retired first segment
		if got := mem.Len(); got != segments(t, l)+2 {
			t.Errorf("%d keys for %d segments", got, segments(t, l))
		}
		for i, id := range want[3:] {
			must(t, l.Write(ctx, s, place, Entry{ID: id, Rev: 2, At: now.Unix()}))
			if i%16 == 0 {
				wait()
			}
		}
		now = now.Add(25 * time.Hour)
		for range 200 {
			members(t, l)
			wait()
		}
		proof.NoDiff(t, cmp.Diff(want[:3], members(t, l)), "what is left")
		if n := segments(t, l); n > 2 {
			t.Errorf("3 members are in %d segments", n)
		}
	})
}

func TestLogs_ARemovalIsKeptForTheGracePeriodAndThenForgotten(t *testing.T) {
	ctx := t.Context()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	mem := memkv.New(memkv.Options{})
	l, _ := prompt(server{mem}, small)
	l.Now = func() time.Time { return now }
	must(t, l.Write(ctx, l.Store, place, Entry{ID: "a", Rev: 1, In: true}))
	must(t, l.Write(ctx, l.Store, place, Entry{ID: "a", Rev: 2, At: now.Unix()}))
	must(t, l.Write(ctx, l.Store, place, Entry{ID: "b", Rev: 1, In: true, At: now.Unix() + 10}))
	for _, c := range []struct {
		after time.Duration
		want  []string // the entries of a and b after folding
	}{
		{5 * time.Second, []string{"a out", "b in"}},
		{23 * time.Hour, []string{"a out", "b in"}},
		{24*time.Hour + 5*time.Second, []string{"b in"}},
		{24*time.Hour + 20*time.Second, nil},
	} {
		at := now
		now = at.Add(c.after)
		must(t, l.roll(ctx, l.Store, place, l.nameNow(t)))
		var got []string
		for _, id := range []string{"a", "b"} {
			if e, err := entryOf(ctx, l, l.Store, place, id); err == nil && e.Rev > 0 {
				got = append(got, id+map[bool]string{true: " in", false: " out"}[e.In])
			}
		}
		proof.NoDiff(t, cmp.Diff(c.want, got), "after %v", c.after)
		now = at
	}
}

func (l *Logs) nameNow(t testing.TB) name {
	h, err := l.readHead(context.Background(), l.Store, place)
	must(t, err)
	return h.parts[0].name
}

func TestLogs_AMembershipEndsAtItsTime(t *testing.T) {
	ctx := t.Context()
	now := time.Unix(1000, 0)
	l, _ := prompt(memkv.New(memkv.Options{}), small)
	l.Now = func() time.Time { return now }
	must(t, l.Write(ctx, l.Store, place, Entry{ID: "a", Rev: 1, In: true, At: 1010}))
	for seconds, want := range map[int64]bool{1000: true, 1009: true, 1010: false, 2000: false} {
		now = time.Unix(seconds, 0)
		if in, err := l.Contains(ctx, l.Store, place, "a"); err != nil || in != want {
			t.Errorf("at %d: %v, %v; want %v", seconds, in, err, want)
		}
	}
}

func TestLogs_AHotListIsDividedFromTheFirstMember(t *testing.T) {
	eachKind(t, func(t *testing.T, _ *memkv.Store, s kv.Store) {
		l, wait := prompt(s, DefaultLimits)
		l.Hot = 4
		want := fill(t, l, wait, 40)
		proof.Equal(t, segments(t, l), 16, "segments")
		proof.NoDiff(t, cmp.Diff(want, members(t, l)), "mismatch")
	})
}

func TestLogs_WhereTripsAreFreeSegmentsAreSmallAndGrowWithTheList(t *testing.T) {
	s := memkv.New(memkv.Options{Local: true})
	l, wait := prompt(s, LimitsOn(s))
	for _, n := range []int{1_000, 20_000} {
		for i := range n {
			must(t, l.Write(t.Context(), s, place, Entry{ID: fmt.Sprintf("member-%06d", i), Rev: 1, In: true}))
			wait()
		}
		h, err := l.readHead(t.Context(), s, place)
		must(t, err)
		split := l.Limits.splitAt(h)
		for _, p := range h.parts {
			r, err := kv.One(t.Context(), s, kv.OpGet(l.key(place, p.name)))
			must(t, err)
			// Writers look at a segment at random, so it may be larger than it splits at.
			if len(r.Value) > 3*split {
				t.Errorf("of %d members, a segment has %d bytes and should have been split at %d", n, len(r.Value), split)
			}
		}
		if count, err := l.Count(t.Context(), s, place); err != nil || count != n {
			t.Errorf("Count: %d, %v; want %d", count, err, n)
		}
		if n == 1_000 && (split != l.Limits.Split || len(h.parts) < 4) || n == 20_000 && split <= l.Limits.Split {
			t.Errorf("%d members are in %d segments, which split at %d bytes", n, len(h.parts), split)
		}
	}
}

// The overload is of lists whose upkeep does not run.
func TestLogs_ListsAreTendedAfterAnOverload(t *testing.T) {
	l, wait := prompt(memkv.New(memkv.Options{}), tiny)
	soon := l.Soon
	l.Soon = func(func(context.Context) error) bool { return false }
	for i := range 2 * maxLists {
		l.tendSoon(fmt.Sprint("another ", i), name{})
	}
	l.Soon = soon
	fill(t, l, wait, 50)
	if n := segments(t, l); n < 2 {
		t.Errorf("a list of 50 has %d segment, want that it was divided", n)
	}
}

func seededID(i int) string { return fmt.Sprintf("0123456789abcdef%010d", i) }

func TestLogs_Find_ReadsASegmentOnceForAllThatBelongThere(t *testing.T) {
	s := kv.Count(memkv.New(memkv.Options{}))
	l, _ := prompt(s, Limits{})
	place := seed(t, s, 20_000)
	var ids []string
	for i := range 200 {
		ids = append(ids, seededID(100*i))
	}
	ids[7] = "x"
	if _, err := l.Find(t.Context(), s, place, "a"); err != nil { // remembers the head
		t.Fatal(err)
	}
	ctx, m := kv.Metered(t.Context())
	entries, err := l.Find(ctx, s, place, ids...)
	must(t, err)
	for i, id := range ids {
		if got := entries[i].In; got != (i != 7) || got && entries[i].ID != id {
			t.Errorf("%s: %+v", id, entries[i])
		}
	}
	h := l.heads.get(place)
	if got := m.Cost(); got.Trips != 1 || got.Ops > len(h.parts) {
		t.Errorf("%v for %d segments", got, len(h.parts))
	}
}

// seed makes a list of n members at once, like one that grew by splits.
func seed(t testing.TB, s kv.Store, n int) (place string) {
	t.Helper()
	place = fmt.Sprint("seeded-", n)
	l, _ := prompt(server{s}, DefaultLimits)
	rows := make([]row, n)
	for i := range rows {
		e := Entry{ID: seededID(i), Rev: 1_760_000_000_000, In: true}
		rows[i] = row{Entry: e, hash: hashOf(e.ID)}
	}
	slices.SortFunc(rows, func(a, b row) int { return a.compare(&b) })
	r := &roll{Logs: l, ctx: t.Context(), s: s, place: place, names: []name{{}}, head: noHead(), rows: rows}
	r.parts = r.head.parts[0].split(0)
	for len(r.parts) < 1<<16 && baseSize(r.rowsOf(0)) > DefaultLimits.Split {
		var finer []part
		for i := range r.parts {
			finer = append(finer, r.parts[i].split(1)...)
		}
		r.parts = finer
	}
	var ops []kv.Op
	for i := range r.parts {
		r.parts[i].name, r.parts[i].members = l.newName(), len(r.rowsOf(i))
		ops = append(ops, kv.OpAdd(r.key(place, r.parts[i].name), encodeSegment(r.rowsOf(i))))
	}
	ops = append(ops, kv.OpSet(r.key(place, name{}), retired))
	must(t, s.Do(t.Context(), ops))
	must(t, r.putHead(t.Context(), s, place, r.head.with(0, 1, r.parts)))
	return place
}

func TestLogs_Size_IsExactForSmallListsAndWithinFivePercentOfLargeOnes(t *testing.T) {
	for _, n := range []int{0, 1, 2, 500, 4_000, 20_000, 200_000} {
		s := server{memkv.New(memkv.Options{})}
		l, _ := prompt(s, DefaultLimits)
		place := "none"
		if n > 0 {
			place = seed(t, s, n)
		}
		got, err := l.Size(t.Context(), s, place)
		must(t, err)
		checkSize(t, n, got)
		if n == 0 || n > 20_000 {
			continue
		}
		// members added after the segments were made are estimated
		for i := range n {
			must(t, l.Write(t.Context(), s, place, Entry{ID: fmt.Sprint("more", i), Rev: 1, In: true}))
		}
		got, err = l.Size(t.Context(), s, place)
		must(t, err)
		checkSize(t, 2*n, got)
	}
}

func checkSize(t testing.TB, want, got int) {
	t.Helper()
	within := 0.05 * float64(want)
	if want < sampled {
		within = 0
	}
	if off := float64(got - want); off > within || off < -within {
		t.Errorf("Size of %d is %d", want, got)
	}
}

func TestLogs_Size_FollowsRemovalsAndFewMembersOfAHotList(t *testing.T) {
	s := server{memkv.New(memkv.Options{})}
	l, wait := prompt(s, DefaultLimits)
	const n = 40_000
	seeded := seed(t, s, n)
	for i := range n / 2 {
		must(t, l.Write(t.Context(), s, seeded, Entry{ID: seededID(i), Rev: 1 << 60, At: 1}))
	}
	got, err := l.Size(t.Context(), s, seeded)
	must(t, err)
	checkSize(t, n/2, got)
	l.Hot = 5
	for _, n := range []int{1, 7, 300} {
		fill(t, l, wait, n)
		got, err := l.Size(t.Context(), s, place)
		must(t, err)
		checkSize(t, n, got)
	}
}

func TestLogs_BeforeAndAfterMeetInTheMiddle(t *testing.T) {
	eachKind(t, func(t *testing.T, _ *memkv.Store, s kv.Store) {
		ctx := t.Context()
		l, wait := prompt(s, small)
		all := fill(t, l, wait, 300)
		slices.SortFunc(all, func(a, b string) int { return PositionOf(a).Compare(PositionOf(b)) })
		for _, at := range []int{0, 1, 137, 298, 299} {
			from := PositionOf(all[at])
			for _, n := range []int{1, 10, 1000} {
				after, err := l.After(ctx, s, place, &from, n)
				must(t, err)
				before, err := l.Before(ctx, s, place, from, n)
				must(t, err)
				checkWindow(t, all[at+1:], after, n)
				checkWindow(t, reversed(all[:at]), Window{reversed(before.Members), before.Ends}, n)
			}
		}
	})
}

func reversed[T any](s []T) []T {
	s = slices.Clone(s)
	slices.Reverse(s)
	return s
}

// checkWindow asserts that w is a beginning of all, with at least n members or all of them.
func checkWindow(t testing.TB, all []string, w Window, n int) {
	t.Helper()
	var got []string
	for _, m := range w.Members {
		got = append(got, m.ID)
	}
	if len(got) < min(n, len(all)) || len(got) > len(all) || !slices.Equal(got, all[:len(got)]) {
		t.Errorf("%d of at least %d are %v, want a beginning of %v", len(got), n, got, all)
	}
	if w.Ends != (len(got) == len(all)) && w.Ends {
		t.Errorf("%d of %d are said to be all", len(got), len(all))
	}
}

func TestLogs_AnyBytesCanBeAMember(t *testing.T) {
	eachKind(t, func(t *testing.T, _ *memkv.Store, s kv.Store) {
		l, _ := prompt(s, DefaultLimits)
		ids := []string{"", "\xff", "\xe3\xff", "a\x00b", "+a@1", "\n", "ä", strings.Repeat("x", plug.MaxID)}
		for _, id := range ids {
			must(t, l.Write(t.Context(), s, place, Entry{ID: id, Rev: 1<<63 - 1, In: true}))
		}
		slices.Sort(ids)
		proof.NoDiff(t, cmp.Diff(ids, members(t, l)), "mismatch")
		err := l.Write(t.Context(), s, place, Entry{ID: strings.Repeat("x", plug.MaxID+1), Rev: 1, In: true})
		wantErr(t, err, kv.ErrTooLarge)
	})
}

func TestLogs_AFullSegmentIsReplacedByTheWriterThatMeetsIt(t *testing.T) {
	eachKind(t, func(t *testing.T, _ *memkv.Store, s kv.Store) {
		ctx := t.Context()
		// without upkeep it fills up
		l, _ := prompt(s, DefaultLimits)
		id := func(i int) string { return fmt.Sprintf("%s%04d", strings.Repeat("x", plug.MaxID-4), i) }
		const n = 600 // of 2 KiB each: more than fit in a value
		for i := range n {
			must(t, l.Write(ctx, s, place, Entry{ID: id(i), Rev: 1, In: true}))
		}
		proof.Equal(t, len(members(t, l)), n, "members")
		if segments(t, l) < 2 {
			t.Error("it was never full")
		}
	})
}

func TestLogs_ASegmentFullToTheLastByteIsStillSealed(t *testing.T) {
	eachKind(t, func(t *testing.T, mem *memkv.Store, s kv.Store) {
		ctx := t.Context()
		l, _ := prompt(s, DefaultLimits)
		value, n := fullSegment(t)
		proof.Done(t)(kv.One(ctx, mem, kv.OpSet(l.key(place, name{}), value)))
		must(t, l.Write(ctx, s, place, Entry{ID: "one more", Rev: 1, In: true}))
		proof.Equal(t, len(members(t, l)), n+1, "members")
	})
}

// fullSegment returns a segment that fills a value to its last byte, with n members.
func fullSegment(t testing.TB) (value []byte, n int) {
	t.Helper()
	const frame = 6 // bytes of a record besides an id of some hundred bytes
	value = encodeSegment(nil)
	for rest := kv.MaxValue - len(value); rest > 0; rest = kv.MaxValue - len(value) {
		if rest > plug.MaxID {
			rest = plug.MaxID / 2
		}
		e := Entry{ID: fmt.Sprintf("%04d%s", n, strings.Repeat("x", rest-frame-4)), Rev: 1, In: true}
		value = appendRecord(value, &e)
		n++
	}
	if len(value) != kv.MaxValue {
		t.Fatalf("this test's arithmetic is wrong: %d bytes", len(value))
	}
	return value, n
}

func TestLogs_ARetiredFirstSegmentDoesNotGrowForever(t *testing.T) {
	ctx := t.Context()
	mem := memkv.New(memkv.Options{})
	s := quietStore{mem}
	l, wait := prompt(s, small)
	fill(t, l, wait, 300)
	for range 60 {
		// a new process appends to it, without effect
		stranger, _ := prompt(s, small)
		must(t, stranger.Write(ctx, s, place, Entry{ID: "a", Rev: 1, In: true}))
	}
	size := func() int {
		r, err := kv.One(ctx, mem, kv.OpGet(l.key(place, name{})))
		must(t, err)
		return len(r.Value)
	}
	if size() < 60*6 {
		t.Fatal("nothing was appended to it")
	}
	for range 200 {
		stranger, _ := prompt(s, small)
		must(t, stranger.Write(ctx, s, place, Entry{ID: "a", Rev: 1, In: true}))
	}
	stranger, wait := prompt(s, small)
	members(t, stranger)
	wait()
	proof.Equal(t, size(), len(retired), "it still")
}

func TestLogs_LostKeysAreReportedAndNeverLookLikeAShorterList(t *testing.T) {
	for mask := 1; mask < 8; mask++ {
		eachKind(t, func(t *testing.T, mem *memkv.Store, s kv.Store) {
			ctx := t.Context()
			l, wait := prompt(s, small)
			want := fill(t, l, wait, 300)
			h, err := l.readHead(ctx, s, place)
			must(t, err)
			var lost []string
			for i, key := range []string{l.Key(place), l.key(place, h.parts[1].name), l.key(place, name{})} {
				if mask>>i&1 == 1 {
					lost = append(lost, key)
				}
			}
			mem.Evict(lost...)
			for _, l := range []*Logs{l, fresh(s)} {
				var got []string
				err := l.Each(ctx, s, place, func(id string) error { got = append(got, id); return nil })
				slices.Sort(got)
				whole := err == nil && slices.Equal(got, want)
				vanished := mask&5 == 5 && err == nil && len(got) == 0
				if !whole && !vanished {
					wantErr(t, err, plug.ErrNeedsRebuild)
				}
			}
			must(t, fresh(s).Write(ctx, s, place, Entry{ID: "new", Rev: 1, In: true}))
		})
	}
}

// Without a head, only a process that has just read the first segment can tell a lost list from an
// empty one.
func TestLogs_AFirstSegmentLostWhileItIsReplacedIsReported(t *testing.T) {
	eachKind(t, func(t *testing.T, mem *memkv.Store, s kv.Store) {
		ctx := t.Context()
		l, _ := prompt(s, small)
		fill(t, l, func() {}, 200)
		evicting := &beforeFirst{s, kv.Append, func() { mem.Evict(l.key(place, name{})) }}
		must(t, l.roll(ctx, evicting, place, name{}))
		for _, l := range []*Logs{l, fresh(s)} {
			proof.Ends(t, plug.ErrNeedsRebuild)(l.Count(ctx, s, place))
		}
		must(t, fresh(s).Write(ctx, s, place, Entry{ID: "new", Rev: 1, In: true}))
	})
}

// beforeFirst calls do before its first op of a kind.
type beforeFirst struct {
	kv.Store
	kind kv.Kind
	do   func()
}

func (b *beforeFirst) Powers() kv.Powers { return kv.PowersOf(b.Store) }

func (b *beforeFirst) Do(ctx context.Context, ops []kv.Op) error {
	if b.do != nil && slices.ContainsFunc(ops, func(op kv.Op) bool { return op.Kind == b.kind }) {
		b.do()
		b.do = nil
	}
	return b.Store.Do(ctx, ops)
}

func TestLogs_AHeadThatIsLostIsMissedByThoseWhoRememberIt(t *testing.T) {
	eachKind(t, func(t *testing.T, mem *memkv.Store, s kv.Store) {
		ctx, now := t.Context(), time.Now()
		writer, wait := prompt(s, small)
		reader, other := fresh(s), fresh(s)
		writer.Now = func() time.Time { return now }
		reader.Now = writer.Now
		fill(t, writer, wait, 300)
		members(t, reader)
		mem.Evict(writer.Key(place))
		proof.Ends(t, plug.ErrNeedsRebuild)(other.Count(ctx, s, place))
		must(t, other.accept(ctx, s, place))
		must(t, other.Write(ctx, s, place, Entry{ID: "new", Rev: 1, In: true}))
		now = now.Add(times.Head + 1)
		must(t, writer.Write(ctx, s, place, Entry{ID: "more", Rev: 1, In: true}))
		want := []string{"more", "new"}
		for name, l := range map[string]*Logs{"writer": writer, "reader": reader, "newcomer": fresh(s)} {
			proof.NoDiff(t, cmp.Diff(want, members(t, l)), "the %s shows", name)
		}
	})
}

// fresh returns the logs of a new process without upkeep.
func fresh(s kv.Store) *Logs {
	l, _ := prompt(s, small)
	return l
}

func TestLogs_IsBare_UntilAnyKeyOfTheListIsThere(t *testing.T) {
	eachKind(t, func(t *testing.T, mem *memkv.Store, s kv.Store) {
		ctx := t.Context()
		l, wait := prompt(s, small)
		bare := func(want bool, when string) {
			t.Helper()
			if got, err := l.IsBare(ctx, s, place); err != nil || got != want {
				t.Errorf("%s: bare is %v, %v; want %v", when, got, err, want)
			}
		}
		bare(true, "at first")
		must(t, l.Write(ctx, s, place, Entry{ID: "a", Rev: 1, In: true}))
		bare(false, "with a member")
		fill(t, l, wait, 200)
		if segments(t, l) < 2 {
			t.Fatal("it is not divided")
		}
		mem.Evict(l.key(place, name{}))
		bare(false, "divided, without the mark")
		must(t, l.Write(ctx, s, "other", Entry{ID: "a", Rev: 1, In: true}))
		mem.Evict(l.key("other", name{}))
		if got, err := l.IsBare(ctx, s, "other"); err != nil || !got {
			t.Errorf("lost: bare is %v, %v; want true", got, err)
		}
	})
}

// halfway is a store whose transaction waits, before it commits, until another process has read
// once.
type halfway struct {
	kv.Store
	begun, looked, ended chan struct{}
}

func (h *halfway) Powers() kv.Powers {
	p := kv.PowersOf(h.Store)
	whole := p.Atomic
	p.Atomic = func(ctx context.Context, f func(kv.Store) error) error {
		defer close(h.ended)
		return whole(ctx, func(s kv.Store) error {
			err := f(s)
			close(h.begun)
			<-h.looked
			return err
		})
	}
	return p
}

// onlooker is a store whose second trip waits until the transaction has ended.
type onlooker struct {
	*halfway
	trips int
}

func (o *onlooker) Do(ctx context.Context, ops []kv.Op) error {
	if o.trips++; o.trips == 2 {
		close(o.looked)
		<-o.ended
	}
	return o.Store.Do(ctx, ops)
}

// A transaction with upkeep knows the new segments before anything outside it can see them, even in
// the same process.
func TestLogs_AnUncommittedSegmentIsNotTakenForLost(t *testing.T) {
	bolt, err := boltkv.Open(filepath.Join(t.TempDir(), "lists.db"), boltkv.Options{})
	must(t, err)
	defer bolt.Close()
	s := &halfway{bolt, make(chan struct{}), make(chan struct{}), make(chan struct{})}
	l, _ := prompt(s, small)
	want := fill(t, l, func() {}, 200) // more than a segment takes
	go func() { must(t, l.tend(t.Context(), place, name{})) }()
	<-s.begun
	var got []string
	err = l.Each(t.Context(), &onlooker{halfway: s}, place, func(id string) error { got = append(got, id); return nil })
	must(t, err)
	slices.Sort(got)
	proof.NoDiff(t, cmp.Diff(want, got), "mismatch")
}

// A reader repairs only the lost segment that it meets.
func TestLogs_Discard_MakesUpForAllThatIsLostAtOnce(t *testing.T) {
	eachKind(t, func(t *testing.T, mem *memkv.Store, s kv.Store) {
		ctx := t.Context()
		l, wait := prompt(s, small)
		fill(t, l, wait, 300)
		h, err := l.readHead(ctx, s, place)
		must(t, err)
		gone := func() (n int) {
			h, err := l.readHead(ctx, s, place)
			must(t, err)
			for _, p := range h.parts {
				if _, err := kv.One(ctx, s, kv.OpGet(l.key(place, p.name))); err != nil {
					n++
				}
			}
			return n
		}
		for _, p := range h.parts {
			mem.Evict(l.key(place, p.name))
		}
		if n := gone(); n < 3 {
			t.Fatalf("%d segments are lost", n)
		}
		must(t, fresh(s).Discard(ctx, s, place))
		if n := gone(); n > 0 {
			t.Errorf("%d segments are still lost", n)
		}
		proof.Ends(t, plug.ErrNeedsRebuild)(fresh(s).Count(ctx, s, place))

		must(t, l.Discard(ctx, s, "none"))
		if bare, err := l.IsBare(ctx, s, "none"); err != nil || !bare {
			t.Errorf("a list that never was: bare %v, %v", bare, err)
		}
	})
}

// beaten is a store in which someone else is first at every second write of key.
type beaten struct {
	kv.Store
	key    string
	writes int
}

func (b *beaten) Do(ctx context.Context, ops []kv.Op) error {
	if op := &ops[0]; op.Key == b.key && op.Kind.Writes() {
		if b.writes++; b.writes%2 == 0 {
			op.Result = kv.Result{Err: kv.ErrConflict}
			return nil
		}
	}
	return b.Store.Do(ctx, ops)
}

// A loss without a date would need another rebuild.
func TestLogs_Discard_DatesALossThoughOthersChangeTheHead(t *testing.T) {
	ctx, mem := t.Context(), memkv.New(memkv.Options{})
	last := int64(0) // rebuild
	rebuilds := func(context.Context, kv.Store) (begun, ended int64, err error) { return last, last, nil }
	l, wait := prompt(server{mem}, small)
	l.Rebuilds = rebuilds
	fill(t, l, wait, 300)
	h, err := l.readHead(ctx, mem, place)
	must(t, err)
	mem.Evict(l.key(place, h.parts[0].name))
	must(t, l.Discard(ctx, &beaten{Store: server{mem}, key: l.Key(place)}, place))
	last++
	other := fresh(server{mem})
	other.Rebuilds = rebuilds
	proof.Ends(t, nil)(other.Count(ctx, server{mem}, place))
}
