package kvmodel

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

var enumerationKey = kv.NewClass("all", 2) // model, number of the chunk

// chunkBytes is the size from which a chunk of ids is followed by a new one.
const chunkBytes = 4 << 10

// enumeration lists the ids of a model's records: a row of numbered chunks to
// which ids are appended. An id may stand in it twice, and ids of deleted
// records stay; the record tells.
type enumeration struct {
	chunks Numbering

	mu   sync.Mutex // never held during a trip
	last int64      // the chunk this process appends to
	size int        // what it has put into that
}

// grown is what an addition did to the enumeration.
type grown struct {
	chunk int64
	size  int
}

func newEnumeration(model string) *enumeration {
	return &enumeration{chunks: Numbering{Key: func(n int64) string {
		return enumerationKey.Key(model, strconv.FormatInt(n, 10))
	}}}
}

// add appends ids to the last chunk, or to a new one. The caller tells grew
// once it is certain to stay.
func (e *enumeration) add(ctx context.Context, s kv.Store, ids []string) (grown, error) {
	var data []byte
	for _, id := range ids {
		data = wire.AppendText(data, id)
	}
	last, size := e.where()
	if last > 0 && size+len(data) <= chunkBytes {
		err := appendSurely(ctx, s, e.chunks.Key(last), data)
		if !errors.Is(err, kv.ErrNotStored) {
			return grown{last, len(data)}, err
		}
	}
	// Somebody may have begun a chunk already.
	n, err := e.chunks.Last(ctx, s)
	if err == nil && n > last {
		err = appendSurely(ctx, s, e.chunks.Key(n), data)
		if !errors.Is(err, kv.ErrNotStored) {
			return grown{n, len(data)}, err
		}
		err = nil
	}
	if err == nil {
		n, err = e.chunks.Add(ctx, s, data)
	}
	return grown{n, len(data)}, err
}

func (e *enumeration) where() (last int64, size int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.last, e.size
}

// grew remembers an addition.
func (e *enumeration) grew(g grown) {
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

// ids returns those in the chunks from first on, some chunks a trip, with the
// number of the chunk to go on from, 0 at the end.
func (e *enumeration) ids(ctx context.Context, s kv.Store, first int64) (ids []string, next int64, err error) {
	const atOnce = 16
	keys := make([]string, atOnce)
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
		more, err := decodeIDs(r.Value)
		if err != nil {
			return nil, 0, err
		}
		ids = append(ids, more...)
	}
	return ids, first + atOnce, nil
}

func decodeIDs(chunk []byte) ([]string, error) {
	var ids []string
	r := wire.Reader{Rest: chunk}
	for len(r.Rest) > 0 {
		ids = append(ids, r.Text("id"))
	}
	return ids, r.Err
}

// archive puts created ids, by model, into their enumerations.
func (db *DB) archive(ctx context.Context, created map[string][]string) error {
	for _, name := range slices.Sorted(maps.Keys(created)) {
		if err := db.model(name).archive(ctx, created[name]); err != nil {
			return err
		}
	}
	return nil
}

// archive puts ids into the enumeration.
func (m *model[T]) archive(ctx context.Context, ids []string) error {
	if m.numbers != nil {
		return nil // Whoever knows the last number knows them all.
	}
	for len(ids) > 0 {
		n := min(len(ids), 256)
		g, err := m.all.add(ctx, m.db.store, ids[:n])
		if err != nil {
			return err
		}
		m.all.grew(g)
		ids = ids[n:]
	}
	return nil
}

// eachID calls f with the ids of all records there may be, in batches, each id
// once: those that changes under way may have made, then the enumeration's.
func (m *model[T]) eachID(ctx context.Context, f func(ids []string) error) error {
	if m.numbers != nil {
		return m.eachNumber(ctx, f)
	}
	seen := make(map[string]struct{})
	once := func(ids []string) error {
		var fresh []string
		for _, id := range ids {
			if _, ok := seen[id]; !ok {
				seen[id] = struct{}{}
				fresh = append(fresh, id)
			}
		}
		for len(fresh) > 0 {
			n := min(len(fresh), 100)
			if err := f(fresh[:n]); err != nil {
				return err
			}
			fresh = fresh[n:]
		}
		return nil
	}
	// A line is deleted only after its id is in a chunk, so whoever reads the
	// lines first misses none.
	open, err := m.openIDs(ctx)
	if err != nil {
		return err
	}
	for next := int64(1); next != 0; {
		var ids []string
		if ids, next, err = m.all.ids(ctx, m.db.store, next); err != nil {
			return m.failure("enumeration", err)
		}
		if err := once(ids); err != nil {
			return err
		}
	}
	return once(open)
}

// openIDs returns the ids of m that stand in the journals as created.
func (m *model[T]) openIDs(ctx context.Context) ([]string, error) {
	all, _, err := processes(ctx, m.db.store)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, process := range all {
		j, err := readJournal(ctx, m.db.store, process)
		if err != nil {
			return nil, err
		}
		for _, l := range j.lines {
			if l.created && l.model == m.name {
				ids = append(ids, l.id)
			}
		}
	}
	return ids, nil
}
