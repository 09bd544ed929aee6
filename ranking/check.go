package ranking

import (
	"cmp"
	"context"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// Verify reads the whole board and reports problems, including records of ids that are missing. The
// board may change meanwhile.
func (b *Board[T, K, S]) Verify(ctx context.Context, ids ...K) (Report, error) {
	return b.part.verify(ctx, b.texts(ids))
}

func (p part) verify(ctx context.Context, ids []string) (Report, error) {
	ctx, end := p.host.Begin(ctx, "Verify")
	defer end()
	return p.reader().verify(ctx, ids)
}

func (b *Board[T, K, S]) texts(ids []K) []string { return kv.Texts(ids, b.key.Text) }

// Mend reports like Verify and repairs: it removes unneeded entries, adds missing entries of ids,
// rewrites damaged member records, and makes counts exact. A board by a counter also catches up
// with the counts of ids. A concurrent change may have to start over.
func (b *Board[T, K, S]) Mend(ctx context.Context, ids ...K) (Report, error) {
	return b.part.mend(ctx, b.texts(ids))
}

func (p part) mend(ctx context.Context, ids []string) (Report, error) {
	ctx, end := p.host.Begin(ctx, "Mend")
	defer end()
	if err := p.host.DB().Writable(); err != nil {
		return Report{}, p.failure(err)
	}
	if p.catchUp != nil {
		if err := p.catchUp(ctx, p.by, p.when(), ids); err != nil {
			return Report{}, p.failure(err)
		}
	}
	var first *Report
	err := p.withAllIfLost(ctx, ids, func(ids []string, lost uint64) error {
		found, err := p.reader().mend(ctx, ids, lost, p.clear)
		first = cmp.Or(first, &found)
		return err
	})
	return *cmp.Or(first, new(Report)), err
}

// Refresh reads every node and makes counts and ranks exact, unless the board changes meanwhile.
func (b *Board[T, K, S]) Refresh(ctx context.Context) error {
	ctx, end := b.part.host.Begin(ctx, "Refresh")
	defer end()
	return b.part.reader().refresh(ctx)
}

// Rebuild copies the board into new nodes, without empty or lost ones, and adds missing entries of
// ids. The board can be read and written meanwhile; it takes 45 seconds longer than the copying.
// ErrConflict: another process is rebuilding the board.
//
// A board whose scores only rise leaves empty nodes behind, about a byte for each change. Rebuild
// it when Verify counts more than a quarter as many leaves as members.
func (b *Board[T, K, S]) Rebuild(ctx context.Context, ids ...K) error {
	ctx, end := b.part.host.Begin(ctx, "Rebuild")
	defer end()
	return b.part.withAllIfLost(ctx, b.texts(ids), func(ids []string, lost uint64) error {
		return b.part.reader().rebuild(ctx, ids, lost)
	})
}

// Stats returns this process's statistics about the board, including its other values and periods.
func (b *Board[T, K, S]) Stats() Stats { return b.part.reader().stats() }

var _ kvmodel.Lister[struct{}] = (*Board[struct{}, string, int64])(nil)
var _ kvmodel.Lister[struct{}] = (*Span[struct{}])(nil)

// Report is the result of Verify.
type Report struct {
	Members int // records in their right place
	Stale   int // unneeded entries
	Pending int // entries of running or failed changes
	Drift   int // total error of counts
	Lost    int // nodes lost by the store

	Leaves, Routers, Depth int
	Way                    int // nodes on the paths to all entries
	Bytes                  int // size of all nodes

	Missing []string // given ids that should be on the board and are not
	Damaged []string // ids with unreadable member records
	Wrong   []string // a sentence for each broken invariant
}

// Stats is a process's statistics about its boards.
type Stats struct {
	Routers int // nodes remembered
	Bytes   int // of memory they take, about
	Lost    int // how often this process found a node lost
}

// Picture is the top of a board's stored tree.
type Picture struct {
	Root   Node     // without a Key if the board was never written
	Room   int      // capacity of a leaf, in entries
	Leaves []string // of each given record; "" if it is not on the board
}

// Node is a node of a tree. One that was read is a router if Below is not empty, otherwise a leaf.
type Node struct {
	Name   string // key0 and two digits for each level below the root: 1 is higher, 0 lower; for words see docs/internals/keys.md
	Key    string
	Read   bool   // false: the values come from the router above
	State  uint64 // changes with each write of the node; 0 if it was not read
	Count  int
	Bytes  int    // if it was read
	Closed bool   // empty, and skipped by readers
	Below  []Node // four nodes, highest scores first
}

// Picture returns the nodes on the paths to the records with ids, then others level by level, up to
// limit nodes and at most 1,024. Three trips, and one more for each level this process has not
// read.
func (b *Board[T, K, S]) Picture(ctx context.Context, limit int, ids ...K) (Picture, error) {
	return b.part.draw(ctx, limit, b.texts(ids))
}

func (p part) draw(ctx context.Context, limit int, ids []string) (Picture, error) {
	nothing := Picture{Leaves: make([]string, len(ids))}
	ctx, r, err := p.open(ctx, "Picture")
	if err != nil {
		return nothing, err
	}
	defer r.close()
	if r.tree == nil {
		return nothing, nil
	}
	drawn, err := r.tree.Picture(ctx, r.db.Store(), limit, ids)
	if drawn.Root == nil {
		return nothing, r.failure(err)
	}
	return Picture{nodeOf(drawn.Root), drawn.Limit, drawn.Leaves}, r.failure(err)
}

func nodeOf(n *keytree.PictureNode) Node {
	out := Node{Name: n.Name, Key: n.Key, Read: n.Read, State: n.State, Count: n.Count, Bytes: n.Bytes, Closed: n.Closed}
	for _, below := range n.Below {
		out.Below = append(out.Below, nodeOf(below))
	}
	return out
}

func (c *core) noteLoss(by string, at time.Time) {
	if c.tree(by, at).Lost() {
		c.losses.Store(boardKey{by, c.per.begin(at)}, true)
	}
}

// lookForLoss distrusts a tree if a node to which no record led is lost. On a board for each value,
// nobody knows which values there were.
func (c *core) lookForLoss(ctx context.Context, s kv.Store) error {
	if c.many {
		return nil
	}
	now := c.host.DB().Now()
	tree := c.tree("", now)
	err := tree.Scan(ctx, s, func([]string) error { return nil })
	lost, failed := tree.Distrust(ctx, s, err)
	if lost != 0 {
		c.losses.Store(boardKey{"", c.per.begin(now)}, true)
		return nil
	}
	return c.failure(cmp.Or(failed, err))
}

var _ plug.Finisher = (*core)(nil)

func (c *core) Finish(ctx context.Context, s kv.Store, _ plug.Steps) error {
	if err := c.lookForLoss(ctx, s); err != nil {
		return err
	}
	var lost []boardKey
	c.losses.Range(func(key, _ any) bool {
		lost = append(lost, key.(boardKey))
		c.losses.Delete(key)
		return true
	})
	if len(lost) == 0 {
		return nil
	}
	epochs := make([]uint64, len(lost))
	err := cmp.Or(kv.Each(ctx, s, lost, func(s kv.Store, i int, key boardKey) (err error) {
		epochs[i], err = c.tree(key.by, c.time(key.at)).Distrust(ctx, s, nil)
		return err
	})...)
	if err != nil {
		return c.failure(err)
	}
	ids, err := c.allOf(ctx, lost)
	if err != nil {
		return err
	}
	return c.failure(kv.Join(kv.Each(ctx, s, lost, func(s kv.Store, i int, key boardKey) error {
		if epochs[i] == 0 {
			return nil // Another process has filled it.
		}
		return c.tree(key.by, c.time(key.at)).Rebuild(ctx, s, ids[key.by], epochs[i])
	})...))
}

func (c *core) allOf(ctx context.Context, trees []boardKey) (map[string][]string, error) {
	ids := make(map[string][]string)
	for _, key := range trees {
		ids[key.by] = []string{}
	}
	err := c.host.Each(ctx, func(recs []*plug.Seen) error {
		for _, rec := range recs {
			for by := range ids {
				if c.stateOf(by, rec).In {
					ids[by] = append(ids[by], rec.ID)
				}
			}
		}
		return nil
	})
	return ids, err
}

const lossTries = 3

// withAllIfLost does work with ids. If the board has lost a part, it does work with all its
// records, for the epoch lost of its tree, a few times if it loses more.
func (p part) withAllIfLost(ctx context.Context, ids []string, work func(ids []string, lost uint64) error) error {
	tree, lost := p.tree(p.by, p.when()), uint64(0)
	for try := 0; ; try++ {
		err := work(ids, lost)
		now, failed := tree.Distrust(ctx, p.host.Store(), err)
		if failed != nil || now == 0 || now == lost || try == lossTries {
			return cmp.Or(err, p.failure(failed))
		}
		all, failed := p.allOf(ctx, []boardKey{{by: p.by}})
		if failed != nil {
			return p.failure(failed)
		}
		ids, lost = all[p.by], now
	}
}
