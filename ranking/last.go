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

// Last returns the n records with the highest totals over the last periods, including the current
// one: on a board per day, Last(ctx, 7, 20) is the top twenty of the last seven days.
//
// The totals are exact. To choose the records, Last reads the first 2n of each period, in two
// trips, and, while a record further down could still beat the last of places, the first 8n and
// 32n, in two trips each. If one still could, off is the largest possible lead of its total.
// ErrInvalid: the board does not count by periods.
func (b *Board[T, K, S]) Last(ctx context.Context, periods, n int) (places []Place[T, S], off S, err error) {
	first, by, err := b.part.last(ctx, periods, n)
	if err != nil {
		return nil, off, err
	}
	return b.places(keytree.Part{Members: first}), b.of.from(keytree.FromInt(by)), nil
}

func (p part) last(ctx context.Context, periods, n int) (first []keytree.Member, off int64, err error) {
	ctx, end := p.host.Begin(ctx, "Last")
	defer end()
	if p.per == Forever || p.scored {
		return nil, 0, p.failure(fmt.Errorf("%w: it has no periods (per=)", kvmodel.ErrInvalid))
	}
	if err := p.host.Ready(ctx); err != nil {
		return nil, 0, err
	}
	t := newTotals(p, periods, max(0, n))
	for _, depth := range []int{2 * t.n, 8 * t.n, 32 * t.n} {
		if err := t.deepen(ctx, depth); err != nil {
			return nil, 0, p.failure(err)
		}
		if t.off() == 0 {
			break
		}
	}
	return t.first(), t.off(), nil
}

// totals reads each period from its top: a member not read so far scores at most the last score
// read.
type totals struct {
	part
	n       int
	periods []*summand
	met     []*contender
	byID    map[string]*contender
}

type summand struct {
	at   time.Time
	read int
	next []byte
	last int64 // score read; 0 at the end of the period
}

type contender struct {
	id    string
	seen  map[*summand]int64
	sum   int64
	known bool
	total int64
	tie   uint64
	value any // nil: not on the board
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

// deepen reads each period down to depth, and then totals of possible winners.
func (t *totals) deepen(ctx context.Context, depth int) error {
	errs := kv.Each(ctx, t.host.Store(), t.periods, func(s kv.Store, _ int, in *summand) error { return t.read(ctx, s, in, depth) })
	if err := kv.Join(errs...); err != nil {
		return err
	}
	return t.know(ctx, t.doubtful(depth))
}

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

func (t *totals) meet(id string, tie uint64) *contender {
	c, there := t.byID[id]
	if !there {
		c = &contender{id: id, tie: tie, seen: make(map[*summand]int64)}
		t.byID[id] = c
		t.met = append(t.met, c)
	}
	return c
}

func (c *contender) add(in *summand) {
	if _, there := c.seen[in]; !there {
		c.seen[in] = in.last
		c.sum = addUpTo(c.sum, in.last)
	}
}

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

// doubtful returns up to n possible winners with unknown totals, the best first.
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

func (t *totals) least() int64 {
	first := t.first()
	if len(first) < t.n || t.n == 0 {
		return 0
	}
	return first[t.n-1].Score.Int()
}

// off returns by how much a member outside of first may beat the lowest total in it.
func (t *totals) off() int64 {
	if t.n == 0 {
		return 0
	}
	highest := t.limit(new(contender)) // of a member not read in any period
	for _, c := range t.met {
		if !c.known {
			highest = max(highest, t.limit(c))
		}
	}
	return max(0, highest-t.least())
}

func addUpTo(a, b int64) int64 {
	switch {
	case b > 0 && a > math.MaxInt64-b:
		return math.MaxInt64
	case b < 0 && a < math.MinInt64-b:
		return math.MinInt64
	}
	return a + b
}
