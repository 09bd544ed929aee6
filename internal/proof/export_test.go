package proof

import "github.com/ringtree/ringtree/kvmodel/kv"

// TryExplore is Explore that returns what is wrong, and TryNotices Notices of one fault.
var (
	TryExplore = explore
	TryNotices = notices
)

// WithFault returns s with the fault that the environment names.
func WithFault(s kv.Store) kv.Store { return broken()(s) }
