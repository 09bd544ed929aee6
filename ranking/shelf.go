package ranking

import (
	"sync"

	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

const (
	keptTrees   = 4096
	keptRouters = 1 << 17
)

// shelf caches the trees of a set of boards, which share one cache of nodes.
type shelf struct {
	local *keytree.Local

	mu    sync.Mutex
	trees map[string]*keytree.Tree
	names []string // oldest first
}

func newShelf() *shelf {
	return &shelf{local: keytree.NewLocal(keptRouters), trees: make(map[string]*keytree.Tree)}
}

func (sh *shelf) known(name []byte) *keytree.Tree {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.trees[string(name)]
}

func (sh *shelf) tree(c keytree.Config) *keytree.Tree {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if t := sh.trees[c.Name]; t != nil {
		return t
	}
	if len(sh.names) >= keptTrees {
		sh.trees[sh.names[0]].Leave()
		delete(sh.trees, sh.names[0])
		sh.names = sh.names[1:]
	}
	c.Local = sh.local
	sh.trees[c.Name] = keytree.New(c)
	sh.names = append(sh.names, c.Name)
	return sh.trees[c.Name]
}

type tree struct {
	*keytree.Tree
	own *keytree.Own // nil if the model's records hold the scores
}
