package boltkv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/archive"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Follower is a copy of a store that keeps up with what Follow ships. It can be read, and
// every write is an ErrReadOnly. It shows the store as it was a moment ago: all of a commit,
// or nothing of it.
type Follower struct {
	path  string
	from  *archive.Archive
	terms []archive.Term
	reads kv.Store // refuses what writes

	mu   sync.Mutex
	copy *copied // the one there is now

	stop  context.CancelFunc
	ended chan struct{}

	following atomic.Pointer[Following]
}

var _ kv.Store = (*Follower)(nil)

// Following says how far a Follower is.
type Following struct {
	At     time.Time // All that was shipped by then is in the copy.
	Copies int       // how often the copy was made from a snapshot since it was opened

	Trouble error // why it does not go on; nil: it does
}

// Behind returns how far the copy is behind the folder. How far that is behind the store,
// Stats of the store says.
func (f Following) Behind() time.Duration { return max(0, time.Since(f.At)) }

const (
	followEach   = 100 * time.Millisecond
	appliedBytes = 4 << 20 // of commits in one transaction
)

// OpenFollower opens the copy at path of the store that ships to a folder, and keeps it up
// to date until it is closed. If there is none, it makes one from the newest snapshot. Open
// refuses the file of a copy, unless Promote makes it the store that is written.
//
// A copy that cannot go on, since commits that it needs were never shipped or are gone by
// now, begins again with the newest snapshot; readers see the old one until then.
func OpenFollower(ctx context.Context, from Folder, path string) (*Follower, error) {
	f := &Follower{path: path, from: &archive.Archive{Folder: from}, ended: make(chan struct{})}
	f.reads = kv.ReadOnly(followed{f}, kv.Unavailable(fmt.Errorf("%s is %w: it is a copy that follows another store", path, kv.ErrReadOnly)))
	f.following.Store(new(Following))
	if err := f.open(ctx); err != nil {
		return nil, fmt.Errorf("boltkv: open %s: %w", path, plainer(path, archived(err)))
	}
	ctx, f.stop = context.WithCancel(context.Background())
	go f.follow(ctx)
	return f, nil
}

func (f *Follower) open(ctx context.Context) (err error) {
	if _, err := os.Stat(f.path); err == nil {
		if f.copy, err = openCopy(f.path); err != nil {
			return err
		}
		f.from.Store = f.copy.id
	}
	err = f.catchUp(ctx)
	f.note(func(now *Following) { now.Trouble = archived(err) })
	switch {
	case f.copy == nil:
		return err
	case errors.Is(err, archive.ErrForeign), errors.Is(err, ErrFolder):
		return errors.Join(err, f.copy.closeFiles())
	}
	return nil
}

// Do reads.
func (f *Follower) Do(ctx context.Context, ops []kv.Op) error { return f.reads.Do(ctx, ops) }

// Powers returns those of a store that can only be read.
func (f *Follower) Powers() kv.Powers { return kv.PowersOf(f.reads) }

// Following says how far the copy is.
func (f *Follower) Following() Following { return *f.following.Load() }

// Close closes the copy.
func (f *Follower) Close() error {
	f.stop()
	<-f.ended
	return f.replace(nil)
}

// followed is what a Follower reads: the copy there is when a read begins.
type followed struct{ f *Follower }

func (r followed) Do(ctx context.Context, ops []kv.Op) error {
	c, done := r.f.use()
	if c == nil {
		errClosed.fill(ops)
		return kv.Unanswered(ops)
	}
	defer done()
	return c.Do(ctx, ops)
}

func (r followed) Powers() kv.Powers {
	return kv.Powers{Unless: true, Ordered: true, Local: true, Keys: r.keys, Walk: r.walk, Disk: r.onDisk}
}

func (r followed) onDisk() kv.Disk {
	following := r.f.Following()
	return kv.Disk{Behind: following.Behind(), Trouble: following.Trouble}
}

func (r followed) keys(ctx context.Context, begin string, f func([]string) error) error {
	return r.walk(ctx, begin, "", f)
}

func (r followed) walk(ctx context.Context, begin, after string, f func([]string) error) error {
	c, done := r.f.use()
	if c == nil {
		return errClosed
	}
	defer done()
	return c.walk(ctx, begin, after, f)
}

func (r followed) Close() error { return r.f.Close() }

// use returns the copy, which stays open until done is called; nil if the Follower is closed.
func (f *Follower) use() (c *copied, done func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.copy != nil {
		f.copy.users.Add(1)
		return f.copy, f.copy.users.Done
	}
	return nil, nil
}

// replace makes c the copy, and closes the one before when nobody reads it any more.
func (f *Follower) replace(c *copied) error {
	f.mu.Lock()
	old := f.copy
	f.copy = c
	f.mu.Unlock()
	if old == nil {
		return nil
	}
	old.users.Wait()
	return old.closeFiles()
}

// follow keeps up until ctx ends.
func (f *Follower) follow(ctx context.Context) {
	defer close(f.ended)
	tick := time.NewTicker(followEach)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		call, cancel := context.WithTimeout(ctx, callTime)
		err := f.catchUp(call)
		cancel()
		f.note(func(now *Following) { now.Trouble = archived(err) })
	}
}

// note changes what Following says.
func (f *Follower) note(change func(*Following)) {
	now := f.Following()
	change(&now)
	f.following.Store(&now)
}

// catchUp brings the copy to where the folder is, and makes one if there is none.
func (f *Follower) catchUp(ctx context.Context) error {
	if err := f.lookForTerms(ctx); err != nil {
		return err
	}
	if f.copy == nil || !f.copy.counts(f.terms) {
		return f.begin(ctx)
	}
	err := f.goOn(ctx)
	var gap *archive.GapError
	if !errors.As(err, &gap) && !isMissing(err) {
		return err
	}
	newest, ok, other := f.from.Newest(ctx, f.terms)
	if other != nil || !ok || newest.Last <= f.copy.at.seq {
		return errors.Join(err, other)
	}
	return f.begin(ctx)
}

// lookForTerms learns of terms that have begun since, or that have started.
func (f *Follower) lookForTerms(ctx context.Context) error {
	n := uint64(len(f.terms))
	if n > 0 && f.terms[n-1].Started {
		_, err := f.from.Term(ctx, n+1)
		if isMissing(err) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	terms, err := f.from.Terms(ctx)
	if err != nil {
		return err
	}
	if len(terms) == 0 && n == 0 {
		return errNothing
	}
	if len(terms) < len(f.terms) {
		return fmt.Errorf("the folder has %d terms, and had %d: is it mounted?", len(terms), len(f.terms))
	}
	f.terms = terms
	return nil
}

// goOn applies the commits that were shipped since.
func (f *Follower) goOn(ctx context.Context) error {
	looked, term := time.Now(), archive.Current(f.terms)
	head, err := f.from.Head(ctx, term)
	if err != nil && !isMissing(err) {
		return err
	}
	if f.copy.at.seq < head.Last || head.Last == 0 {
		if err := f.copy.apply(ctx, f.from, f.terms, head); err != nil {
			return err
		}
	}
	if f.copy.at.seq > head.Last {
		if err := f.isAhead(ctx, term); err != nil {
			return err
		}
	}
	f.note(func(now *Following) { now.At = looked })
	return nil
}

// isAhead returns an ErrFolder if the copy has commits that the folder lacks. A piece comes
// before the head that tells of it, so the head alone does not say so.
func (f *Follower) isAhead(ctx context.Context, term uint64) error {
	last, ok, err := f.from.Last(ctx, term)
	if err != nil || !ok || last.Seq >= f.copy.at.seq {
		return err
	}
	return fmt.Errorf("%w: it has commits up to %d, the copy up to %d: the folder is older than the copy", ErrFolder, last.Seq, f.copy.at.seq)
}

// begin makes a new copy of the newest snapshot.
func (f *Follower) begin(ctx context.Context) error {
	if err := makeCopy(ctx, f.from, f.terms, f.path); err != nil {
		return err
	}
	c, err := openCopy(f.path)
	if err != nil {
		return err
	}
	f.note(func(now *Following) { now.Copies++ })
	return errors.Join(f.replace(c), f.goOn(ctx))
}
