// Package enumeration lists the ids of a model's records.
package enumeration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/ringtree/ringtree/internal/numbering"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

var chunkKey = kv.NewClass("all", 2) // model, number of the chunk

const (
	chunkBytes   = 4 << 10 // the size from which a chunk is followed by a new one
	chunksAtOnce = 16      // read in one trip
	idsAtOnce    = 256     // appended in one trip
	batchSize    = 100     // ids given to the func of Each
)

// Enumeration is a row of numbered chunks to which ids are appended. An id may be
// in it twice, and the ids of deleted records stay: only the record says whether
// it exists.
type Enumeration struct {
	model  string
	chunks numbering.Row

	mu   sync.Mutex // never held during a trip
	last int64      // the chunk this process appends to
	size int        // what it has put into that
}

// Growth is what an addition did to the enumeration.
type Growth struct {
	chunk int64
	size  int
}

// New returns the enumeration of model.
func New(model string) *Enumeration {
	return &Enumeration{model: model, chunks: numbering.Row{Key: func(n int64) string {
		return chunkKey.Key(model, strconv.FormatInt(n, 10))
	}}}
}

// Put adds ids.
func (e *Enumeration) Put(ctx context.Context, s kv.Store, ids []string) error {
	for batch := range slices.Chunk(ids, idsAtOnce) {
		g, err := e.Add(ctx, s, batch)
		if err != nil {
			return err
		}
		e.Grew(g)
	}
	return nil
}

// Add appends ids to the last chunk, or to a new one. Call Grew once it is
// certain that they stay.
func (e *Enumeration) Add(ctx context.Context, s kv.Store, ids []string) (Growth, error) {
	data := wire.AppendTexts(nil, ids)
	last, size := e.where()
	if last > 0 && size+len(data) <= chunkBytes {
		err := kv.AppendSurely(ctx, s, e.chunks.Key(last), data)
		if !errors.Is(err, kv.ErrNotStored) {
			return Growth{last, len(data)}, err
		}
	}
	// Another process may have begun a chunk already.
	n, err := e.chunks.Last(ctx, s)
	if err == nil && n > last {
		err = kv.AppendSurely(ctx, s, e.chunks.Key(n), data)
		if !errors.Is(err, kv.ErrNotStored) {
			return Growth{n, len(data)}, err
		}
		err = nil
	}
	if err == nil {
		n, err = e.chunks.Add(ctx, s, data)
	}
	return Growth{n, len(data)}, err
}

func (e *Enumeration) where() (last int64, size int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.last, e.size
}

// Grew remembers an addition.
func (e *Enumeration) Grew(g Growth) {
	e.chunks.Known(g.chunk)
	e.mu.Lock()
	defer e.mu.Unlock()
	if g.chunk > e.last {
		e.last, e.size = g.chunk, 0
	}
	if g.chunk == e.last {
		e.size += g.size
	}
}

// Each calls f with the ids of the enumeration and then with more, in batches,
// each id once.
func (e *Enumeration) Each(ctx context.Context, s kv.Store, more []string, f func(ids []string) error) error {
	seen := make(map[string]struct{})
	once := func(ids []string) error {
		var fresh []string
		for _, id := range ids {
			if _, ok := seen[id]; !ok {
				seen[id] = struct{}{}
				fresh = append(fresh, id)
			}
		}
		for batch := range slices.Chunk(fresh, batchSize) {
			if err := f(batch); err != nil {
				return err
			}
		}
		return nil
	}
	for next := int64(1); next != 0; {
		ids, after, err := e.read(ctx, s, next)
		if err != nil {
			return fmt.Errorf("%s: enumeration: %w", e.model, err)
		}
		if err := once(ids); err != nil {
			return err
		}
		next = after
	}
	return once(more)
}

// read returns the ids in the chunks from first on, some chunks a trip, and the
// number of the chunk to go on from, 0 at the end.
func (e *Enumeration) read(ctx context.Context, s kv.Store, first int64) (ids []string, next int64, err error) {
	keys := make([]string, chunksAtOnce)
	for i := range keys {
		keys[i] = e.chunks.Key(first + int64(i))
	}
	results, err := kv.GetAll(ctx, s, keys...)
	if err != nil {
		return nil, 0, err
	}
	for _, r := range results {
		if r.Err != nil {
			return ids, 0, nil
		}
		more, err := wire.ReadTexts(r.Value, "id")
		if err != nil {
			return nil, 0, err
		}
		ids = append(ids, more...)
	}
	return ids, first + chunksAtOnce, nil
}
