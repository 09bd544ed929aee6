package proof

import "github.com/ringtree/ringtree/kvmodel/kv"

// TryExplore is Explore, but returns the error, and TryNotices is Notices for one fault.
var (
	TryExplore = explore
	TryNotices = notices
)

// WithFault returns s with the fault that the environment names.
func WithFault(s kv.Store) kv.Store { return broken()(s) }
