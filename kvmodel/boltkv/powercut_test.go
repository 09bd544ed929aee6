package boltkv

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/commitlog"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// powerDisk is a disk with files in memory. A power cut takes parts of the unsynced data.
type powerDisk struct {
	// Gate is held for reading during each call. Its writer sees the disk at one moment.
	Gate sync.RWMutex

	mu     sync.Mutex
	files  map[string]*powerFile
	synced map[string]*powerFile // as of the last SyncDir
	since  []nameChange          // since then
}

type nameChange func(files map[string]*powerFile)

// The caller of do holds mu.
func (d *powerDisk) do(c nameChange) {
	if d.files == nil {
		d.files = make(map[string]*powerFile)
	}
	c(d.files)
	d.since = append(d.since, c)
}

func (d *powerDisk) Open(name string, makes bool) (*powerFile, error) {
	d.Gate.RLock()
	defer d.Gate.RUnlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	if f := d.files[name]; f != nil {
		return f, nil
	}
	if !makes {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	made := &powerFile{disk: d}
	d.do(func(files map[string]*powerFile) { files[name] = made })
	return made, nil
}

func (d *powerDisk) Remove(name string) error {
	d.Gate.RLock()
	defer d.Gate.RUnlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.files[name] == nil {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
	}
	d.do(func(files map[string]*powerFile) { delete(files, name) })
	return nil
}

func (d *powerDisk) SyncDir() error {
	d.Gate.RLock()
	defer d.Gate.RUnlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.synced, d.since = maps.Clone(d.files), nil
	return nil
}

// Cut returns what a power cut at this moment may leave: the names synced last, with a prefix of
// the later changes. The caller holds Gate.
func (d *powerDisk) Cut(random *rand.Rand) *powerDisk {
	names := make(map[string]*powerFile)
	maps.Copy(names, d.synced)
	for _, c := range d.since[:random.IntN(len(d.since)+1)] {
		c(names)
	}
	left := &powerDisk{files: make(map[string]*powerFile)}
	for name, f := range names {
		left.files[name] = f.cut(left, random)
	}
	left.synced = maps.Clone(left.files)
	return left
}

type powerFile struct {
	// Data may be changed while nothing else uses the file.
	Data []byte

	disk    *powerDisk
	durable []byte
}

func (f *powerFile) enter() (leave func()) {
	f.disk.Gate.RLock()
	f.disk.mu.Lock()
	return func() {
		f.disk.mu.Unlock()
		f.disk.Gate.RUnlock()
	}
}

func (f *powerFile) ReadAt(p []byte, at int64) (int, error) {
	defer f.enter()()
	if at >= int64(len(f.Data)) {
		return 0, io.EOF
	}
	n := copy(p, f.Data[at:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *powerFile) WriteAt(p []byte, at int64) (int, error) {
	defer f.enter()()
	f.Data = over(f.Data, p, int(at))
	return len(p), nil
}

func over(data, p []byte, at int) []byte {
	if missing := at + len(p) - len(data); missing > 0 {
		data = append(data, make([]byte, missing)...)
	}
	copy(data[at:], p)
	return data
}

func (f *powerFile) Sync() error {
	defer f.enter()()
	f.durable = bytes.Clone(f.Data)
	return nil
}

func (f *powerFile) Size() (int64, error) {
	defer f.enter()()
	return int64(len(f.Data)), nil
}

func (f *powerFile) Close() error { return nil }

const sector = 512

// cut returns each sector with its synced bytes or its current ones.
func (f *powerFile) cut(of *powerDisk, random *rand.Rand) *powerFile {
	left := bytes.Clone(f.durable)
	all := random.IntN(4) == 0 // By chance the system had written everything.
	for at := 0; at < len(f.Data); at += sector {
		if all || random.IntN(2) == 0 {
			left = over(left, f.Data[at:min(at+sector, len(f.Data))], at)
		}
	}
	return &powerFile{Data: left, disk: of, durable: bytes.Clone(left)}
}

// cutDisk keeps the logs on a powerDisk.
type cutDisk struct{ *powerDisk }

func (d cutDisk) open(path string, makes bool) (commitlog.File, error) {
	f, err := d.Open(filepath.Base(path), makes)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (d cutDisk) remove(path string) error { return d.Remove(filepath.Base(path)) }

func (d cutDisk) syncDir(string) error { return d.SyncDir() }

const rigKeys = 60

func rigKey(i int) string { return fmt.Sprint("key", i) }

// rig is a store with one writer, whose power is cut now and then.
type rig struct {
	t       *testing.T
	random  *rand.Rand
	dir     string
	opts    Options
	disk    *powerDisk
	store   *Store
	commits int
	history []map[string]string // the items after each commit

	relaxes bool
	synced  int // the last commit that is not relaxed
}

func newRig(t *testing.T, seed uint64, durability Durability) *rig {
	r := &rig{
		t: t, random: rand.New(rand.NewPCG(seed, 2)), dir: t.TempDir(),
		opts: Options{Durability: durability}, disk: new(powerDisk), history: []map[string]string{{}},
	}
	r.open()
	return r
}

func (r *rig) path() string { return filepath.Join(r.dir, "store.db") }

func (r *rig) open() {
	r.t.Helper()
	s := need(openWith(r.path(), r.opts, func(s *Store) {
		s.disk, s.db.NoSync = cutDisk{r.disk}, true // A commit of the tree is whole: that is bbolt's part.
		s.limits = limits{turn: 4 << 10, full: 16 << 10, idle: time.Hour, tick: time.Hour, trip: 1 << 20, copied: 500, ship: time.Millisecond, snapshot: time.Hour, kept: 1 << 30}
		gate := &r.disk.Gate
		s.commitTree = func(tx *bolt.Tx) error {
			gate.RLock()
			defer gate.RUnlock()
			return tx.Commit()
		}
	}))
	r.store = s
}

func (r *rig) write() {
	r.t.Helper()
	now := maps.Clone(r.history[r.commits])
	r.commits++
	ops := []kv.Op{kv.OpSet("commit", []byte(strconv.Itoa(r.commits)))}
	now["commit"] = strconv.Itoa(r.commits)
	for range r.random.IntN(4) {
		key := rigKey(r.random.IntN(rigKeys))
		if _, there := now[key]; there && r.random.IntN(3) == 0 {
			ops = append(ops, kv.OpDelete(key))
			delete(now, key)
			continue
		}
		value := fmt.Sprint(key, r.commits, string(make([]byte, r.random.IntN(300))))
		ops = append(ops, kv.OpSet(key, []byte(value)))
		now[key] = value
	}
	ctx := context.Background()
	if r.relaxes && r.random.IntN(3) > 0 {
		ctx = kv.Relaxed(ctx)
	} else {
		r.synced = r.commits
	}
	must(r.store.Do(ctx, ops))
	r.history = append(r.history, now)
}

// cut cuts the power, perhaps during a move, and opens the rest.
func (r *rig) cut() {
	r.t.Helper()
	r.disk.Gate.Lock()
	left := r.disk.Cut(r.random)
	tree, err := os.ReadFile(r.path())
	r.disk.Gate.Unlock()
	if err != nil {
		r.t.Fatal(err)
	}
	must(r.store.Close())
	r.dir = r.t.TempDir()
	must(os.WriteFile(r.path(), tree, 0o600))
	r.disk = left
	r.open()
}

// holds returns the items of s, and the number of commits of its rig.
func holds(t *testing.T, s kv.Store) (all map[string]string, commits int) {
	t.Helper()
	all = make(map[string]string)
	must(kv.PowersOf(s).Keys(context.Background(), "", func(keys []string) error {
		for _, key := range keys {
			got, err := kv.One(context.Background(), s, kv.OpGet(key))
			if err != nil {
				return fmt.Errorf("%q is listed: %w", key, err)
			}
			all[key] = string(got.Value)
		}
		return nil
	}))
	commits, _ = strconv.Atoi(all["commit"])
	return all, commits
}

func seeds(n uint64) uint64 { return proof.Size(n, 50*n) }

func TestStore_APowerCutLeavesABeginningAndWhatWasSynced(t *testing.T) {
	for name, test := range map[string]struct {
		durability Durability
		relaxes    bool
	}{"synced": {Synced, false}, "synced, some relaxed": {Synced, true}, "unsynced": {Unsynced, false}} {
		t.Run(name, func(t *testing.T) {
			lost := 0
			for seed := range uint64(proof.Size(8, 5_000)) {
				r := newRig(t, seed, test.durability)
				r.relaxes = test.relaxes
				for range 4 {
					for range r.random.IntN(120) {
						r.write()
					}
					r.cut()
					all, commits := holds(t, r.store)
					if commits > r.commits || test.durability == Synced && commits < r.synced {
						t.Fatalf("seed %d: %d commits of %d are left, the last synced one is %d", seed, commits, r.commits, r.synced)
					}
					lost += r.commits - commits
					if !maps.Equal(all, r.history[commits]) {
						t.Fatalf("seed %d: what is left is not what there was after commit %d of %d", seed, commits, r.commits)
					}
					r.commits, r.synced, r.history = commits, commits, r.history[:commits+1]
				}
				must(r.store.Close())
			}
			if test.relaxes && lost == 0 {
				t.Error("no power cut has taken a relaxed write")
			}
		})
	}
}

func need[T any](v T, err error) T {
	must(err)
	return v
}
