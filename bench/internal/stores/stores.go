// Package stores has stores that stand for others.
package stores

import (
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Outliving is a store that its users do not close.
type Outliving struct{ kvmodel.Store }

// Powers returns those of the store.
func (o Outliving) Powers() kv.Powers { return kv.PowersOf(o.Store) }

// Close does nothing.
func (Outliving) Close() error { return nil }

// With is a store with some of its powers.
type With struct {
	Outliving
	Has kv.Powers
}

// Powers returns those that it is said to have.
func (w With) Powers() kv.Powers { return w.Has }
