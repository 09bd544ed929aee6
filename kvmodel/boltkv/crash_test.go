package boltkv

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/commitlog"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

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
