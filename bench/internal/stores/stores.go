// Package stores has wrappers of stores.
package stores

import (
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Outliving is a store that its users do not close.
type Outliving struct{ kvmodel.Store }

// Powers returns the powers of the store.
func (o Outliving) Powers() kv.Powers { return kv.PowersOf(o.Store) }

// Close does nothing.
func (Outliving) Close() error { return nil }

// With is a store with some of its powers.
type With struct {
	Outliving
	Has kv.Powers
}

// Powers returns Has.
func (w With) Powers() kv.Powers { return w.Has }
