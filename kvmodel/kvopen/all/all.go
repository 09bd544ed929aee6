// Package all links every engine of this module, so that the URL alone chooses the store:
//
//	db, err := kvopen.Open(ctx, url, all.Engines)
//
// A program that knows what it will be run on links less when it names its engine.
package all

import (
	"slices"

	"github.com/ringtree/ringtree/kvmodel/memcachekv"
	"github.com/ringtree/ringtree/kvmodel/rediskv"
)

// Engines opens every kind of store that kvopen does not open by itself.
var Engines = slices.Concat(memcachekv.Engine, rediskv.Engine)
