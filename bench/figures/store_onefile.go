package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"

	"github.com/ringtree/ringtree/bench/figures/models"
	"github.com/ringtree/ringtree/bench/internal/sqlite"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// oneFileFigures are about the embedded store as an engine: what a commit costs beside one
// of SQLite, which keeps one file, too, and what its log costs.
var oneFileFigures = []func(*bench) error{
	fourItems,
	createCost,
	createBytes,
	closedSize,
	slowestCommits,
	readsWhileMoving,
	reopening,
}

const (
	runs = 5 // of what takes long

	// tableBytes is what a store commits before it begins to move that to its tree.
	tableBytes = 16 << 20
)

// fourOps returns commit number n: a record, two entries that are anywhere in their order,
// and a number. No other commit has their keys.
func fourOps(n uint64) []kv.Op {
	return []kv.Op{
		kv.OpSet(fmt.Sprintf("page:%016x", n), make([]byte, 400)),
		kv.OpSet(fmt.Sprintf("slug:%016x", scattered(n)), make([]byte, 48)),
		kv.OpSet(fmt.Sprintf("name:%016x", scattered(scattered(n))), make([]byte, 48)),
		kv.OpSet(fmt.Sprintf("seen:%016x", n), make([]byte, 8)),
	}
}

// scattered returns another number for each n, near those of none of the n beside it.
func scattered(n uint64) uint64 { return n * 0x9e3779b97f4a7c15 }

// commit carries out ops in one commit, as a data class does.
func commit(ctx context.Context, s *boltkv.Store, ops []kv.Op) error {
	return s.Powers().Atomic(ctx, func(s kv.Store) error { return s.Do(ctx, ops) })
}

// rivals are an embedded store and a table of SQLite, with the same durability, and how
// many commits each has made.
type rivals struct {
	ctx          context.Context // never ends: SQLite's drivers would begin a goroutine for each statement
	store        *boltkv.Store
	table        *sqliteTable
	ours, theirs atomic.Uint64
}

func (b *bench) rivals(d boltkv.Durability, clients int) (*rivals, error) {
	dir, err := os.MkdirTemp(b.dir, "rivals-")
	if err != nil {
		return nil, err
	}
	r := &rivals{ctx: context.WithoutCancel(b.ctx)}
	if r.store, err = boltkv.Open(filepath.Join(dir, "store.db"), boltkv.Options{Durability: d}); err != nil {
		return nil, err
	}
	synchronous := map[boltkv.Durability]string{boltkv.Synced: "FULL", boltkv.Unsynced: "NORMAL"}[d]
	if r.table, err = openSQLite(r.ctx, filepath.Join(dir, "table.db"), synchronous, clients); err != nil {
		return nil, errors.Join(err, r.store.Close())
	}
	return r, nil
}

func (r *rivals) close() error { return errors.Join(r.store.Close(), r.table.close()) }

// commitOurs makes the store's next commit.
func (r *rivals) commitOurs() error { return commit(r.ctx, r.store, fourOps(r.ours.Add(1))) }

// commitTheirs makes SQLite's next.
func (r *rivals) commitTheirs(client int) error {
	return r.table.put(client, fourOps(r.theirs.Add(1)))
}

// isMoving reports whether the store has so much to move to its tree that it does so.
func (r *rivals) isMoving() (bool, error) {
	st := r.store.Stats()
	return st.Unmoved >= tableBytes, st.Trouble
}

// settle returns when the store is not moving anything.
func (r *rivals) settle() error {
	moving, err := r.isMoving()
	for ; moving && err == nil; moving, err = r.isMoving() {
		time.Sleep(time.Millisecond)
	}
	return err
}

// fourItems compares commits of four items. What the store does behind them is part of
// its time.
func fourItems(b *bench) error {
	for _, c := range []struct {
		durability       boltkv.Durability
		clients, commits int
		goal             float64
	}{
		{boltkv.Unsynced, 1, 30_000, 3},
		{boltkv.Synced, 1, 2_000, 0.9},
		{boltkv.Unsynced, 32, 30_000, 4},
		{boltkv.Synced, 32, 10_000, 4},
	} {
		r, err := b.rivals(c.durability, c.clients)
		if err != nil {
			return err
		}
		calls := b.size(c.commits)
		ours := byClients(c.clients, calls, func(int, int) error { return r.commitOurs() })
		theirs := byClients(c.clients, calls, func(client, _ int) error { return r.commitTheirs(client) })
		speed, err := compareFor(runs, func() error { return errors.Join(ours(), r.settle()) }, theirs)
		if err := errors.Join(err, r.close()); err != nil {
			return err
		}
		b.report(fmt.Sprintf("boltkv: 4 items, %v, by %d, speed to %s's", c.durability, c.clients, sqlite.Name), speed, atLeast(c.goal).ratio())
	}
	return nil
}

// creator creates pages in a store of its own.
type creator struct {
	ctx   context.Context
	db    *kvmodel.DB
	pages *models.Pages
	made  uint64
}

// creator returns one that has made its first page, which costs more than the others.
func (b *bench) creator(s kvmodel.Store) (*creator, error) {
	db, m, err := openModels(s)
	if err != nil {
		return nil, err
	}
	c := &creator{ctx: b.ctx, db: db, pages: m.Pages}
	_, err = c.create()
	return c, err
}

// create returns how long a creation took.
func (c *creator) create() (time.Duration, error) {
	page := newPage()
	page.ID, page.Slug = kvmodel.NewID(time.Now()), fmt.Sprintf("page-%016x", scattered(c.made))
	c.made++
	start := time.Now()
	err := c.pages.Create(c.ctx, page)
	return time.Since(start), err
}

// createCost compares a creation on the embedded store with one in memory.
func createCost(b *bench) error {
	store, err := boltkv.Open(filepath.Join(b.dir, "create.db"), boltkv.Options{Durability: boltkv.Unsynced})
	if err != nil {
		return err
	}
	defer store.Close()
	ours, err := b.creator(store)
	if err != nil {
		return err
	}
	defer ours.db.Close(b.ctx)
	theirs, err := b.creator(memkv.New(memkv.Options{}))
	if err != nil {
		return err
	}
	defer theirs.db.Close(b.ctx)
	var more []time.Duration
	for range runs {
		p50, err := medianCosts(b.size(10_000), ours, theirs)
		if err != nil {
			return err
		}
		more = append(more, p50[0]-p50[1])
	}
	b.report("boltkv: create, unsynced, p50 above that of memkv", float64(median(more))/1e3, atMost(40).in("us"))
	return nil
}

// medianCosts returns the median times of n creations of each, made in turns.
func medianCosts(n int, creators ...*creator) (p50 [2]time.Duration, err error) {
	var took [2][]time.Duration
	for range n {
		for i, c := range creators {
			t, err := c.create()
			if err != nil {
				return p50, err
			}
			took[i] = append(took[i], t)
		}
	}
	return [2]time.Duration{median(took[0]), median(took[1])}, nil
}

// createBytes measures what creations write, with all that Close writes.
func createBytes(b *bench) error {
	store, err := boltkv.Open(filepath.Join(b.dir, "bytes.db"), boltkv.Options{Durability: boltkv.Unsynced})
	if err != nil {
		return err
	}
	defer store.Close()
	n := b.size(50_000)
	written, err := writtenBy(func() error {
		c, err := b.creator(store)
		for range n {
			if err == nil {
				_, err = c.create()
			}
		}
		if c != nil {
			err = errors.Join(err, c.db.Close(b.ctx))
		}
		return errors.Join(err, store.Close())
	})
	if err == nil {
		b.report("boltkv: create, KB written, with the tree", float64(written)/float64(n)/1e3, atMost(12).in("KB"))
	}
	return err
}

// writtenBy returns how many bytes f writes, to files or elsewhere.
func writtenBy(f func() error) (int64, error) {
	before, err := written()
	if err != nil {
		return 0, err
	}
	if err := f(); err != nil {
		return 0, err
	}
	after, err := written()
	return after - before, err
}

// written returns how many bytes this process has written.
func written() (int64, error) {
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0, fmt.Errorf("bytes written: only Linux counts them: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if n, ok := strings.CutPrefix(line, "wchar: "); ok {
			return strconv.ParseInt(strings.TrimSpace(n), 10, 64)
		}
	}
	return 0, errors.New("/proc/self/io has no wchar")
}

// closedSize compares the file of a closed store with one into which bbolt has put the
// same items without a log, as format 1 of the store did.
func closedSize(b *bench) error {
	store, raw, _, err := b.boltPair("size", boltkv.Unsynced)
	if err != nil {
		return err
	}
	raw.NoSync = true
	for n := range uint64(b.size(100_000)) {
		ops := fourOps(n)
		if err := errors.Join(commit(b.ctx, store, ops), rawCommit(raw, ops)); err != nil {
			return err
		}
	}
	if err := errors.Join(store.Close(), raw.Close()); err != nil {
		return err
	}
	ours, err1 := os.Stat(filepath.Join(b.dir, "size", "store.db"))
	theirs, err2 := os.Stat(filepath.Join(b.dir, "size", "raw.db"))
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	b.report("boltkv: size of the closed file to raw bbolt's", float64(ours.Size())/float64(theirs.Size()), atMost(1.1).ratio())
	return nil
}

// rawCommit puts what ops set into raw, each with the 16 bytes of version and expiry that
// format 1 of the store gave it.
func rawCommit(raw *bbolt.DB, ops []kv.Op) error {
	return raw.Update(func(tx *bbolt.Tx) error {
		for i := range ops {
			value := append(make([]byte, 16), ops[i].Value...)
			if err := tx.Bucket(bucket).Put([]byte(ops[i].Key), value); err != nil {
				return err
			}
		}
		return nil
	})
}

// slowestCommits compares the slowest commits, while several tables are moved.
func slowestCommits(b *bench) error {
	r, err := b.rivals(boltkv.Synced, 1)
	if err != nil {
		return err
	}
	var ours, theirs []time.Duration
	for range runs {
		took, err := r.untilMoved(b.size(100_000))
		if err != nil {
			return errors.Join(err, r.close())
		}
		ours = append(ours, took...)
		for range took {
			took, err := timeOf(func() error { return r.commitTheirs(0) })
			if err != nil {
				return errors.Join(err, r.close())
			}
			theirs = append(theirs, took)
		}
	}
	b.report("boltkv: synced commit, p99.9 to that of "+sqlite.Name,
		float64(quantile(ours, 0.999))/float64(quantile(theirs, 0.999)), atMost(1.5).ratio())
	b.report("boltkv: synced commit, the slowest", float64(slices.Max(ours))/1e6, atMost(200).in("ms"))
	return r.close()
}

// untilMoved commits until a table is in the tree, or at most so often, and returns how
// long each commit took.
func (r *rivals) untilMoved(most int) (all []time.Duration, err error) {
	for len(all) < most {
		before := r.store.Stats().Unmoved
		took, err := timeOf(r.commitOurs)
		if err != nil {
			return nil, err
		}
		all = append(all, took)
		if r.store.Stats().Unmoved < before {
			break
		}
	}
	return all, nil
}

func timeOf(f func() error) (time.Duration, error) {
	start := time.Now()
	err := f()
	return time.Since(start), err
}

// readsWhileMoving compares reads while a table is moved to the tree with those while
// nothing else happens.
func readsWhileMoving(b *bench) error {
	store, err := boltkv.Open(filepath.Join(b.dir, "reads.db"), boltkv.Options{Durability: boltkv.Unsynced})
	if err != nil {
		return err
	}
	defer store.Close()
	r := &rivals{ctx: b.ctx, store: store}
	if _, err := r.untilMoved(1 << 20); err != nil {
		return err
	}
	// What the first half has committed is in the tree.
	keys := make([]string, 10_000)
	for i := range keys {
		keys[i] = fourOps(1 + scattered(uint64(i))%(r.ours.Load()/2))[i%4].Key
	}
	var toMedian, toSame []float64
	for range runs {
		quiet, busy, err := r.readBesideMove(keys)
		if err != nil {
			return err
		}
		p99 := float64(quantile(busy, 0.99))
		toMedian = append(toMedian, p99/float64(median(quiet)))
		toSame = append(toSame, p99/float64(quantile(quiet, 0.99)))
	}
	b.report("boltkv: get while a table is moved, p99 to the quiet p50", median(toMedian), atMost(3).ratio())
	b.report("boltkv: get while a table is moved, p99 to the quiet p99", median(toSame), atMost(3).ratio())
	return nil
}

// readBesideMove returns how long reads of keys took, and then those while a table was
// moved to the tree.
func (r *rivals) readBesideMove(keys []string) (quiet, busy []time.Duration, err error) {
	for len(quiet) < 10*len(keys) && err == nil {
		quiet, err = r.timeGets(quiet, keys)
	}
	moving := false
	for err == nil && !moving {
		if err = r.commitOurs(); err == nil {
			moving, err = r.isMoving()
		}
	}
	for at := 0; err == nil && moving; at = (at + 100) % len(keys) {
		if busy, err = r.timeGets(busy, keys[at:at+100]); err == nil {
			moving, err = r.isMoving()
		}
	}
	return quiet, busy, err
}

// timeGets gets what keys hold, and appends how long each get took to all.
func (r *rivals) timeGets(all []time.Duration, keys []string) ([]time.Duration, error) {
	for _, key := range keys {
		took, err := timeOf(func() error { _, err := kv.One(r.ctx, r.store, kv.OpGet(key)); return err })
		if err != nil {
			return nil, err
		}
		all = append(all, took)
	}
	return all, nil
}

// reopening opens what a kill leaves of a store: its file and a log as large as possible.
func reopening(b *bench) error {
	dir := filepath.Join(b.dir, "reopening")
	left := filepath.Join(dir, "left.db")
	size, err := b.leave(filepath.Join(dir, "store.db"), left)
	if err != nil {
		return err
	}
	b.report("boltkv: log that a kill leaves", float64(size)/(1<<20), target{}.in("MB"))
	var all []time.Duration
	for i := range runs {
		file := filepath.Join(dir, fmt.Sprint(i))
		if err := copyStore(file, left); err != nil {
			return err
		}
		var store *boltkv.Store
		took, err := timeOf(func() (err error) { store, err = boltkv.Open(file, boltkv.Options{}); return err })
		if err != nil {
			return err
		}
		all = append(all, took)
		_, err = kv.One(b.ctx, store, kv.OpGet(fourOps(0)[0].Key))
		if err := errors.Join(err, store.Close(), os.Remove(file)); err != nil {
			return err
		}
	}
	b.report("boltkv: opening the store with that log", median(all).Seconds(), atMost(1).in("s"))
	return nil
}

// leave writes a store to file and copies it, as it is while it is open, to left. It
// returns how large the log there is. The store writes the same items again and again,
// since with others it would move them and begin a log before this one is large.
func (b *bench) leave(file, left string) (int64, error) {
	const items, most = 15_000, 60 << 20
	store, err := boltkv.Open(file, boltkv.Options{Durability: boltkv.Unsynced})
	if err != nil {
		return 0, err
	}
	defer store.Close()
	for n := range uint64(b.size(200_000)) {
		if err := commit(b.ctx, store, fourOps(n%items)); err != nil {
			return 0, err
		}
		if _, logs := logsOf(file); logs > most {
			break
		}
	}
	if err := copyStore(left, file); err != nil {
		return 0, err
	}
	_, size := logsOf(left)
	return size, nil
}

// logsOf returns the logs of the store in file, and their size.
func logsOf(file string) (there []string, size int64) {
	for _, log := range []string{file + ".log0", file + ".log1"} {
		if info, err := os.Stat(log); err == nil {
			there, size = append(there, log), size+info.Size()
		}
	}
	return there, size
}

// copyStore copies a store and its logs.
func copyStore(to, from string) error {
	logs, _ := logsOf(from)
	for _, file := range append(logs, from) {
		if err := copyFile(to+strings.TrimPrefix(file, from), file); err != nil {
			return err
		}
	}
	return nil
}
