package boltkv

import (
	"bytes"
	"context"
	"maps"
	"path/filepath"
	"testing"
)

// paced is a writer that asks before each write whether it may.
type paced struct {
	bytes.Buffer
	ask, may chan struct{}
}

func (p *paced) Write(data []byte) (int, error) {
	p.ask <- struct{}{}
	<-p.may
	return p.Buffer.Write(data)
}

// backUp backs up the store while it is written to.
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
			if err := restored.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if len(r.store.kept)+len(r.store.holds) > 0 {
			t.Fatalf("seed %d: %d logs are kept after all backups", seed, len(r.store.kept))
		}
		if err := r.store.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
