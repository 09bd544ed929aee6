// Package stores has wrappers of stores.
package stores

import (
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Outliving is not closed by its users.
type Outliving struct{ kv.Store }

func (o Outliving) Powers() kv.Powers { return kv.PowersOf(o.Store) }

func (Outliving) Close() error { return nil }

// With is a store with some of its powers.
type With struct {
	Outliving
	Has kv.Powers
}

func (w With) Powers() kv.Powers { return w.Has }
