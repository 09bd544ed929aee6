// Package enumeration lists the ids of a model's records.
//
// The ids stand in a row of numbered chunks. The head names the first and the last,
// and each chunk has the nonce of the one before it. So a chunk that is gone, or is
// not the one that was there, is noticed: that is a loss, and never the end. The
// rules, whose letters the code uses, are in docs/write-path.md.
package enumeration

import (
	"sync"
	"time"
)

const (
	chunkBytes   = 4 << 10 // the size from which a chunk is followed by a new one
	chunksAtOnce = 64      // read in one trip
	idsAtOnce    = 256     // appended in one trip
	batchSize    = 100     // ids given to the func of Each
	maxTries     = 16
)

// Enumeration is the ids of a model. An id may be in it twice, and those of deleted
// records stay until the next compaction: only the record says whether it exists.
type Enumeration struct {
	model string
	now   func() time.Time
	full  int // the size from which a chunk is followed by a new one

	mu   sync.Mutex // never held during a trip
	last growth     // the chunk this process appends to
}

// growth is what an addition did to the enumeration.
type growth struct {
	chunk  int64
	looked time.Time // when the head was last asked for that
	size   int       // of what was put into it
}

// New returns the enumeration of model.
func New(model string, now func() time.Time) *Enumeration {
	return &Enumeration{model: model, now: now, full: chunkBytes}
}
