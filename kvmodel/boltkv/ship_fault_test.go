package boltkv

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func (r *shippedRig) named(begin string) []string {
	r.t.Helper()
	names := need(r.shelf.List(context.Background(), begin))
	return names
}

func TestStore_Ship_FolderThatWasAwayGetsTheRest(t *testing.T) {
	r := newShippedRig(t, 1, Synced)
	r.shipped()
	r.shelf.setAway(true)
	for r.store.Stats().Shipping.Trouble == nil {
		r.write()
	}
	for range 100 {
		r.write()
	}
	proof.Is(t, r.store.Stats().Shipping.Trouble, errAway)
	r.shelf.setAway(false)
	r.shipped()
	if names := r.named(snapshotBegin); len(names) > 1 {
		t.Errorf("commits were lost, so there are the snapshots %q", names)
	}
	for _, at := range []int{20, 60, r.commits} {
		r.wantRestored(at)
	}
}

func TestStore_Ship_ASnapshotMakesUpForCommitsThatWaitedTooLong(t *testing.T) {
	r := newShippedRig(t, 1, Unsynced)
	r.write()
	r.shipped()
	r.shelf.setAway(true)
	from := r.commits + 1
	r.store.mu.Lock()
	r.store.limits.kept = keptAtMost
	r.store.mu.Unlock()
	for range 1000 {
		r.write()
		if n := r.keptBytes(); n > keptAtMost+oneLog {
			t.Fatalf("%d bytes of logs are kept", n)
		}
	}
	to := r.commits
	if r.random.IntN(2) == 0 {
		r.restart()
	}
	r.shelf.setAway(false)
	r.shipped()
	r.write()
	r.shipped()
	if all, _ := r.restored(time.Time{}); !maps.Equal(all, r.history[r.commits]) {
		t.Error("what was restored behind the lost commits is not what there was")
	}
	proof.Len(t, r.named(snapshotBegin), 2, "two snapshots")
	_, err := Restore(t.Context(), r.shelf, r.made[(from+to)/2], filepath.Join(t.TempDir(), "restored.db"))
	if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "are missing: they were not shipped") {
		t.Errorf("Restore of a moment whose commits are lost: want an error that says so, got %v", err)
	}
}

// Each object of a folder is lost, cut and changed.
func TestRestore_NamesWhatIsMissingOrDamaged(t *testing.T) {
	proof.Alone(t)
	r := newShippedRig(t, 1, Synced)
	r.shipped()
	for range 3 {
		for range 40 {
			r.write()
		}
		r.shipped()
		r.restart() // Each time there is another piece.
		r.shipped()
	}
	must(r.store.Close())
	want := r.history[r.commits]
	pieces := r.named("piece-")
	if len(pieces) < 3 {
		t.Fatalf("there are only the pieces %q", pieces)
	}
	for _, name := range r.named("") {
		for fault, spoil := range map[string]func(data []byte) []byte{
			"lost":    func([]byte) []byte { return nil },
			"cut":     func(data []byte) []byte { return data[:len(data)-8] },
			"empty":   func(data []byte) []byte { return []byte{} },
			"flipped": func(data []byte) []byte { data[len(data)/2] ^= 4; return data },
		} {
			spoiled := r.shelf.clone()
			spoiled.change(name, spoil)
			path := filepath.Join(t.TempDir(), "restored.db")
			done, err := Restore(t.Context(), spoiled, time.Time{}, path)
			if err != nil {
				gone := fault == "lost" // The error then says what is missing.
				if !gone && (!errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), name)) {
					t.Errorf("%s %s: want an ErrDamaged that names it, got %v", name, fault, err)
				}
				if left, _ := filepath.Glob(path + "*"); len(left) > 0 {
					t.Errorf("%s %s: %q is left", name, fault, left)
				}
				continue
			}
			s := need(Open(path, Options{}))
			all, commits := holds(t, s)
			switch last := slices.Max(pieces); {
			case maps.Equal(all, want):
			case fault == "lost" && name == last && maps.Equal(all, r.history[commits]) && done.Known.Before(r.made[commits+1]):
				// It is as if it had not been shipped, and Known says so.
			default:
				t.Errorf("%s %s: what was restored is not what there was: %+v", name, fault, done)
			}
			must(s.Close())
		}
	}
}

func TestStore_Ship_SaysWhatDoesNotFit(t *testing.T) {
	r := newShippedRig(t, 1, Synced)
	for range 20 {
		r.write()
	}
	r.shipped()
	another := newRig(t, 2, Synced)
	if err := another.store.Ship(t.Context(), r.shelf); !errors.Is(err, ErrFolder) || !strings.Contains(err.Error(), r.path()) {
		t.Errorf("the folder of another store: want an ErrFolder that names its file, got %v", err)
	}
	if err := r.store.Ship(t.Context(), new(shelf)); err == nil || !strings.Contains(err.Error(), "shipped already") {
		t.Errorf("a second Ship: want an error that says so, got %v", err)
	}
	must(r.store.Close())
	older := need(os.ReadFile(r.path()))
	r.open()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for r.store.Stats().Shipping.Trouble == nil {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	_ = r.store.Ship(ctx, new(shelf))
	if err := r.store.Stats().Shipping.Trouble; err == nil || !strings.Contains(err.Error(), "is it mounted?") {
		t.Errorf("an empty folder in place of its own: want an error that says so, got %v", err)
	}
	r.ship()
	for range 20 {
		r.write()
	}
	r.shipped()
	must(r.store.Close())
	must(os.WriteFile(r.path(), older, 0o600))
	r.open()
	if err := r.store.Ship(t.Context(), r.shelf); !errors.Is(err, ErrFolder) || !strings.Contains(err.Error(), "older than the folder") {
		t.Errorf("a file that was rolled back: want an ErrFolder, got %v", err)
	}
	for range 25 {
		r.rig.write()
	}
	if err := r.store.Ship(t.Context(), r.shelf); !errors.Is(err, ErrFolder) || !strings.Contains(err.Error(), "diverged") {
		t.Errorf("a file that was rolled back and written: want an ErrFolder, got %v", err)
	}
	must(r.store.Close())
}

func TestStore_Ship_OfTwoCopiesThatShipToOneFolderTheLaterIsRefused(t *testing.T) {
	r := newShippedRig(t, 1, Synced)
	r.write()
	r.shipped()
	must(errors.Join(r.store.Close(), <-r.ended))
	file := need(os.ReadFile(r.path()))
	copied := *r
	copied.rig = &rig{t: t, random: r.random, opts: r.opts, disk: new(powerDisk), dir: t.TempDir(), commits: r.commits, history: slices.Clone(r.history)}
	must(os.WriteFile(copied.path(), file, 0o600))
	r.open()
	r.ship()
	copied.open()
	copied.ship()
	for !copied.store.Stats().Shipping.Known {
		time.Sleep(time.Millisecond)
	}
	r.write()
	r.shipped()
	copied.write()
	if err := <-copied.ended; !errors.Is(err, ErrFolder) || !strings.Contains(err.Error(), "diverged") {
		t.Errorf("the later one: want an ErrFolder that says so, got %v", err)
	}
	r.write()
	r.shipped()
	r.wantRestored(r.commits)
	must(errors.Join(r.store.Close(), <-r.ended, copied.store.Close()))
}

func TestStore_Ship_KilledBetweenAnyTwoCallsOfTheFolderGoesOn(t *testing.T) {
	for calls, isOver := 1, false; !isOver; calls++ {
		r := newShippedRig(t, uint64(calls), Synced)
		r.shelf.setCalls(calls)
		for range 30 {
			r.write()
		}
		for s := r.store.Stats().Shipping; s.Trouble == nil && s.Spoiled == nil && !isOver; s = r.store.Stats().Shipping {
			isOver = s.Shipped.After(r.made[r.commits]) && !s.Snapshot.IsZero()
		}
		r.crash()
		r.shipped()
		first := r.commits + 1
		for range 5 {
			r.write()
		}
		r.shipped()
		for at := first; at <= r.commits; at++ {
			r.wantRestored(at)
		}
		must(errors.Join(r.store.Close(), <-r.ended))
	}
}

// keptBytes returns the bytes of logs retained beyond the two in use.
func (r *rig) keptBytes() (n int64) {
	r.store.mu.RLock()
	defer r.store.mu.RUnlock()
	for _, log := range r.store.kept {
		n += log.Bytes()
	}
	return n
}

const (
	keptAtMost = 50 << 10
	oneLog     = 40 << 10 // until it is turned
)

// writeUntil also checks that no more logs are kept than may be.
func (r *rig) writeUntil(done func() bool) {
	r.t.Helper()
	for n := 0; !done(); n++ {
		if n > 5000 { // The event is on its way.
			time.Sleep(time.Millisecond)
			continue
		}
		r.write()
		if n := r.keptBytes(); n > keptAtMost+oneLog {
			r.t.Fatalf("%d bytes of logs are kept", n)
		}
	}
}

func TestStore_Ship_ASnapshotThatStallsIsGivenUpBeforeItsLogsFillTheDisk(t *testing.T) {
	r := newRig(t, 1, Unsynced)
	r.store.limits.kept = keptAtMost
	stalled := make(chan struct{}, 10)
	end := startShip(t, r.store, &shelf{put: func(ctx context.Context, name string, _ io.Reader) error {
		if !strings.HasPrefix(name, snapshotBegin) {
			return nil
		}
		stalled <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}})
	<-stalled
	r.writeUntil(func() bool { return r.store.Stats().Shipping.Spoiled != nil })
	if err := r.store.Stats().Shipping.Spoiled; !strings.Contains(err.Error(), "of logs") {
		t.Errorf("want an error that says why the snapshot was given up, got %v", err)
	}
	// The shipper may already report missing logs.
	said := regexp.MustCompile("warning (no snapshot of it could be taken: |it cannot be shipped .* the next snapshot will contain the commits between)")
	if got := textOf(kv.PowersOf(r.store).Findings(t.Context())); !said.MatchString(got) {
		t.Errorf("no snapshot could be taken, and the findings are\n%s", got)
	}
	end()
}

func TestStore_Backup_ThatStallsIsGivenUpBeforeItsLogsFillTheDisk(t *testing.T) {
	r := newRig(t, 1, Unsynced)
	r.store.limits.kept = keptAtMost
	r.write()
	to := &paced{ask: make(chan struct{}), may: make(chan struct{})}
	ended := make(chan error, 1)
	go func() { ended <- r.store.Backup(context.Background(), to) }()
	<-to.ask
	kept := int64(0)
	r.writeUntil(func() bool {
		before := kept
		kept = r.keptBytes()
		return kept < before
	})
	close(to.may)
	go func() {
		for range to.ask {
		}
	}()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "of logs") {
		t.Errorf("want an error that says why, got %v", err)
	}
	close(to.ask)
	must(r.store.Close())
}
