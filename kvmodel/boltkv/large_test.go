package boltkv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/commitlog"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

const tripLimit = 10_000

func openLimited(t *testing.T, path string) *Store {
	t.Helper()
	s := need(openWith(path, Options{}, func(s *Store) { s.limits.trip = tripLimit }))
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func sets(name string, n, bytes int) (ops []kv.Op) {
	for i := range n {
		ops = append(ops, kv.OpSet(fmt.Sprint(name, i), Noise(bytes)))
	}
	return ops
}

func wantKeys(t *testing.T, s *Store, want ...string) {
	t.Helper()
	var got []string
	must(s.keys(t.Context(), "", func(keys []string) error { got = append(got, keys...); return nil }))
	proof.NoDiff(t, cmp.Diff(want, got), "keys")
}

func wantTooLarge(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, kv.ErrTooLarge) || kv.Failed(err) || !strings.Contains(err.Error(), "at most 10000") {
		t.Errorf("want an ErrTooLarge that names the limit, got %v", err)
	}
}

func TestStore_Do_ATripOverTheLimitIsRefusedAndNothingOfItIsWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s := openLimited(t, path)
	need(kv.One(t.Context(), s, kv.OpSet("old", make([]byte, 9000))))
	commits := s.Stats().Commits
	for name, ops := range map[string][]kv.Op{
		"values":  sets("big", 11, 1000),
		"keys":    sets(strings.Repeat("k", 200), 60, 0),
		"deleted": append(sets("big", 11, 1000), kv.OpDelete("big0"), kv.OpDelete("big1")),
		"appends": append(sets("big", 1, 1000), kv.OpAppend("old", make([]byte, 10))),
	} {
		good := append(ops, kv.OpGet("old"))
		ops = append(good, kv.OpSet("", nil))
		if err := s.Do(t.Context(), ops); err != nil {
			t.Errorf("%s: a refusal is an answer, got %v", name, err)
		}
		for i := range good {
			wantTooLarge(t, ops[i].Err())
		}
		wantErrNot(t, ops[len(good)].Err(), kv.ErrBadKey, kv.ErrTooLarge)
	}
	if got := s.Stats().Commits; got != commits {
		t.Errorf("want no commit of what was refused, got %d", got-commits)
	}
	wantKeys(t, s, "old")
	proof.Is(t, s.Do(t.Context(), sets("fits", 3, 3000)), nil)
	must(s.Close())
	wantKeys(t, openLimited(t, path), "fits0", "fits1", "fits2", "old")
}

func TestStore_Do_AKeyThatATripWritesAgainCountsOnce(t *testing.T) {
	s := openLimited(t, filepath.Join(t.TempDir(), "store.db"))
	var ops []kv.Op
	for range 100 {
		ops = append(ops, kv.OpSet("key", make([]byte, 5000)))
	}
	if err := s.Do(t.Context(), ops); err != nil || ops[0].Err() != nil {
		t.Errorf("%v, %v", err, ops[0].Err())
	}
	wantKeys(t, s, "key")
}

func TestLive_ARefusedTurnLeavesTheOthersOfItsCommit(t *testing.T) {
	s := openLimited(t, filepath.Join(t.TempDir(), "store.db"))
	b := <-s.turn
	b.in = &live{base: s.look(), changes: s.changes}
	for _, ops := range [][]kv.Op{
		{kv.OpSet("a", []byte("1")), kv.OpSet("gone", nil), kv.OpDelete("gone")},
		append(sets("big", 20, 1000), kv.OpSet("a", []byte("2")), kv.OpDelete("a"), kv.OpSet("gone", nil)),
		{kv.OpIncrement("a", 2), kv.OpAdd("b", nil)},
	} {
		fail := b.in.turn(func(in *live) *failure { return in.run(ops) })
		if tooLarge := len(ops) > 20; (fail != nil) != tooLarge {
			t.Errorf("a turn of %d ops ended in %v", len(ops), fail)
		}
	}
	s.back <- struct{}{}
	if <-b.done; b.fail != nil {
		t.Fatal(b.fail)
	}
	wantKeys(t, s, "a", "b")
	if r, err := kv.One(t.Context(), s, kv.OpGet("a")); err != nil || string(r.Value) != "3" {
		t.Errorf("want 3, got %q, %v", r.Value, err)
	}
}

func TestStore_Atomic_AChangeOverTheLimitIsRefusedAndNothingOfItIsWritten(t *testing.T) {
	s := openLimited(t, filepath.Join(t.TempDir(), "store.db"))
	own := errors.New("its own error")
	for _, returned := range []error{nil, own} {
		err := s.atomic(t.Context(), func(s kv.Store) error {
			first, second := sets("first", 8, 1000), sets("second", 8, 1000)
			_ = s.Do(t.Context(), first)
			proof.Is(t, first[0].Err(), nil)
			_ = s.Do(t.Context(), second)
			wantTooLarge(t, second[7].Err())
			return returned
		})
		if returned == nil {
			wantTooLarge(t, err)
		} else if err != own {
			t.Errorf("want the function's own error, got %v", err)
		}
		wantKeys(t, s)
	}
	proof.Is(t, s.atomic(t.Context(), func(s kv.Store) error { return s.Do(t.Context(), sets("fits", 1, 1000)) }), nil)
	wantKeys(t, s, "fits0")
}

func TestStore_Backup_ItemsAreWrittenAFewAtATime(t *testing.T) {
	s := openLimited(t, filepath.Join(t.TempDir(), "store.db"))
	s.limits.copied = 1000
	if err := s.update(func(tr *tree) {
		for i := range 100 {
			key := fmt.Sprint("key", i)
			it := item{value: make([]byte, 200), version: 1}
			tr.set([]byte(key), it.encode(key, nil))
		}
	}); err != nil {
		t.Fatal(err)
	}
	var backup bytes.Buffer
	must(s.Backup(t.Context(), &backup))
	all := make(map[string]bool)
	_, err := readBackup(t.Context(), bytes.NewReader(backup.Bytes()), func(r commitlog.Record) error {
		if len(r.Body) > 1000+blockSize {
			t.Errorf("a record has %d bytes", len(r.Body))
		}
		return changesIn(r, func(key string, _ []byte) { all[key] = true })
	})
	if err != nil || len(all) != 100 {
		t.Errorf("the backup has %d items, %v", len(all), err)
	}
}

func TestStore_Brake_NoCommitWaitsForTheMoverThatWaitsForOne(t *testing.T) {
	s := openStill(t, filepath.Join(t.TempDir(), "store.db"), nil)
	<-s.turn // The committer waits now.
	s.moving, s.limits.turn, s.limits.full = newTable(0), 0, 0
	s.note(errDisk)
	s.carrying.Store(true)
	if fail := s.full(); fail != nil {
		t.Error(fail)
	}
	s.note(nil)
	ended := make(chan bool, 1)
	go func() { ended <- s.brake() }()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("it waits for the mover")
	}
	s.moving, s.limits = nil, defaultLimits
	s.carrying.Store(false)
	s.back <- struct{}{}
}

func TestStore_Do_OnADamagedPageWritersOfAFullTableGoOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s := openStill(t, path, nil)
	must(s.Do(t.Context(), sets("key", 100, 1000)))
	closes(t, s)
	file := need(os.ReadFile(path))
	for page := range slices.Chunk(file, os.Getpagesize()) {
		if bytes.Contains(page, []byte("key50")) {
			clear(page)
		}
	}
	must(os.WriteFile(path, file, 0o600))
	s = need(openWith(path, Options{Durability: Unsynced}, func(s *Store) {
		s.limits.turn, s.limits.full, s.limits.tick = 50<<10, 100<<10, time.Millisecond
	}))
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			for i := range 500 {
				key := fmt.Sprint("key", (i*7+w)%100)
				proof.Ends(t, nil)(kv.One(context.Background(), s, kv.OpSet(key, make([]byte, 1000))))
			}
		})
	}
	writers.Wait()
	if s.Stats().Carried == 0 {
		t.Error("nothing is left in the log")
	}
	_ = s.Close()
}

// fullness returns the number of items in a closed store, and the part of their pages that they
// fill.
func fullness(path string) (items int, full float64) {
	db := need(bolt.Open(path, 0, &bolt.Options{ReadOnly: true}))
	defer db.Close()
	must(db.View(func(tx *bolt.Tx) error {
		stats := tx.Bucket(itemsBucket).Stats()
		st, err := stateOf(tx)
		items, full = int(st.items), float64(stats.LeafInuse)/float64(stats.LeafAlloc)
		return err
	}))
	return items, full
}

func TestMove_FillsThePagesOfARunAndLeavesRoomInOthers(t *testing.T) {
	proof.Alone(t)
	const items, atOnce = 20_000, 500
	shuffled := rand.New(rand.NewPCG(1, 1)).Perm(items)
	for name, order := range map[string]struct {
		number      func(i int) int
		least, most float64
	}{
		"in order":  {func(i int) int { return i }, .8, 1},
		"at random": {func(i int) int { return shuffled[i] }, .6, .85},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "store.db")
			s := need(openWith(path, Options{Durability: Unsynced}, func(s *Store) { s.limits.turn, s.limits.tick = 1, time.Hour }))
			for from := 0; from < items; from += atOnce {
				var ops []kv.Op
				for i := from; i < from+atOnce; i++ {
					ops = append(ops, kv.OpSet(fmt.Sprintf("key%06d", order.number(i)), Noise(80)))
				}
				must(s.Do(t.Context(), ops))
				for s.moved() != nil { // A move takes what one commit wrote.
					time.Sleep(time.Millisecond)
				}
			}
			must(s.Close())
			if n, full := fullness(path); n != items || full < order.least || full > order.most {
				t.Errorf("%d items fill %.2f of their pages, want %v to %v", n, full, order.least, order.most)
			}
		})
	}
}

func TestClose_CutsOffTheEndOfTheFileThatHasNoPages(t *testing.T) {
	proof.Alone(t)
	path := filepath.Join(t.TempDir(), "store.db")
	s := need(Open(path, Options{Durability: Unsynced}))
	must(errors.Join(s.Do(t.Context(), sets("key", 3000, 1000)), s.Close()))
	db := need(bolt.Open(path, 0, &bolt.Options{ReadOnly: true}))
	var used int64
	must(errors.Join(db.View(func(tx *bolt.Tx) error { used = tx.Size(); return nil }), db.Close()))
	proof.Equal(t, need(os.Stat(path)).Size(), used, "the file")
	s = need(Open(path, Options{}))
	must(errors.Join(s.Do(t.Context(), sets("more", 3000, 1000)), s.Close()))
	if n, _ := fullness(path); n != 6000 {
		t.Errorf("%d items after another run, want 6000", n)
	}
}
