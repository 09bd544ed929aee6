package boltkv

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/archive"
)

var (
	// ErrFenced: another file has become the one that is written and shipped, by
	// Promote. This one takes no writes any more.
	ErrFenced = errors.New("another file has taken over")

	// ErrFolder: the folder does not fit the store.
	ErrFolder = errors.New("the folder does not fit this store")

	// ErrCopy: the file is the copy of a Follower.
	ErrCopy = errors.New("it is a copy that follows another store: open it with OpenFollower, or make it the one that is written with Promote")
)

// Shipping says what Follow has done.
type Shipping struct {
	Known   bool      // Follow has found out where the folder stands
	Shipped time.Time // everything that was committed by then is in the folder
	Waiting uint64    // commits that were not in the folder when Follow looked last

	Snapshot time.Time // when the newest snapshot was taken
	Gaps     uint64    // stretches of commits that were never shipped, since Follow was called

	Unshipped uint64 // commits of this file that another one lacks which has taken over

	Trouble error // why the last try to ship failed; nil: it did not
	Spoiled error // why the last try to take a snapshot, or to delete old ones, failed
}

const (
	callTime  = 30 * time.Second // that a call of the folder may take
	closeTime = 5 * time.Second  // that Close waits for what is left to be shipped
	strictFor = 2 * time.Second  // that a strict store goes on without the folder
)

// Follow ships the store to a folder, until the store is closed or ctx ends: three times
// a second what was committed, and once a day a snapshot. While nothing is committed it puts
// nothing, and looks every ten seconds whether the folder is there. Restore makes a store of
// it as it was at any moment of the last seven days, or as it was when one of the snapshots
// of the last thirty days was taken. OpenFollower and Promote use it, too.
//
// While the folder is away Follow tries again, and says so in Stats; the store keeps up to
// 1 GB of logs for it, beyond that there will be a gap, and a new snapshot. When a process
// was killed, Follow goes on where it was; Close waits up to five seconds for the rest, and
// what is left then, Follow ships when the file is open again.
//
// It returns ErrFenced if another file was promoted, ErrFolder if the folder is of another
// store, or of a later state of this one, and nil if the store was closed. A folder is for
// one store, and a store has one folder at a time.
func (s *Store) Follow(ctx context.Context, to Folder) error {
	if err := s.follow(ctx, to); err != nil {
		return fmt.Errorf("boltkv: follow %s: %w", s.path, err)
	}
	return nil
}

func (s *Store) follow(ctx context.Context, to Folder) error {
	end, err := s.beginToFollow()
	if err != nil {
		return err
	}
	defer end()
	h, err := s.holdAll()
	if err != nil {
		return err
	}
	sh := &shipper{hold: h, to: &archive.Archive{Folder: to, Store: s.id}, folder: folderName(to), due: make(chan struct{}, 1)}
	return sh.run(ctx)
}

// beginToFollow makes sure that nobody else follows, and that Close waits.
func (s *Store) beginToFollow() (end func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.followed != nil {
		return nil, errors.New("it is being followed already")
	}
	select {
	case <-s.closing:
		return nil, errClosed
	default:
	}
	s.followed = make(chan struct{})
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		close(s.followed)
		s.followed = nil
	}, nil
}

// waitForFollow returns when Follow has shipped what is left, or has had its time.
func (s *Store) waitForFollow() {
	s.mu.Lock()
	ended := s.followed
	s.mu.Unlock()
	if ended == nil {
		return
	}
	select {
	case <-ended:
	case <-time.After(closeTime + time.Second):
	}
}

// folderName returns what a folder calls itself; "" if it has no name.
func folderName(f Folder) string {
	if named, ok := f.(fmt.Stringer); ok {
		return named.String()
	}
	return ""
}

// who says which file this is, for those who find it in a folder.
func who(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		path = full
	}
	host, err := os.Hostname()
	if err != nil {
		return path
	}
	return path + " on " + host
}

func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
