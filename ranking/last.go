package ranking

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// Last returns the n records with the highest totals over the last periods, up to
// the current one: on a board per day, Last(ctx, 7, 20) is the top twenty of the
// last seven days.
//
// The totals are exact. To choose the records, Last reads the first 2n of each
// period, in two trips. Where a record that is further down in every period could
// still have a higher total than the last of places, Last reads the first 8n, and
// then 32n, in two trips each. If such a record is possible even then, off is how much
// higher its total may be. Otherwise off is 0, and places are right.
//
// Last returns ErrInvalid if the board does not count by periods.
func (b *Board[T, K, S]) Last(ctx context.Context, periods, n int) (places []Place[T, S], off S, err error) {
	first, by, err := b.part.last(ctx, periods, n)
	if err != nil {
		return nil, off, err
	}
	return b.places(keytree.Part{Members: first}), b.of.from(keytree.FromInt(by)), nil
}

// last returns the n members with the highest totals, and how much higher that of another may
// be.
func (p part) last(ctx context.Context, periods, n int) (first []keytree.Member, off int64, err error) {
	ctx, end := p.host.Begin(ctx, "Last")
	defer end()
	if p.per == Forever || p.scored {
		return nil, 0, p.failure(fmt.Errorf("%w: it does not count by periods", kvmodel.ErrInvalid))
	}
	if err := p.host.Ready(ctx); err != nil {
		return nil, 0, err
	}
	t := newTotals(p, periods, max(0, n))
	for _, depth := range []int{2 * t.n, 8 * t.n, 32 * t.n} {
		if err := t.look(ctx, depth); err != nil {
			return nil, 0, p.failure(err)
		}
		if t.off() == 0 {
			break
		}
	}
	return t.first(), t.off(), nil
}

// totals finds the members with the n highest totals over several periods. It reads
// each period from its top. A member that it has not met has, in each period, at most
// the last score that was read there.
type totals struct {
	part
	n       int
	periods []*summand
	met     []*contender // in the order in which they were met
	byID    map[string]*contender
}

// summand is a period, as far as it was read.
type summand struct {
	at   time.Time
	read int    // how many of its members
	next []byte // the position after them
	last int64  // the last score; 0 after the last member of the period
}

// contender is a member that was met in some period.
type contender struct {
	id    string
	seen  map[*summand]int64 // its scores
	sum   int64              // of these
	known bool               // total and value are
	total int64
	tie   uint64
	value any // nil: its record is not on the board
}

func newTotals(p part, periods, n int) *totals {
	t := &totals{part: p, n: n, byID: make(map[string]*contender)}
	for i := range min(periods, p.keep) {
		in := p
		in.at = p.per.add(p.when(), -i)
		if !in.gone() {
			t.periods = append(t.periods, &summand{at: in.at, last: math.MaxInt64})
		}
	}
	return t
}

// look reads each period down to depth, and then as many contenders as may be among
// the first.
func (t *totals) look(ctx context.Context, depth int) error {
	errs := kv.Each(ctx, t.host.Store(), t.periods, func(s kv.Store, _ int, in *summand) error { return t.read(ctx, s, in, depth) })
	if err := kv.Join(errs...); err != nil {
		return err
	}
	return t.know(ctx, t.doubtful(depth))
}

// read reads the period down to depth.
func (t *totals) read(ctx context.Context, s kv.Store, in *summand, depth int) error {
	if in.last == 0 {
		return nil
	}
	l, err := t.tree(t.by, in.at).Page(ctx, s, keytree.Between{}, true, in.next, depth-in.read, keytree.Want{Unverified: true})
	if err != nil {
		return err
	}
	for _, m := range l.Members {
		in.last = m.Score.Int()
		t.meet(m.ID, m.Score.Tie()).add(in)
	}
	in.read, in.next = depth, l.Next
	if in.next == nil {
		in.last = 0
	}
	return nil
}

// meet returns the contender with the id text.
func (t *totals) meet(id string, tie uint64) *contender {
	c, there := t.byID[id]
	if !there {
		c = &contender{id: id, tie: tie, seen: make(map[*summand]int64)}
		t.byID[id] = c
		t.met = append(t.met, c)
	}
	return c
}

// add notes that c was met in the period, as the last one.
func (c *contender) add(in *summand) {
	if _, there := c.seen[in]; !there {
		c.seen[in] = in.last
		c.sum = addUpTo(c.sum, in.last)
	}
}

// limit returns the highest total that c can have, of which only seen is known.
func (t *totals) limit(c *contender) int64 {
	sum := int64(0)
	for _, in := range t.periods {
		score, there := c.seen[in]
		if !there {
			score = in.last
		}
		sum = addUpTo(sum, score)
	}
	return sum
}

// doubtful returns up to n contenders that may be among the first and whose totals
// are not known, those of which most was seen first.
func (t *totals) doubtful(n int) []*contender {
	least := t.least()
	var some []*contender
	for _, c := range t.met {
		if !c.known && t.limit(c) > least {
			some = append(some, c)
		}
	}
	slices.SortStableFunc(some, func(a, b *contender) int { return cmp.Compare(b.sum, a.sum) })
	return some[:min(n, len(some))]
}

// know reads the records and the totals of some. One trip.
func (t *totals) know(ctx context.Context, some []*contender) error {
	if len(some) == 0 {
		return nil
	}
	ids := kv.Texts(some, func(c *contender) string { return c.id })
	var values []any
	works := []func(kv.Store) error{
		func(s kv.Store) (err error) { values, err = t.records(ctx, s, ids); return err },
	}
	counts := make([][]int64, len(t.periods))
	for i, in := range t.periods {
		works = append(works, func(s kv.Store) (err error) {
			counts[i], err = t.inPeriod(ctx, s, ids, in.at)
			return err
		})
	}
	if err := kv.Join(kv.Together(ctx, t.host.Store(), works...)...); err != nil {
		return err
	}
	for i, c := range some {
		c.known, c.value = true, values[i]
		for _, of := range counts {
			c.total += max(0, of[i])
		}
	}
	return nil
}

// first returns the first n of those that are known to be on the board.
func (t *totals) first() []keytree.Member {
	var members []keytree.Member
	for _, c := range t.met {
		if c.known && c.value != nil && c.total > 0 {
			members = append(members, keytree.Member{ID: c.id, Score: keytree.FromInt(c.total).WithTie(c.tie), Value: c.value})
		}
	}
	slices.SortStableFunc(members, func(a, b keytree.Member) int { return b.Score.Compare(a.Score) })
	return members[:min(t.n, len(members))]
}

// least returns the total of the last of the first n; 0 if there are fewer.
func (t *totals) least() int64 {
	first := t.first()
	if len(first) < t.n || t.n == 0 {
		return 0
	}
	return first[t.n-1].Score.Int()
}

// off returns how much higher than that of the last of the first n the total of a
// member may be that is not among them.
func (t *totals) off() int64 {
	if t.n == 0 {
		return 0
	}
	highest := t.limit(new(contender)) // One that was not met.
	for _, c := range t.met {
		if !c.known {
			highest = max(highest, t.limit(c))
		}
	}
	return max(0, highest-t.least())
}

// addUpTo returns a+b, or the limit that the sum exceeds.
func addUpTo(a, b int64) int64 {
	switch {
	case b > 0 && a > math.MaxInt64-b:
		return math.MaxInt64
	case b < 0 && a < math.MinInt64-b:
		return math.MinInt64
	}
	return a + b
}
