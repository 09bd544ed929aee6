package index

import "github.com/ringtree/ringtree/index/internal/memberlog"

// Limits returns the limits for the upkeep of the lists. A test may change them
// before using the lists.
func (l *Lists[T, K, V]) Limits() *memberlog.Limits { return &l.logs.Limits }

// Limits returns the limits for the upkeep of the sets.
func (s *Sets[V, K]) Limits() *memberlog.Limits { return &s.logs.Limits }
