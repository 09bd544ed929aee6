package keytree

import (
	"cmp"
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

type Config struct {
	Name    string // from kv.JoinText, unique in the store
	Code    Code
	Truth   Truth
	Local   *Local
	Now     func() time.Time
	Expires time.Time // zero: never

	Later func(work func(context.Context, kv.Store) error)

	// Atomic: changes are transactions, which may be undone. So the tree's existence is checked
	// each time, and a definition written in one is reread in the next.
	Atomic bool

	Dense bool // for dense ranks; needs a name of its own

	Limit int // entries per leaf; 0 means 128
	Small int // size up to which counts are exact; 0 means 8,192
}

const smallTree = 8192

type Tree struct {
	Config
	name string

	mu    sync.Mutex // never held during a trip
	meta  *meta
	read  time.Time // time of that read's request
	last  *meta
	wrote time.Time // last write in a transaction
	edge  edge

	lastEpoch uint64
	lastRoot  string

	// Behind prefix, which hardly ever changes:
	prefix         string
	metaIn, rootIn string
	rootOf         string
}

// A node's key is its position and must not be hashed, so everything after the name belongs to the
// text of the one part.
var treeKey = kv.NewClass("rank", 1)

func New(c Config) *Tree {
	return &Tree{Config: c, name: treeKey.KeyOfText(nil, plug.TreeName(c.Name))}
}

func (t *Tree) nodes(m *meta, epoch uint64) *nodes {
	p := new(nodes)
	t.open(p, m, epoch)
	return p
}

func (t *Tree) open(p *nodes, m *meta, epoch uint64) {
	root := t.rootKey(epoch)
	*p = nodes{
		order: m.order, epoch: epoch, name: root[:len(root)-len(":"+rootName)], root: root,
		limit: m.limit, small: cmp.Or(t.Small, smallTree), expire: t.Expires,
		local: t.Local, truth: t.Truth, now: t.Now, dense: t.Dense,
	}
}

func (t *Tree) rootKey(epoch uint64) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lastRoot == "" || t.lastEpoch != epoch {
		t.lastEpoch, t.lastRoot = epoch, t.name+":"+strconv.FormatUint(epoch, 10)+":"+rootName
	}
	return t.lastRoot
}

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

func (t *Tree) known(s kv.Store) *meta {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.meta == nil || t.Now().Sub(t.read) > times.Definition || t.mayBeUndone(s) {
		return nil
	}
	return t.meta
}

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

// mayBeUndone: the definition may come from a transaction that was undone. The caller holds mu.
func (t *Tree) mayBeUndone(s kv.Store) bool {
	return t.Atomic && t.Now().Sub(t.wrote) < times.Definition && kv.PowersOf(s).Inside
}

func (t *Tree) writing(s kv.Store) {
	t.forget()
	if t.Atomic && kv.PowersOf(s).Inside {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.wrote = t.Now()
	}
}

func (t *Tree) latest() *meta {
	t.mu.Lock()
	defer t.mu.Unlock()
	return cmp.Or(t.meta, t.last)
}

func (t *Tree) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.meta, t.read = nil, time.Time{}
}

func (t *Tree) Leave() {
	if m := t.latest(); m != nil {
		t.Local.forget([]string{t.nodes(m, m.epoch).key("")})
	}
}

// Size is 0 unless the root was read as a router.
func (t *Tree) Size() int {
	t.mu.Lock()
	m := t.meta
	t.mu.Unlock()
	if m == nil {
		return 0
	}
	return t.nodes(m, m.epoch).size()
}

func (t *Tree) knownEdge() edge {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.edge
}

func (t *Tree) keepEdge(e edge) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.edge = e
}

func (t *Tree) unseen() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.Atomic || t.last == nil && t.edge.epoch == 0
}
