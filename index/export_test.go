package index

import "github.com/ringtree/ringtree/index/internal/memberlog"

// Limits returns the limits that the upkeep of the lists goes by, to be changed
// before they are used.
func (l *Lists[T, K, V]) Limits() *memberlog.Limits { return &l.logs.Limits }

// Limits returns the limits that the upkeep of the sets goes by.
func (s *Sets[V, K]) Limits() *memberlog.Limits { return &s.logs.Limits }
