package proof

import "github.com/ringtree/ringtree/kvmodel/kv"

var (
	TryExplore = explore
	TryNotices = notices
)

func WithFault(s kv.Store) kv.Store { return broken()(s) }
