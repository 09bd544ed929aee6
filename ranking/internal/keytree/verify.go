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

type Findings struct {
	Members int
	Stale   int
	Pending int
	Drift   int
	Lost    int

	Leaves, Routers, Depth int
	Way                    int
	Bytes                  int

	Missing []string
	Damaged []string
	Wrong   []string
}

type Report struct {
	Findings
	doubtful []Doubt
	damaged  []entry
	lost     []*lossError
}

// Verify reads the whole tree and reports its problems, and which of the members ids lack their
// entry. If the tree changes meanwhile, counts may be off and entries pending, but nothing is
// reported as wrong.
func (t *Tree) Verify(ctx context.Context, s kv.Store, ids []string) (Report, error) {
	ep, err := t.epochs(ctx, s, false)
	if err != nil {
		return Report{}, err
	}
	v := &verifier{nodes: ep.read}
	if ep.read != nil {
		if _, err := v.node(ctx, s, "", slot{}); err != nil {
			return Report{}, err
		}
	}
	if ep.lost {
		v.Wrong = append(v.Wrong, "a part was lost, and not rebuilt since from all members")
	}
	if err := v.given(ctx, s, t.Truth, ids); err != nil {
		return Report{}, err
	}
	v.doubtDamaged()
	return v.Report, nil
}

// doubtDamaged: the newest counted entry has the last state of a damaged record.
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

const mendRounds = 4

// Mend is Verify, and repairs the tree: it calls clear to remove entries, and adds missing members.
// Counts need a Refresh afterward. A tree that has lost something is rebuilt.
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
	for round := 1; err == nil && round < mendRounds && len(found.doubtful)+len(found.Missing) > 0; round++ {
		err = clear(ctx, found.doubtful)
		for missing := range slices.Chunk(found.Missing, verifiedAtOnce) {
			if err == nil {
				err = t.RestoreAll(ctx, s, missing)
			}
		}
		if err == nil {
			found, err = t.Verify(ctx, s, ids)
		}
	}
	return first, err
}

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

// RestoreAll does not correct counts.
func (t *Tree) RestoreAll(ctx context.Context, s kv.Store, ids []string) error {
	due := new(Due)
	err := t.begin(ctx, s, func(ep *epochs) error {
		return ep.each(ctx, s, due, func(s kv.Store, p *nodes, due *reports) error { return p.restore(ctx, s, ids, due) })
	})
	return cmp.Or(err, due.Report(ctx, s))
}

type verifier struct {
	*nodes
	Report
}

func (v *verifier) wrong(name, format string, args ...any) {
	v.Wrong = append(v.Wrong, fmt.Sprintf("node %q: ", name)+fmt.Sprintf(format, args...))
}

func (v *verifier) node(ctx context.Context, s kv.Store, name string, at slot) (entries int, err error) {
	key := v.key(name)
	results, err := kv.GetAll(ctx, s, key)
	if err != nil {
		return 0, err
	}
	nd, err := decodeNode(results[0])
	if err != nil {
		return 0, err
	}
	if len(key) > kv.MaxKey-kv.MaxTenant-1 {
		v.wrong(name, "its key has %d bytes", len(key))
	}
	size := len(results[0].Value)
	if size > 64<<10 {
		v.wrong(name, "it has %d bytes", size)
	}
	v.Bytes, v.Depth = v.Bytes+size, max(v.Depth, len(name)/perLevel)
	if name != "" && at.seq > nd.seq()+1 {
		v.wrong(name, "its slot is at %d and it is at %d", at.seq, nd.seq())
	}
	switch {
	case nd.leaf != nil:
		return len(nd.leaf.entries), v.leaf(ctx, s, name, at, nd.leaf)
	case nd.router != nil:
		return v.router(ctx, s, name, at, nd.router)
	}
	v.Lost++
	v.lost = append(v.lost, &lossError{v.epoch, name, key})
	return 0, nil
}

func (v *verifier) router(ctx context.Context, s kv.Store, name string, at slot, nd *router) (entries int, err error) {
	v.Routers++
	if name != "" {
		v.Drift += at.off(v.total(name, nd))
	}
	if nd.closed && (!nd.empty() || name == "") {
		v.wrong(name, "it is closed and not empty, or the root")
	}
	err = nd.eachBelow(ctx, s, func(s kv.Store, i int, child slot) error {
		n, err := v.node(ctx, s, childName(name, i), child)
		if child.closed && n > 0 {
			v.wrong(childName(name, i), "its slot is closed, and %d entries are below", n)
		}
		entries += n
		return err
	})
	return entries, err
}

func (v *verifier) leaf(ctx context.Context, s kv.Store, name string, at slot, l *leaf) error {
	v.Leaves++
	v.Way += len(l.entries) * (len(name)/perLevel + 1)
	if name != "" {
		v.Drift += at.off(v.live(l))
	}
	if l.closed && len(l.entries) > 0 {
		v.wrong(name, "it is closed and holds %d entries", len(l.entries))
	}
	if l.full(v.limit) && v.splits(name) && !l.splitting {
		v.wrong(name, "it holds %d entries in %d bytes", len(l.entries), l.bytes())
	}
	v.inOrder(name, l)
	return v.entries(ctx, s, l)
}

func (v *verifier) inOrder(name string, l *leaf) {
	last, ver := lowest, uint64(0)
	for _, e := range l.entries {
		q := v.point(e.score, e.id)
		if order := q.compare(last); order < 0 || order == 0 && e.ver <= ver {
			v.wrong(name, "the entry of %s is not in order", e.id)
		}
		if bits := v.bits(q); !strings.HasPrefix(bits, name) {
			v.wrong(name, "the entry of %s belongs at %s", e.id, bits)
		}
		last, ver = q, e.ver
	}
}

func (v *verifier) entries(ctx context.Context, s kv.Store, l *leaf) error {
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
			v.Members++ // The record belongs to a model, which checks it.
		case st.Broken != nil:
			v.Members++
			v.damaged = append(v.damaged, e)
		case st.confirms(e) && slices.Contains(counted, e):
			v.Members++
		case e.ver > st.Ver:
			v.Pending++
			v.doubtful = append(v.doubtful, Doubt{ID: e.id, Score: e.score, Past: e.ver})
		case st.confirms(e) && e.pending:
			v.Pending++
			v.doubtful = append(v.doubtful, Doubt{ID: e.id, Score: e.score})
		default:
			v.Stale++
			v.doubtful = append(v.doubtful, Doubt{ID: e.id, Score: e.score})
		}
	}
	return nil
}

const verifiedAtOnce = 100

func (v *verifier) given(ctx context.Context, s kv.Store, truth Truth, ids []string) error {
	for batch := range slices.Chunk(ids, verifiedAtOnce) {
		states, err := truth.States(ctx, s, batch)
		if err != nil {
			return err
		}
		has, err := v.nodes.hold(ctx, s, batch, states)
		if err != nil {
			return err
		}
		for i, id := range batch {
			switch {
			case states[i].Broken != nil:
				v.damaged = append(v.damaged, entry{id: id, pending: true})
			case !has[i]:
				v.Missing = append(v.Missing, id)
			}
		}
	}
	return nil
}

// Has reports whether each of the members ids has the entry that its record, in one of states,
// calls for.
func (t *Tree) Has(ctx context.Context, s kv.Store, ids []string, states []State) (has []bool, err error) {
	ep, err := t.epochs(ctx, s, false)
	if err != nil {
		return nil, err
	}
	for from := 0; from < len(ids); from += verifiedAtOnce {
		to := min(from+verifiedAtOnce, len(ids))
		some, err := ep.read.hold(ctx, s, ids[from:to], states[from:to])
		if err != nil {
			return nil, err
		}
		has = append(has, some...)
	}
	return has, nil
}

func (p *nodes) hold(ctx context.Context, s kv.Store, ids []string, states []State) ([]bool, error) {
	has := make([]bool, len(ids))
	for i := range has {
		has[i] = !states[i].In
	}
	if p == nil {
		return has, nil
	}
	r := p.reading()
	around := make([]stretch, len(ids))
	var walks []func(look) bool
	var aims []string
	for i, id := range ids {
		if states[i].In {
			q := p.point(states[i].Score, id)
			around[i] = q.only()
			walks, aims = append(walks, r.reach(around[i], 1)), append(aims, r.bits(q))
		}
	}
	if err := r.answerAll(ctx, s, walks, aims); err != nil {
		return nil, err
	}
	for i, id := range ids {
		if states[i].In {
			entries, _ := r.entries(around[i], math.MaxInt)
			has[i] = slices.ContainsFunc(entries, func(e entry) bool { return e.id == id && states[i].confirms(e) })
		}
	}
	return has, nil
}
