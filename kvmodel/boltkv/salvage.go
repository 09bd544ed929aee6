package boltkv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	bolt "go.etcd.io/bbolt"

	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/commitlog"
	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/pages"
)

// Salvaged says what Salvage has found.
type Salvaged struct {
	Items uint64 // in the new store

	Damaged []string // keys of items that are not what was written; they are left out
	Missing int64    // items that were not found at all; -1 if the file does not say how many there were
	Pages   []string // what is wrong with pages of the file
	Logs    []string // what is wrong with its logs
}

// OK reports whether nothing was lost.
func (found Salvaged) OK() bool {
	return len(found.Damaged) == 0 && found.Missing == 0 && len(found.Pages) == 0 && len(found.Logs) == 0
}

// Salvage makes at to a store of what can be read of the one at from, which may be damaged
// in any way and must not be open. Neither its file nor its logs are changed. There must be
// nothing at to, and after an error there is nothing.
//
// Every item whose sum is right is in the new store, with its version and its expiry, also
// one whose page nothing leads to any more. Items that were deleted or written again do
// not come back, since the file knows which of its pages are free.
func Salvage(ctx context.Context, from, to string) (Salvaged, error) {
	found, err := salvage(ctx, from, to)
	if err != nil {
		return Salvaged{}, fmt.Errorf("boltkv: salvage %s: %w", from, plainer(from, err))
	}
	return found, nil
}

func salvage(ctx context.Context, from, to string) (found Salvaged, err error) {
	unlock, err := lock(from)
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	file, err := os.Open(from)
	if err != nil {
		return found, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return found, err
	}
	left, why, err := pages.Open(file, info.Size())
	if err != nil {
		return found, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	sv := &salvager{ctx: ctx, from: from, file: left, damaged: make(map[string]bool)}
	if why != "" {
		sv.found.Pages = append(sv.found.Pages, "the list of free pages: "+why+"; what nothing leads to is left out")
	}
	if err := build(to, sv.fill); err != nil {
		return found, err
	}
	return sv.found, nil
}

// lock keeps others from opening the file at path until unlock is called. Of a file that
// bbolt cannot open, there is nothing to keep them from.
func lock(path string) (unlock func() error, err error) {
	var db *bolt.DB
	broken := onPage(func() { db, err = bolt.Open(path, 0, &bolt.Options{ReadOnly: true, Timeout: lockWait}) })
	switch {
	case broken == nil && err == nil:
		return db.Close, nil
	case isMissing(err) || errors.Is(plainer(path, err), ErrInUse):
		return nil, err
	}
	return func() error { return nil }, nil
}

// salvager carries what is left of a file to a new store.
type salvager struct {
	ctx  context.Context
	from string
	file *pages.File

	s     *Store // the new one
	some  *table // of it, not moved yet
	state state  // of the file
	known bool   // the state could be read
	ours  bool   // something in it is of a store
	id    []byte
	aside *table // what was set aside
	seen  census // of the items

	damaged map[string]bool
	found   Salvaged
	err     error
}

// fill moves to s what can be read.
func (sv *salvager) fill(s *Store) error {
	sv.s, sv.some, sv.aside = s, newTable(), newTable()
	sv.file.Walk((*stateWalker)(sv), false)
	sv.file.Walk(sv, sv.trustsList())
	sv.flush()
	for key, buf := range sv.aside.items {
		sv.change(key, buf)
	}
	sv.readLogs()
	sv.flush()
	if sv.err != nil {
		return sv.err
	}
	if !sv.ours && sv.seen.count == 0 {
		return fmt.Errorf("%w: nothing in it is of a store", ErrDamaged)
	}
	sv.found.Missing = -1
	if sv.known {
		sv.found.Missing = max(0, int64(sv.state.count-sv.seen.count))
	}
	return sv.finish(s)
}

// finish notes the state of the new store, and what it lacks.
func (sv *salvager) finish(s *Store) error {
	err := s.update(func(t *tree) {
		t.setState(func(st *state) {
			st.version, st.time = max(sv.state.version, sv.some.version), max(sv.state.time, sv.some.time)
			sv.found.Items = st.count + t.all.count
		})
	})
	if err != nil {
		return err
	}
	sv.found.Damaged = slices.Sorted(maps.Keys(sv.damaged))
	return nil
}

// trustsList reports whether the list of free pages is to be asked. Where it and the tree
// contradict each other, the items tell by their number and their sums which is right.
func (sv *salvager) trustsList() bool {
	var all counter
	contradictions := sv.file.Walk(&all, false)
	return contradictions == 0 || !sv.known || all.count != sv.state.count || all.sum != sv.state.sum
}

// counter counts the items of a walk.
type counter struct{ census }

func (c *counter) Item(bucket, key, buf []byte) {
	if bytes.Equal(bucket, itemsBucket) {
		c.enter(buf, decode(key, buf))
	}
}

func (c *counter) Lost(uint64, string) {}

// stateWalker finds what a file says of itself.
type stateWalker salvager

func (sv *stateWalker) Item(bucket, key, value []byte) {
	if !bytes.Equal(bucket, metaBucket) {
		return
	}
	sv.ours = true
	switch {
	case bytes.Equal(key, idKey):
		sv.id = bytes.Clone(value)
	case bytes.Equal(key, stateKey):
		st, err := decodeState(value)
		sv.state, sv.known = st, err == nil
	}
}

func (sv *stateWalker) Lost(uint64, string) {}

// Item takes an item of the file.
func (sv *salvager) Item(bucket, key, buf []byte) {
	switch {
	case sv.err != nil:
	case bytes.Equal(bucket, asideBucket):
		sv.setAside(key, buf)
	case bytes.Equal(bucket, itemsBucket) || bucket == nil:
		sv.take(key, buf, bucket != nil)
	}
}

func (sv *salvager) setAside(key, buf []byte) {
	switch {
	case bytes.Equal(buf, dropped):
		sv.aside.set(string(key), nil)
	case decode(key, buf).damaged == nil:
		sv.aside.set(string(key), bytes.Clone(buf))
	default:
		sv.damaged[string(key)] = true
	}
}

// take takes an item of the bucket of items, or, if placed is false, one that may be of any
// bucket.
func (sv *salvager) take(key, buf []byte, placed bool) {
	it := decode(key, buf)
	if it.damaged != nil {
		if placed {
			sv.seen.enter(buf, it)
			sv.damaged[string(key)] = true
		}
		return
	}
	sv.seen.enter(buf, it)
	sv.some.set(string(key), bytes.Clone(buf))
	if sv.some.bytes >= sv.s.limits.turn {
		sv.flush()
	}
}

// Lost notes what is wrong with a page.
func (sv *salvager) Lost(page uint64, why string) {
	sv.found.Pages = append(sv.found.Pages, fmt.Sprintf("page %d: %s", page, why))
}

// flush moves what was taken to the new store.
func (sv *salvager) flush() {
	if sv.err = errors.Join(sv.err, sv.ctx.Err()); sv.err == nil {
		sv.err = sv.s.moveItems(sv.some)
	}
	clear(sv.some.items)
	sv.some.bytes = 0
}

// readLogs takes the commits that the tree lacks from the logs.
func (sv *salvager) readLogs() {
	var logs []*commitlog.Log
	for epoch := range uint64(2) {
		path := fmt.Sprintf("%s.log%d", sv.from, epoch)
		file, err := os.Open(path)
		if isMissing(err) {
			continue
		}
		if err == nil {
			defer file.Close()
			var log *commitlog.Log
			if log, err = commitlog.Open(logFile{file}); err == nil && len(sv.id) > 0 && !bytes.Equal(log.Store[:], sv.id) {
				err = errors.New("it is the log of another store")
			}
			if err == nil {
				logs = append(logs, log)
			}
		}
		if err != nil && !errors.Is(err, commitlog.ErrEmpty) {
			sv.complain(path, err)
		}
	}
	slices.SortFunc(logs, func(a, b *commitlog.Log) int { return int(a.Epoch) - int(b.Epoch) })
	sv.replay(logs)
}

func (sv *salvager) complain(path string, err error) {
	sv.found.Logs = append(sv.found.Logs, fmt.Sprintf("%s: %v", path, err))
}

// replay takes the commits of logs that the tree lacks.
func (sv *salvager) replay(logs []*commitlog.Log) {
	next := sv.state.seq + 1
	if !sv.known && len(logs) > 0 {
		next = logs[0].First
	}
	if sv.known && sv.state.open && len(logs) == 0 {
		sv.complain(sv.from, errors.New("it was not closed, and no log of it was found: what it had is lost"))
	}
	for _, log := range logs {
		path := fmt.Sprintf("%s.log%d", sv.from, log.Epoch%2)
		last := log.First - 1
		missing, err := log.Records(func(r commitlog.Record) error {
			last = r.Seq
			if r.Seq < next {
				return nil
			}
			sv.some.point = point{r.Seq, max(r.Time, sv.some.time), max(r.Version, sv.some.version)}
			return decodeChanges(r.Body, sv.change)
		})
		// A log is begun before the one behind which it goes on has its end.
		if isBegun := last < log.First && log.First == next+1; log.First > next && !isBegun {
			missing += log.First - next
		}
		if missing > 0 {
			err = errors.Join(err, fmt.Errorf("%d commits are missing in it, or before it", missing))
		}
		if err != nil {
			sv.complain(path, err)
		}
		next = max(next, last+1)
	}
}

// change takes what key holds since: by a commit, or aside.
func (sv *salvager) change(key string, buf []byte) {
	if buf != nil && decode([]byte(key), buf).damaged != nil {
		sv.damaged[key] = true
		return
	}
	delete(sv.damaged, key)
	sv.some.set(key, buf)
	if sv.some.bytes >= sv.s.limits.turn {
		sv.flush()
	}
}
