package boltkv

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

type shippedRig struct {
	*rig
	shelf *shelf
	made  []time.Time // when each commit was acknowledged
	gaps  bool        // a crash may have taken logs with commits that were not shipped
	ended chan error
}

func newShippedRig(t *testing.T, seed uint64, durability Durability) *shippedRig {
	r := &shippedRig{rig: newRig(t, seed, durability), shelf: new(shelf), made: []time.Time{time.Now()}}
	r.ship()
	return r
}

func (r *shippedRig) ship() {
	s, to, ended := r.store, r.shelf, make(chan error, 1)
	r.ended = ended
	go func() { ended <- s.Ship(context.Background(), to) }()
	// Tables are so small that some are moved before Ship holds its logs.
	for holds := 0; holds == 0; {
		s.mu.RLock()
		holds = len(s.holds)
		s.mu.RUnlock()
	}
}

func (r *shippedRig) write() {
	r.t.Helper()
	r.rig.write()
	r.made = append(r.made, time.Now())
	time.Sleep(time.Microsecond)
}

func (r *shippedRig) crash() {
	r.t.Helper()
	next := r.shelf.other()
	r.shelf.setAway(true)
	r.cut()
	if err := <-r.ended; err != nil {
		r.t.Fatalf("Ship ended with %v", err)
	}
	all, commits := holds(r.t, r.store)
	if commits > r.commits || !maps.Equal(all, r.history[commits]) {
		r.t.Fatalf("%d commits of %d are left, or what is left is something else", commits, r.commits)
	}
	r.commits, r.history, r.made = commits, r.history[:commits+1], r.made[:commits+1]
	r.shelf = next
	r.ship()
}

func (r *shippedRig) restart() {
	r.t.Helper()
	must(r.store.Close())
	if err := <-r.ended; err != nil {
		r.t.Fatalf("Ship ended with %v", err)
	}
	r.open()
	r.ship()
}

func (r *shippedRig) shipped() {
	r.t.Helper()
	now := time.Now()
	for {
		done := r.store.Stats().Shipping
		if time.Since(now) > time.Minute {
			r.t.Fatalf("nothing is shipped: %+v", done)
		}
		if done.Shipped.After(now) && !done.Snapshot.IsZero() {
			return
		}
		select {
		case err := <-r.ended:
			r.t.Fatalf("Ship ended with %v", err)
		case <-time.After(time.Millisecond):
		}
	}
}

// restored returns the items as of a moment; nil if there is a gap.
func (r *shippedRig) restored(until time.Time) (map[string]string, Restored) {
	r.t.Helper()
	path := filepath.Join(r.t.TempDir(), "restored.db")
	done, err := Restore(context.Background(), r.shelf, until, path)
	if r.gaps && !until.IsZero() && errors.Is(err, ErrDamaged) && strings.Contains(err.Error(), "are missing: they were not shipped") {
		return nil, done
	}
	if err != nil {
		r.t.Fatalf("Restore: %v", err)
	}
	s := need(Open(path, Options{}))
	all, _ := holds(r.t, s)
	must(s.Close())
	return all, done
}

func (r *shippedRig) wantRestored(commit int) {
	r.t.Helper()
	all, done := r.restored(r.made[commit])
	if all != nil && !maps.Equal(all, r.history[commit]) {
		r.t.Errorf("what was restored is not what there was after commit %d of %d: %+v", commit, r.commits, done)
	}
}

func TestStore_Ship_RestoreIsWhatTheStoreHeldAtAnyMoment(t *testing.T) {
	for _, durability := range []Durability{Synced, Unsynced} {
		t.Run(durability.String(), func(t *testing.T) {
			for seed := range seeds(2) {
				r := newShippedRig(t, seed, durability)
				r.shipped()
				r.made[0] = time.Now() // Nothing from before the first snapshot can be restored.
				for range 4 {
					for range r.random.IntN(150) {
						r.write()
					}
					switch r.random.IntN(3) {
					case 0:
						if r.random.IntN(2) == 0 {
							r.shipped()
						} else {
							r.gaps = true
						}
						r.crash()
					case 1:
						r.restart()
					}
				}
				r.shipped()
				for range 20 {
					r.wantRestored(r.random.IntN(r.commits + 1))
				}
				if all, _ := r.restored(time.Time{}); !maps.Equal(all, r.history[r.commits]) {
					t.Fatalf("seed %d: what was restored is not what there was at last", seed)
				}
				must(r.store.Close())
				must(<-r.ended)
			}
		})
	}
}
