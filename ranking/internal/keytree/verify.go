package keytree

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Report is the result of Verify.
type Report struct {
	Members int // counted entries, confirmed by their records
	Stale   int // entries ruled out by their records
	Pending int // entries of failed or unfinished changes
	Drift   int // total error of slots
	Lost    int // missing nodes

	Leaves, Routers, Depth int
	Way                    int // total number of nodes on the paths to all entries
	Bytes                  int // of all nodes

	Missing []string // given members that should have an entry and do not
	Damaged []string // members with unreadable own records
	Wrong   []string // a sentence for each broken invariant

	doubtful []Doubt
	damaged  []entry // of members whose own records cannot be read
	lost     []*lossError
}

func (r *Report) add(other *Report) {
	r.Members += other.Members
	r.Stale += other.Stale
	r.Pending += other.Pending
	r.Drift += other.Drift
	r.Lost += other.Lost
	r.Leaves += other.Leaves
	r.Routers += other.Routers
	r.Bytes += other.Bytes
	r.Way += other.Way
	r.Depth = max(r.Depth, other.Depth)
	r.Wrong = append(r.Wrong, other.Wrong...)
	r.doubtful = append(r.doubtful, other.doubtful...)
	r.damaged = append(r.damaged, other.damaged...)
	r.lost = append(r.lost, other.lost...)
}

func (r *Report) addWrong(name, format string, args ...any) {
	r.Wrong = append(r.Wrong, fmt.Sprintf("node %q: ", name)+fmt.Sprintf(format, args...))
}

// Verify reads the whole tree and reports its problems, and which of the members ids lack the entry
// their records call for. It needs ids because a store cannot list its keys. If the tree changes
// while it runs, counts may be off and entries pending, but nothing is reported as wrong.
func (t *Tree) Verify(ctx context.Context, s kv.Store, ids []string) (Report, error) {
	ep, err := t.epochs(ctx, s, false)
	if err != nil {
		return Report{}, err
	}
	if ep.read == nil {
		// Nothing is stored, so all members are missing.
		states, err := t.Truth.States(ctx, s, ids)
		var r Report
		for i, st := range states {
			if st.In {
				r.Missing = append(r.Missing, ids[i])
			}
		}
		return r, err
	}
	v := &verifier{ep.read}
	r, err := v.node(ctx, s, "", slot{})
	if err != nil {
		return Report{}, err
	}
	if ep.lost {
		r.Wrong = append(r.Wrong, "a part was lost, and not rebuilt since from all members")
	}
	if err := v.given(ctx, s, r, ids); err != nil {
		return Report{}, err
	}
	r.doubtDamaged()
	return *r, nil
}

// doubtDamaged adds a doubt for each member with a damaged record. Its newest counted entry has the
// record's last state.
func (r *Report) doubtDamaged() {
	slices.SortFunc(r.damaged, func(a, b entry) int {
		return cmp.Or(strings.Compare(a.id, b.id), cmp.Compare(a.ver, b.ver))
	})
	for _, e := range r.damaged {
		if last := len(r.Damaged) - 1; last < 0 || r.Damaged[last] != e.id {
			r.Damaged = append(r.Damaged, e.id)
			r.doubtful = append(r.doubtful, Doubt{ID: e.id, Again: new(State)})
		}
		d := &r.doubtful[len(r.doubtful)-1]
		if d.Score, d.Past = e.score, e.ver; !e.pending {
			*d.Again = State{In: true, Score: e.score}
		}
	}
}

// mendRounds bounds how often Mend looks again.
const mendRounds = 4

// Mend does what Verify does, and repairs the tree: it calls clear to remove entries, and
// adds the members that are missing. Counts need a Refresh afterward. Of a tree that has lost
// something it does what Rebuild does.
func (t *Tree) Mend(ctx context.Context, s kv.Store, ids []string, lost uint64, clear func(context.Context, []Doubt) error) (Report, error) {
	first, err := t.Verify(ctx, s, ids)
	switch {
	case err != nil:
		return first, err
	case len(first.lost) > 0:
		return first, first.lost[0]
	case t.Lost():
		return first, t.Rebuild(ctx, s, ids, lost)
	}
	found := first
	for round := 1; err == nil && round < mendRounds && found.mendable(); round++ {
		if err = t.mend(ctx, s, found, clear); err == nil {
			found, err = t.Verify(ctx, s, ids)
		}
	}
	return first, err
}

func (r *Report) mendable() bool { return len(r.doubtful)+len(r.Missing) > 0 }

func (t *Tree) mend(ctx context.Context, s kv.Store, found Report, clear func(context.Context, []Doubt) error) error {
	if err := clear(ctx, found.doubtful); err != nil {
		return err
	}
	for _, id := range found.Missing {
		if err := t.Restore(ctx, s, id); err != nil {
			return err
		}
	}
	return nil
}

// Restore adds the entry of the member id, if its record says that it is in, and it is
// missing.
func (t *Tree) Restore(ctx context.Context, s kv.Store, id string) error {
	st, err := t.state(ctx, s, id)
	if err != nil || !st.In {
		return err
	}
	due, err := t.Repair(ctx, s, id, st.Score, st)
	if err != nil {
		return err
	}
	return due.Report(ctx, s)
}

// RestoreAll is Restore for many.
func (t *Tree) RestoreAll(ctx context.Context, s kv.Store, ids []string) error {
	due := new(Due)
	err := t.begin(ctx, s, func(ep *epochs) error {
		return ep.each(ctx, s, due, func(s kv.Store, p *nodes, due *reports) error { return p.restore(ctx, s, ids, due) })
	})
	return cmp.Or(err, due.Report(ctx, s))
}

// verifier checks the nodes of one epoch.
type verifier struct{ *nodes }

// node checks the node called name, with slot at in the router above, and all nodes below it.
func (v *verifier) node(ctx context.Context, s kv.Store, name string, at slot) (*Report, error) {
	r := new(Report)
	results, err := kv.GetAll(ctx, s, v.key(name))
	if err != nil {
		return nil, err
	}
	nd, err := decodeNode(results[0])
	if err != nil {
		return nil, err
	}
	if n := len(v.key(name)); n > kv.MaxKey-kv.MaxTenant-1 {
		r.addWrong(name, "its key has %d bytes", n)
	}
	if n := len(results[0].Value); n > 64<<10 {
		r.addWrong(name, "it has %d bytes", n)
	}
	r.Bytes, r.Depth = len(results[0].Value), len(name)/perLevel
	if name != "" && at.seq > nd.seq()+1 {
		r.addWrong(name, "its slot is at %d and it is at %d", at.seq, nd.seq())
	}
	switch {
	case nd.leaf != nil:
		return r, v.leaf(ctx, s, r, name, at, nd.leaf)
	case nd.router != nil:
		return r, v.router(ctx, s, r, name, at, nd.router)
	}
	r.Lost++
	r.lost = append(r.lost, &lossError{v.epoch, name, v.key(name)})
	return r, nil
}

// router checks a router and all nodes below it.
func (v *verifier) router(ctx context.Context, s kv.Store, r *Report, name string, at slot, nd *router) error {
	r.Routers++
	if name != "" {
		r.Drift += at.off(v.total(name, nd))
	}
	if nd.closed && (!nd.empty() || name == "") {
		r.addWrong(name, "it is closed and not empty, or the root")
	}
	below := make([]*Report, len(nd.slots))
	err := nd.eachBelow(ctx, s, func(s kv.Store, i int, child slot) (err error) {
		below[i], err = v.node(ctx, s, childName(name, i), child)
		return err
	})
	if err != nil {
		return err
	}
	for i, child := range nd.slots {
		if n := below[i].Members + below[i].Pending + below[i].Stale; child.closed && n > 0 {
			r.addWrong(childName(name, i), "its slot is closed, and %d entries are below", n)
		}
		r.add(below[i])
	}
	return nil
}

func (v *verifier) leaf(ctx context.Context, s kv.Store, r *Report, name string, at slot, l *leaf) error {
	r.Leaves++
	r.Way += len(l.entries) * (len(name)/perLevel + 1)
	if name != "" {
		r.Drift += at.off(v.live(l))
	}
	if l.closed && len(l.entries) > 0 {
		r.addWrong(name, "it is closed and holds %d entries", len(l.entries))
	}
	if l.full(v.limit) && v.splits(name) && !l.splitting {
		r.addWrong(name, "it holds %d entries in %d bytes", len(l.entries), l.bytes())
	}
	v.inOrder(r, name, l)
	return v.entries(ctx, s, r, l)
}

// inOrder checks that the entries of l belong there and are in order.
func (v *verifier) inOrder(r *Report, name string, l *leaf) {
	last, ver := lowest, uint64(0)
	for _, e := range l.entries {
		q := v.point(e.score, e.id)
		if order := q.compare(last); order < 0 || order == 0 && e.ver <= ver {
			r.addWrong(name, "the entry of %s is not in order", e.id)
		}
		if bits := v.bits(q); !strings.HasPrefix(bits, name) {
			r.addWrong(name, "the entry of %s belongs at %s", e.id, bits)
		}
		last, ver = q, e.ver
	}
}

// entries compares the entries of l with their records.
func (v *verifier) entries(ctx context.Context, s kv.Store, r *Report, l *leaf) error {
	if len(l.entries) == 0 {
		return nil
	}
	states, err := v.truth.States(ctx, s, idsOf(l.entries))
	if err != nil && (states == nil || !wire.IsCorrupt(err)) {
		return err
	}
	counted := l.counted()
	for i, e := range l.entries {
		switch st := states[i]; {
		case st.Broken != nil && err != nil:
			r.Members++ // The record belongs to a model, which checks it.
		case st.Broken != nil:
			r.Members++
			r.damaged = append(r.damaged, e)
		case st.confirms(e) && slices.Contains(counted, e):
			r.Members++
		case e.ver > st.Ver:
			r.Pending++
			r.doubtful = append(r.doubtful, Doubt{ID: e.id, Score: e.score, Past: e.ver})
		case st.confirms(e) && e.pending:
			r.Pending++
			r.doubtful = append(r.doubtful, Doubt{ID: e.id, Score: e.score})
		default:
			r.Stale++
			r.doubtful = append(r.doubtful, Doubt{ID: e.id, Score: e.score})
		}
	}
	return nil
}

const verifiedAtOnce = 100

// given adds to r the members ids that should have an entry and do not, and those with damaged
// records.
func (v *verifier) given(ctx context.Context, s kv.Store, r *Report, ids []string) error {
	for batch := range slices.Chunk(ids, verifiedAtOnce) {
		states, err := v.truth.States(ctx, s, batch)
		if err != nil {
			return err
		}
		has, err := v.hold(ctx, s, batch, states)
		if err != nil {
			return err
		}
		for i, id := range batch {
			switch {
			case states[i].Broken != nil:
				r.damaged = append(r.damaged, entry{id: id, pending: true})
			case !has[i]:
				r.Missing = append(r.Missing, id)
			}
		}
	}
	return nil
}

// Has reports, for each of the members ids, whether it has the entry that its record calls for, if
// any. states are the states of the records.
func (t *Tree) Has(ctx context.Context, s kv.Store, ids []string, states []State) ([]bool, error) {
	ep, err := t.epochs(ctx, s, false)
	if err != nil {
		return nil, err
	}
	if ep.read == nil {
		has := make([]bool, len(ids))
		for i := range has {
			has[i] = !states[i].In
		}
		return has, nil
	}
	v := &verifier{ep.read}
	has := make([]bool, 0, len(ids))
	for from := 0; from < len(ids); from += verifiedAtOnce {
		to := min(from+verifiedAtOnce, len(ids))
		some, err := v.hold(ctx, s, ids[from:to], states[from:to])
		if err != nil {
			return nil, err
		}
		has = append(has, some...)
	}
	return has, nil
}

// hold is Has for one epoch. It reads each node once.
func (v *verifier) hold(ctx context.Context, s kv.Store, ids []string, states []State) ([]bool, error) {
	r := v.reading()
	around := make([]stretch, len(ids))
	var walks []func(look) bool
	var aims []string
	for i, id := range ids {
		if states[i].In {
			q := v.point(states[i].Score, id)
			around[i] = stretch{q.beside(false), q.beside(true)}
			walks, aims = append(walks, r.reach(around[i], 1)), append(aims, r.bits(q))
		}
	}
	if err := r.answerAll(ctx, s, walks, aims); err != nil {
		return nil, err
	}
	has := make([]bool, len(ids))
	for i, id := range ids {
		if has[i] = !states[i].In; !has[i] {
			entries, _ := r.entries(around[i], math.MaxInt)
			has[i] = slices.ContainsFunc(entries, func(e entry) bool { return e.id == id && states[i].confirms(e) })
		}
	}
	return has, nil
}
