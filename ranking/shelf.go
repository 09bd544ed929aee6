package ranking

import (
	"sync"

	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// Limits on what a process remembers of one set of boards.
const (
	keptTrees   = 4096
	keptRouters = 1 << 17
)

// shelf keeps the trees of a set of boards. They share one memory of their nodes.
type shelf struct {
	local *keytree.Local

	mu    sync.Mutex
	trees map[string]*keytree.Tree
	names []string // in the order they came
}

func newShelf() *shelf {
	return &shelf{local: keytree.NewLocal(keptRouters), trees: make(map[string]*keytree.Tree)}
}

// tree returns the tree called name, and makes it from what config returns if it is not on
// the shelf.
func (sh *shelf) tree(name string, config func() keytree.Config) *keytree.Tree {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if t := sh.trees[name]; t != nil {
		return t
	}
	if len(sh.names) >= keptTrees {
		sh.trees[sh.names[0]].Leave()
		delete(sh.trees, sh.names[0])
		sh.names = sh.names[1:]
	}
	c := config()
	c.Name, c.Local = name, sh.local
	sh.trees[name] = keytree.New(c)
	sh.names = append(sh.names, name)
	return sh.trees[name]
}
