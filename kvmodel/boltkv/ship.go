package boltkv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/commitlog"
)

// ErrFolder says that the folder does not fit the store.
var ErrFolder = errors.New("the folder does not fit this store")

// Shipping says what Ship has done.
type Shipping struct {
	Known    bool      // Ship has reached the folder, and it fits
	Shipped  time.Time // everything that was committed by then is in the folder
	Snapshot time.Time // when the newest snapshot was taken

	Trouble error // why the last try to ship failed; nil: it did not
	Spoiled error // why the last try to take a snapshot, or to delete old ones, failed
}

const (
	callTime   = 30 * time.Second // that a call of the folder may take
	closeTime  = 5 * time.Second  // that Close waits for the rest to be shipped
	pieceBytes = 8 << 20          // with which a piece takes no more commits
)

// Ship ships the store to a folder, until the store is closed or ctx ends: twice a second
// the new commits, if there are any, and once a day a snapshot. Restore makes a store of it
// as it was at any moment of the last seven days, or as it was when one of the snapshots of
// the last thirty days was taken.
//
// While the folder is away Ship tries again, and says so in Stats; the store keeps up to
// 1 GB of logs for it. Beyond that the oldest go, and a new snapshot makes up for them. When
// a process was killed, Ship goes on where it was; Close waits up to five seconds for the
// rest, and what is left then, Ship ships when the file is open again.
//
// It returns ErrFolder if another store, or a copy of this one, ships to the folder, or if
// that has a later state of this one, and nil if the store was closed. A folder is for one
// store, and a store has one folder at a time.
func (s *Store) Ship(ctx context.Context, to Folder) error {
	if err := s.ship(ctx, to); err != nil {
		return fmt.Errorf("boltkv: ship %s: %w", s.path, err)
	}
	return nil
}

func (s *Store) ship(ctx context.Context, to Folder) error {
	end, err := s.beginToShip()
	if err != nil {
		return err
	}
	defer end()
	h, err := s.holdAll()
	if err != nil {
		return err
	}
	sh := &shipper{hold: h, to: &history{Folder: to, store: s.id}, due: make(chan struct{}, 1)}
	return sh.run(ctx)
}

// beginToShip makes sure that the store is shipped once at a time, and that Close waits.
func (s *Store) beginToShip() (end func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shipping != nil {
		return nil, errors.New("it is being shipped already")
	}
	select {
	case <-s.closing:
		return nil, errClosed
	default:
	}
	s.shipping = make(chan struct{})
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		close(s.shipping)
		s.shipping = nil
	}, nil
}

// waitForShip returns when Ship has shipped the rest, or has had its time.
func (s *Store) waitForShip() {
	s.mu.Lock()
	ended := s.shipping
	s.mu.Unlock()
	if ended == nil {
		return
	}
	select {
	case <-ended:
	case <-time.After(closeTime + time.Second):
	}
}

// shipper ships the commits of a store.
type shipper struct {
	*hold
	to *history

	joined bool
	last   atomic.Uint64  // up to this record all commits are in the folder
	read   uint64         // up to this record the logs were read; behind last and the piece there are only ends
	mark   commitlog.Mark // where that is
	piece  []byte         // goes into the folder next; nil: none does
	origin commitlog.Record
	// origin is the last commit that was in the folder when Ship began, until it was compared.

	base atomic.Uint64 // up to this record all commits are in the newest snapshot
	need atomic.Uint64 // a snapshot that reaches up to the record before this one is wanted
	due  chan struct{} // wakes takeSnapshots
	done Shipping      // guarded by mu
}

// run ships until the store is closed, ctx ends, or there is no use.
func (sh *shipper) run(ctx context.Context) error {
	snapshots := make(chan struct{})
	snapshotsCtx, stop := context.WithCancel(ctx)
	defer func() {
		stop()
		<-snapshots
	}()
	go func() {
		defer close(snapshots)
		sh.takeSnapshots(snapshotsCtx)
	}()
	tick := time.NewTicker(sh.limits.ship)
	defer tick.Stop()
	for {
		if err := sh.step(ctx, false); errors.Is(err, ErrFolder) {
			sh.release()
			return err
		}
		select {
		case <-tick.C:
			continue
		case <-ctx.Done():
		case <-sh.stopped:
		}
		stop()
		return sh.finish(ctx)
	}
}

// finish ships the rest. If it cannot, the store keeps its logs for the next time.
func (sh *shipper) finish(ctx context.Context) error {
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	err := sh.step(last, true)
	isFinal := errors.Is(err, ErrFolder)
	if isFinal || err == nil && ctx.Err() == nil {
		sh.release()
	}
	if isFinal {
		return err
	}
	return ctx.Err()
}

// step does what is due at each tick. If it is the last, ends of logs are shipped, too: the
// next Ship sees that no commit is missing.
func (sh *shipper) step(ctx context.Context, isLast bool) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	err := sh.refused()
	if err == nil {
		err = sh.shipAll(ctx, isLast)
	}
	sh.note(func(done *Shipping) { done.Trouble = err })
	return err
}

// note changes what Stats says of the shipping.
func (sh *shipper) note(change func(*Shipping)) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	change(&sh.done)
	done := sh.done
	sh.shipped.Store(&done)
}

// shipAll ships all commits that can be seen.
func (sh *shipper) shipAll(ctx context.Context, ends bool) error {
	if !sh.joined {
		if err := sh.join(ctx); err != nil {
			return err
		}
	}
	for {
		seen := time.Now()
		more, err := sh.gather(seen, ends)
		if err != nil {
			return err
		}
		if err := sh.put(ctx); err != nil {
			return err
		}
		if !more {
			sh.note(func(done *Shipping) { done.Shipped = seen })
			return nil
		}
	}
}

// join finds out what is in the folder, and makes it the store's if it is empty.
func (sh *shipper) join(ctx context.Context) error {
	name := folderName(sh.to.Folder)
	before, err := sh.meta(shipKey)
	if err != nil {
		return err
	}
	err = sh.look(ctx)
	if isMissing(err) {
		if before != nil && string(before) == name {
			return errors.New("the folder is empty, though this store has shipped to it: is it mounted?")
		}
		err = sh.to.putNote(ctx, ownerName, 0, time.Now(), who(sh.path))
	}
	if err == nil && string(before) != name {
		err = sh.setMeta(shipKey, []byte(name))
	}
	if err == nil {
		err = sh.findLast(ctx)
	}
	if err != nil {
		return err
	}
	sh.joined = true
	sh.note(func(done *Shipping) { done.Known = true })
	sh.wakeSnapshots()
	return nil
}

// findLast finds the last commit that is in the folder. If the last piece is damaged, the
// next snapshot makes up for it.
func (sh *shipper) findLast(ctx context.Context) error {
	pieces, err := sh.to.numbers(ctx, pieceBegin)
	if err != nil || len(pieces) == 0 {
		return err
	}
	first := pieces[len(pieces)-1]
	end, err := sh.to.each(ctx, numbered(pieceBegin, first), first, func(r commitlog.Record) error {
		sh.origin = r
		return nil
	})
	if errors.Is(err, ErrDamaged) {
		end.Seq, err = max(first, sh.seenLast()), nil
		sh.origin = commitlog.Record{}
		sh.need.Store(end.Seq + 1)
	}
	sh.read = end.Seq
	sh.last.Store(end.Seq)
	return err
}

// look makes sure that the folder is there, and is the store's.
func (sh *shipper) look(ctx context.Context) error {
	there := &history{Folder: sh.to.Folder}
	owner, err := there.each(ctx, ownerName, 0, nil)
	if err == nil && there.store != sh.id {
		err = fmt.Errorf("%w: %s ships there", ErrFolder, owner.Body)
	}
	return err
}

// gather makes a piece of the commits since the last one, if there are any, and reports
// whether there are more. Everything that was committed by the moment seen can be seen.
func (sh *shipper) gather(seen time.Time, ends bool) (more bool, err error) {
	if sh.piece != nil {
		return true, nil
	}
	last, shipped := sh.seenLast(), sh.last.Load()
	switch {
	case last < shipped:
		return false, fmt.Errorf("%w: it has commits up to %d, the store only up to %d: the file is older than what was shipped", ErrFolder, shipped, last)
	case last == sh.read && sh.origin.Seq == 0 && !(ends && last > shipped):
		return false, nil
	}
	if err := sh.bridge(); err != nil {
		return false, err
	}
	logs := sh.readers()
	if fail := sh.syncSeen(); fail != nil {
		return false, fail
	}
	p := pieceOf{read: sh.read, mark: sh.mark}
	err = eachCommit(logs, func(r commitlog.Record, end commitlog.Mark) error {
		if err := sh.compare(r); err != nil {
			return err
		}
		return p.add(r, end)
	})
	if more = errors.Is(err, errMore); err != nil && !more {
		return false, err
	}
	sh.origin = commitlog.Record{} // Behind the logs there is nothing to compare.
	sh.read, sh.mark = p.read, p.mark
	if len(p.commits) > 0 || ends && sh.read > sh.last.Load() {
		sh.piece, err = p.encode(sh.to, sh.last.Load()+1, seen, more)
		return more, err
	}
	sh.pass(sh.mark)
	return more, nil
}

// compare returns an error if r is not the commit that the folder has of its number.
func (sh *shipper) compare(r commitlog.Record) error {
	if r.Seq == sh.origin.Seq && r.Time != sh.origin.Time {
		return fmt.Errorf("%w: its commit %d is of %s, that of the store of %s: the file is a copy that has gone its own way", ErrFolder, r.Seq, moment(sh.origin.Time), moment(r.Time))
	}
	return nil
}

func moment(at int64) string { return time.Unix(0, at).UTC().Format("2006-01-02 15:04:05.000000000") }

// bridge makes sure that pieces go on where the last one ends, or behind the commits of a
// snapshot, where the logs lack commits in between.
func (sh *shipper) bridge() error {
	sh.holdAgain()
	first := sh.first()
	if first <= sh.read+1 {
		return nil
	}
	if sh.base.Load()+1 < first {
		if sh.need.Swap(first) != first {
			sh.wakeSnapshots()
		}
		return fmt.Errorf("its logs have no commits before %d any more, and the folder only those up to %d: the next snapshot makes up for them", first, sh.read)
	}
	sh.read = first - 1
	sh.last.Store(first - 1)
	return nil
}

// pieceOf gathers the commits of a piece.
type pieceOf struct {
	commits []commitlog.Record
	bytes   int
	read    uint64
	mark    commitlog.Mark
}

// errMore: there is more than a piece takes.
var errMore = errors.New("more")

func (p *pieceOf) add(r commitlog.Record, end commitlog.Mark) error {
	switch {
	case r.Seq <= p.read:
		return nil
	case p.bytes >= pieceBytes:
		return errMore
	case r.Seq > p.read+1:
		return fmt.Errorf("commit %d follows commit %d", r.Seq, p.read)
	}
	p.read, p.mark = r.Seq, end
	if !r.End {
		p.commits = append(p.commits, r)
		p.bytes += len(r.Body)
	}
	return nil
}

// encode returns the piece, which begins with a number. Its end says when its commits were
// all there were.
func (p *pieceOf) encode(to *history, first uint64, seen time.Time, more bool) ([]byte, error) {
	end := commitlog.Record{Seq: p.read, Time: seen.UnixNano(), End: true}
	if more {
		end.Time = p.commits[len(p.commits)-1].Time - 1
	}
	return to.encode(first, append(p.commits, end)...)
}

// put puts the piece into the folder, if there is one.
func (sh *shipper) put(ctx context.Context) error {
	if sh.piece == nil {
		return nil
	}
	err := sh.look(ctx)
	if isMissing(err) {
		return errors.New("the folder does not say any more whose it is: is it mounted?")
	}
	if err != nil {
		return err
	}
	name := numbered(pieceBegin, sh.last.Load()+1)
	err = sh.to.PutNew(ctx, name, bytes.NewReader(sh.piece))
	if errors.Is(err, fs.ErrExist) {
		err = sh.isOurs(ctx, name)
	}
	if err != nil {
		return err
	}
	sh.piece = nil
	sh.last.Store(sh.read)
	sh.pass(sh.mark)
	return nil
}

// isOurs returns nil if the piece that is in the folder was put there by this store, as
// happens when the folder did not answer.
func (sh *shipper) isOurs(ctx context.Context, name string) error {
	object, err := sh.to.Get(ctx, name)
	if err != nil {
		return err
	}
	defer object.Close()
	there, err := io.ReadAll(object)
	if err == nil && !bytes.Equal(there, sh.piece) {
		err = fmt.Errorf("%w: another file has put %s there: does a copy of this one ship to it, too?", ErrFolder, name)
	}
	return err
}

// seenLast returns the number of the last record that can be seen.
func (s *Store) seenLast() uint64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.filling.seq
}

// folderName returns what a folder calls itself; "" if it has no name.
func folderName(f Folder) string {
	if named, ok := f.(fmt.Stringer); ok {
		return named.String()
	}
	return ""
}

// who says which file this is, for readers of a folder.
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
