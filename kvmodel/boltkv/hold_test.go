package boltkv

import (
	"context"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

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
	closes := startShip(t, r.store, &shelf{put: func(ctx context.Context, name string, _ io.Reader) error {
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
	closes()
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
