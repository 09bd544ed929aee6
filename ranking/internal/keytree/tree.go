package keytree

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Config says which tree to use and how.
type Config struct {
	// Name is a text from kv.JoinText, unique among the trees of a store.
	Name string
	Code Code

	// Truth reads the records of the members.
	Truth Truth

	// Local is what the process remembers; trees may share one.
	Local *Local

	Now     func() time.Time
	Expires time.Time // when the tree and all that belongs to it end; zero: never

	// Later does work after the reply; nil: that work is not done.
	Later func(work func(context.Context, kv.Store) error)

	// Atomic says that changes are transactions. What was seen in one may be undone, so
	// that the tree was there is asked again each time, and a definition that one has
	// written is read again by the next.
	Atomic bool

	// Dense says that the tree counts scores, for dense ranks. A tree that does has another
	// name than one that does not.
	Dense bool

	Limit int // entries of a leaf; 0 means 128
	Small int // up to how many members counts are kept exact; 0 means 8,192
}

// Tree is a ranking as one process uses it.
type Tree struct {
	Config
	name string // the beginning of its keys

	mu    sync.Mutex // never held during a trip
	meta  *meta      // as it was last read
	read  time.Time  // when meta was asked for
	last  *meta      // the last that was read, if any ever was
	wrote time.Time  // when a transaction wrote the definition that may not have ended; zero: none
	edge  edge       // as it was last read or written

	lastEpoch uint64 // that root was asked for
	lastRoot  string // what it returned

	// Behind the prefix of a memory, which hardly ever changes: the definition and a root.
	prefix         string
	metaIn, rootIn string
	rootOf         string // what rootIn is behind the prefix
}

// treeKey is the class of all keys of trees. What follows the name belongs to the
// text of its one part. A node's key must not be hashed, because it is the node's
// position.
var treeKey = kv.NewClass("rank", 1) // tree

// New returns the tree of c.
func New(c Config) *Tree {
	return &Tree{Config: c, name: treeKey.KeyOfText(nil, plug.TreeName(c.Name))}
}

// nodes returns the nodes of an epoch of t, for an operation of any length.
func (t *Tree) nodes(m *meta, epoch uint64) *nodes {
	p := new(nodes)
	t.open(p, m, epoch)
	return p
}

// open makes p what nodes returns.
func (t *Tree) open(p *nodes, m *meta, epoch uint64) {
	root := t.root(epoch)
	*p = nodes{
		order: m.order, epoch: epoch, name: root[:len(root)-len(":"+rootName)], root: root,
		limit: m.limit, small: cmp.Or(t.Small, smallTree), expire: t.Expires,
		local: t.Local, truth: t.Truth, now: t.Now, dense: t.Dense,
	}
}

// root returns the key of the root of an epoch.
func (t *Tree) root(epoch uint64) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lastRoot == "" || t.lastEpoch != epoch {
		t.lastEpoch, t.lastRoot = epoch, t.name+":"+strconv.FormatUint(epoch, 10)+":"+rootName
	}
	return t.lastRoot
}

// keysIn returns the keys of the definition and of the root whose key is root, "" if it is not
// known yet, in a memory with a prefix.
func (t *Tree) keysIn(prefix, root string) (metaKey, rootKey string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.metaIn == "" || t.prefix != prefix {
		t.prefix, t.metaIn, t.rootOf = prefix, prefix+t.name+metaName, ""
	}
	if root != "" && t.rootOf != root {
		t.rootOf, t.rootIn = root, prefix+root
	}
	return t.metaIn, t.rootIn
}

// known returns the definition if it is young enough to be used on s, otherwise nil.
func (t *Tree) known(s kv.Store) *meta {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.meta == nil || t.Now().Sub(t.read) > times.Definition || t.mayBeUndone(s) {
		return nil
	}
	return t.meta
}

// know keeps m, which was asked for at the time asked.
func (t *Tree) know(m *meta, asked time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if asked.Before(t.read) {
		return
	}
	t.meta, t.read = m, asked
	if m != nil && !t.Atomic {
		t.last = m
	}
}

// mayBeUndone reports whether s is a transaction, and the definition that is known may be of one
// that was undone. The caller holds the lock.
func (t *Tree) mayBeUndone(s kv.Store) bool {
	return t.Atomic && t.Now().Sub(t.wrote) < times.Definition && kv.PowersOf(s).Inside
}

// writing notes that the definition is about to be written on s.
func (t *Tree) writing(s kv.Store) {
	t.forget()
	if t.Atomic && kv.PowersOf(s).Inside {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.wrote = t.Now()
	}
}

// latest returns the definition as it was last read, nil if it never was.
func (t *Tree) latest() *meta {
	t.mu.Lock()
	defer t.mu.Unlock()
	return cmp.Or(t.meta, t.last)
}

// forget makes the next operation read the definition.
func (t *Tree) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.meta, t.read = nil, time.Time{}
}

// Leave forgets the tree's root, as the process forgets the tree.
func (t *Tree) Leave() {
	if m := t.latest(); m != nil {
		t.Local.forget([]string{t.nodes(m, m.epoch).key("")})
	}
}

// Size returns how many members the tree had when this process last saw its root
// as a router; 0 if it has not.
func (t *Tree) Size() int {
	t.mu.Lock()
	m := t.meta
	t.mu.Unlock()
	if m == nil {
		return 0
	}
	return t.nodes(m, m.epoch).size()
}

// epochs are those that one operation reads and writes.
type epochs struct {
	read  *nodes // nil: there is no such tree yet
	write []*nodes
	lost  bool // a part of the tree is missing until a rebuild
}

// epochs begins an operation, and does what is beside in the trip that reads the
// definition, if it has to be read. A writer makes the tree if there is none.
func (t *Tree) epochs(ctx context.Context, s kv.Store, writes bool, beside ...func(kv.Store) error) (*epochs, error) {
	began := t.Now()
	m, err := t.definition(ctx, s, beside)
	if err == nil && m == nil && writes {
		m, err = t.create(ctx, s)
	}
	if err != nil {
		return nil, err
	}
	return t.epochsOf(m, began), nil
}

// definition returns the definition, nil if there is none, and does what is beside in the
// trip that reads it, if it has to be read.
func (t *Tree) definition(ctx context.Context, s kv.Store, beside []func(kv.Store) error) (*meta, error) {
	if m := t.known(s); m != nil {
		return m, together(ctx, s, beside...)
	}
	var m *meta
	works := append(beside[:len(beside):len(beside)], func(s kv.Store) (err error) { m, err = t.readMeta(ctx, s); return err })
	err := together(ctx, s, works...)
	return m, err
}

// shownDefinition is definition for what is shown and nothing else.
func (t *Tree) shownDefinition(ctx context.Context, s kv.Store, shown *memory, beside []func(kv.Store) error) (*meta, error) {
	if shown.store == nil {
		return t.definition(ctx, s, beside)
	}
	if err := together(ctx, s, beside...); err != nil {
		return nil, err
	}
	metaKey, _ := t.keysIn(shown.prefix, "")
	found := shown.recall(metaKey, keepMeta)
	if found.Decoded == nil {
		results, err := kv.GetDecoded(ctx, kv.Near(s), keepMeta, t.metaKey())
		if err != nil {
			return nil, err
		}
		found = results[0]
	}
	if m, ok := found.Decoded.(*meta); ok && m.code == t.Code {
		return m, nil
	}
	return t.definition(ctx, s, nil)
}

func (t *Tree) epochsOf(m *meta, began time.Time) *epochs {
	if m == nil {
		return &epochs{}
	}
	read := t.nodes(m, m.epoch)
	read.began = began
	ep := &epochs{read: read, write: []*nodes{read}, lost: m.lost}
	if m.phase != idle {
		other := t.nodes(m, m.other)
		other.began = began
		ep.write = append(ep.write, other)
	}
	return ep
}

// together runs works side by side and returns the first error.
func together(ctx context.Context, s kv.Store, works ...func(kv.Store) error) error {
	if len(works) == 0 {
		return nil
	}
	return cmp.Or(kv.Together(ctx, s, works...)...)
}

// each does work for values side by side and returns the first error.
func each[V any](ctx context.Context, s kv.Store, values []V, work func(s kv.Store, i int, v V) error) error {
	return cmp.Or(kv.Each(ctx, s, values, work)...)
}

// beginTries bounds how often an operation begins again because the tree has moved
// to another epoch.
const beginTries = 8

// begin does work as a writer, and again if the epochs were out of date or one has lost a node.
func (t *Tree) begin(ctx context.Context, s kv.Store, work func(*epochs) error, beside ...func(kv.Store) error) error {
	var err error
	for range beginTries {
		var ep *epochs
		if ep, err = t.epochs(ctx, s, true, beside...); err != nil {
			return err
		}
		var loss *lossError
		switch err = work(ep); {
		case errors.As(err, &loss):
			t.forget()
			if err := t.distrust(ctx, s, loss.epoch); err != nil && !again(err) {
				return err
			}
		case errors.Is(err, errLate):
			t.forget()
		default:
			return err
		}
	}
	return err
}
