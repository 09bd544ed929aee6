package boltkv

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"path/filepath"
	"testing"
	"time"
)

type paced struct {
	bytes.Buffer
	ask, may chan struct{}
}

func (p *paced) Write(data []byte) (int, error) {
	p.ask <- struct{}{}
	<-p.may
	return p.Buffer.Write(data)
}

func (r *rig) backUp() []byte {
	r.t.Helper()
	to := &paced{ask: make(chan struct{}), may: make(chan struct{})}
	ended := make(chan error)
	go func() { ended <- r.store.Backup(context.Background(), to) }()
	for {
		select {
		case <-to.ask:
			for range r.random.IntN(20) {
				r.write()
			}
			to.may <- struct{}{}
		case err := <-ended:
			if err != nil {
				r.t.Fatal(err)
			}
			return to.Bytes()
		}
	}
}

func TestStore_Backup_IsWhatTheStoreHeldAtOneMoment(t *testing.T) {
	for seed := range seeds(2) {
		r := newRig(t, seed, Unsynced)
		for range r.random.IntN(200) {
			r.write()
		}
		for range 3 {
			before := r.commits
			path := filepath.Join(t.TempDir(), "restored.db")
			if _, err := RestoreBackup(t.Context(), bytes.NewReader(r.backUp()), path); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			restored, err := Open(path, Options{})
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			all, commits := holds(t, restored)
			if commits < before || !maps.Equal(all, r.history[commits]) {
				t.Fatalf("seed %d: the backup is not what there was after commit %d of %d, or older than %d", seed, commits, r.commits, before)
			}
			must(restored.Close())
		}
		if len(r.store.kept)+len(r.store.holds) > 0 {
			t.Fatalf("seed %d: %d logs are kept after all backups", seed, len(r.store.kept))
		}
		must(r.store.Close())
	}
}

type writing struct {
	bytes.Buffer
	*rig
	begun, made []time.Time // of each commit
}

func (w *writing) Write(data []byte) (int, error) {
	w.begun = append(w.begun, time.Now())
	w.rig.write()
	w.made = append(w.made, time.Now())
	return w.Buffer.Write(data)
}

func TestStore_Backup_HasWhatWasCommittedByItsMoment(t *testing.T) {
	w := &writing{rig: newRig(t, 1, Synced)}
	must(w.store.Backup(t.Context(), w))
	path := filepath.Join(t.TempDir(), "restored.db")
	found := need(RestoreBackup(t.Context(), bytes.NewReader(w.Bytes()), path))
	s := need(Open(path, Options{}))
	_, commits := holds(t, s)
	for i, at := range w.made {
		if commits <= i && !at.After(found.Taken) {
			t.Errorf("commit %d was made by %v, when the backup is said to be of, and it has %d commits", i+1, found.Taken, commits)
		}
		if commits > i && w.begun[i].After(found.Taken) {
			t.Errorf("commit %d was made later than %v, when the backup is said to be of, and it has %d commits", i+1, found.Taken, commits)
		}
	}
	must(errors.Join(s.Close(), w.store.Close()))
}

func TestRestoreBackup_FillsPages(t *testing.T) {
	dir := t.TempDir()
	open := func() *Store {
		s := need(Open(filepath.Join(dir, "store.db"), Options{}))
		return s
	}
	const items = 10_000
	s := open()
	must(errors.Join(s.Do(t.Context(), sets("key", items, 80)), s.Close()))
	s = open() // All is in the tree.
	var backup bytes.Buffer
	path := filepath.Join(dir, "restored.db")
	err := errors.Join(s.Backup(t.Context(), &backup), s.Close())
	if _, fail := RestoreBackup(t.Context(), &backup, path); err != nil || fail != nil {
		t.Fatal(err, fail)
	}
	if n, full := fullness(path); n != items || full < .8 {
		t.Errorf("%d items fill %.2f of their pages", n, full)
	}
}
