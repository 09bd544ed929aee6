// Package recent caches reads for a moment.
package recent

import (
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Reads caches recently read records with their versions, so that an Update after a Get need not
// read again. The commit compares the version: an outdated copy costs a trip, never a change.
type Reads [512]atomic.Pointer[read]

type read struct {
	key     string
	results []kv.Result // of the record and its counters
	at      time.Time
}

const (
	keptFor   = time.Second
	keptBytes = 16 << 10 // larger records are not cached
)

func (r *Reads) slot(key string) *atomic.Pointer[read] {
	hash := uint32(2166136261)
	for i := range len(key) {
		hash = (hash ^ uint32(key[i])) * 16777619
	}
	return &r[hash%uint32(len(r))]
}

func (r *Reads) Keep(key string, results []kv.Result, now time.Time) {
	if first := results[0]; first.Err == nil && len(first.Value) <= keptBytes {
		r.slot(key).Store(&read{key, results, now})
	}
}

func (r *Reads) Take(key string, now time.Time) ([]kv.Result, bool) {
	slot := r.slot(key)
	kept := slot.Load()
	if kept == nil || kept.key != key || !slot.CompareAndSwap(kept, nil) || now.Sub(kept.at) > keptFor {
		return nil, false
	}
	return kept.results, true
}

func (r *Reads) Drop(key string) {
	slot := r.slot(key)
	if kept := slot.Load(); kept != nil && kept.key == key {
		slot.CompareAndSwap(kept, nil)
	}
}
