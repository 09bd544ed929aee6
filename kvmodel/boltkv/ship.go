package boltkv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc64"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/commitlog"
)

// ErrFolder says that the folder does not fit the store.
var ErrFolder = errors.New("the folder does not fit this store")

// Shipping says what Ship has done.
type Shipping struct {
	Known    bool      // Ship has reached the folder, and it fits
	Shipped  time.Time // everything that was committed by then is in the folder
	Snapshot time.Time // when the newest snapshot was begun

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
// 1 GB of logs for it. Beyond that the oldest go, and a new snapshot makes up for them. Close
// waits up to five seconds for the rest. Commits that were not shipped when the process ended
// are shipped later if the logs still have them; otherwise a new snapshot makes up for them.
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
	sh := &shipper{hold: s.hold(), to: &history{Folder: to, store: s.id}}
	defer func() { sh.release() }()
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
	*hold // of the commits that are not in the folder
	to    *history

	joined bool
	last   uint64           // up to this commit all are in the folder
	piece  *piece           // goes into the folder next; nil: none does
	origin commitlog.Record // the last commit that was in the folder when Ship began, until it was compared

	newest snapshot   // in the folder; the zero one: there is none
	need   uint64     // a snapshot that has all before this commit is wanted
	taking chan taken // says what became of the snapshot that is being taken; nil: none is
	rest   time.Time  // until when none is begun
	done   Shipping
}

// run ships until the store is closed, ctx ends, or there is no use.
func (sh *shipper) run(ctx context.Context) error {
	snapshots, stop := context.WithCancel(ctx)
	defer func() {
		stop()
		if sh.taking != nil {
			<-sh.taking
		}
	}()
	tick := time.NewTicker(sh.limits.ship)
	defer tick.Stop()
	for {
		if err := sh.step(ctx); errors.Is(err, ErrFolder) {
			return err
		}
		sh.beginSnapshot(snapshots)
		select {
		case <-tick.C:
			continue
		case got := <-sh.taking:
			sh.took(got)
			continue
		case <-ctx.Done():
		case <-sh.stopped:
		}
		stop()
		return sh.finish(ctx)
	}
}

// finish ships the rest.
func (sh *shipper) finish(ctx context.Context) error {
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	if err := sh.step(last); errors.Is(err, ErrFolder) {
		return err
	}
	return ctx.Err()
}

// step does what is due at each tick.
func (sh *shipper) step(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	err := sh.refused()
	if err == nil {
		err = sh.shipAll(ctx)
	}
	sh.done.Trouble = err
	sh.tell()
	return err
}

// tell has Stats say what is done.
func (sh *shipper) tell() {
	done := sh.done
	done.Snapshot = sh.newest.begun
	sh.shipped.Store(&done)
}

// shipAll ships all commits that can be seen.
func (sh *shipper) shipAll(ctx context.Context) error {
	if !sh.joined {
		if err := sh.join(ctx); err != nil {
			return err
		}
	}
	for {
		seen := time.Now()
		more, err := sh.gather(seen)
		if err == nil {
			err = sh.put(ctx)
		}
		if err != nil {
			return err
		}
		if !more {
			sh.done.Shipped = seen
			return nil
		}
	}
}

// join finds out what is in the folder, and makes it the store's if it is empty.
func (sh *shipper) join(ctx context.Context) error {
	folder := folderSum(sh.to.Folder)
	before, err := sh.stateNow()
	if err != nil {
		return err
	}
	err = sh.look(ctx)
	if isMissing(err) {
		if folder != 0 && before.ships == folder {
			return errors.New("the folder is empty, though this store has shipped to it: is it mounted?")
		}
		err = sh.to.putOwner(ctx, who(sh.path))
	}
	if err == nil && before.ships != folder {
		err = sh.update(func(t *tree) { t.setState(func(st *state) { st.ships = folder }) })
	}
	if err == nil {
		err = sh.findLast(ctx)
	}
	var snapshots []snapshot
	if err == nil {
		snapshots, err = sh.to.snapshots(ctx)
	}
	if len(snapshots) > 0 {
		sh.newest = snapshots[len(snapshots)-1]
	}
	sh.joined = err == nil
	sh.done.Known = sh.joined
	return err
}

// findLast finds the last commit that is in the folder. If the last piece is damaged, the
// next snapshot makes up for it.
func (sh *shipper) findLast(ctx context.Context) error {
	pieces, err := sh.to.pieces(ctx)
	if err != nil || len(pieces) == 0 {
		return err
	}
	first := pieces[len(pieces)-1]
	end, err := sh.to.each(ctx, pieceName(first), first, func(r commitlog.Record) error {
		sh.origin = r
		return nil
	})
	if errors.Is(err, ErrDamaged) {
		end.Seq, err = max(first, sh.seenLast()), nil
		sh.origin = commitlog.Record{}
		sh.need = end.Seq + 1
	}
	sh.last = end.Seq
	return err
}

// look makes sure that the folder is there, and is the store's.
func (sh *shipper) look(ctx context.Context) error {
	there := &history{Folder: sh.to.Folder}
	owner, err := there.each(ctx, ownerName, 0, func(commitlog.Record) error { return nil })
	if err == nil && there.store != sh.id {
		err = fmt.Errorf("%w: %s ships there", ErrFolder, owner.Body)
	}
	return err
}

// gather makes a piece of the commits since the last one, if there are any, and reports
// whether there are more. Everything that was committed by the moment seen can be seen.
func (sh *shipper) gather(seen time.Time) (more bool, err error) {
	if sh.piece != nil {
		return true, nil
	}
	last, shipped := sh.seenLast(), sh.last
	switch {
	case last < shipped:
		return false, fmt.Errorf("%w: it has commits up to %d, the store only up to %d: the file is older than what was shipped", ErrFolder, shipped, last)
	case last == shipped && sh.origin.Seq == 0:
		return false, nil
	}
	if err := sh.bridge(); err != nil {
		return false, err
	}
	if fail := sh.syncSeen(); fail != nil {
		return false, fail
	}
	p := &piece{last: sh.last, mark: sh.from}
	err = eachCommit(sh.readers(), func(r commitlog.Record, end commitlog.Mark) error {
		if err := sh.compare(r); err != nil {
			return err
		}
		return p.add(r, end)
	})
	if more = errors.Is(err, errMore); err != nil && !more {
		return false, err
	}
	sh.origin = commitlog.Record{} // Behind the logs there is nothing to compare.
	if len(p.commits) > 0 {
		sh.piece, err = p, p.encode(sh.to, seen, more)
	}
	return more, err
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
	if sh.ctx.Err() != nil { // Too many logs were kept for it.
		sh.hold = sh.Store.hold()
	}
	first, last := sh.first(), sh.last
	switch {
	case first <= last+1:
		return nil
	case sh.newest.from+1 >= first:
		sh.last = first - 1
		return nil
	}
	sh.need = first
	return fmt.Errorf("its logs have no commits before %d any more, and the folder only those up to %d: the next snapshot makes up for them", first, last)
}

// piece is some commits on their way to the folder.
type piece struct {
	commits []commitlog.Record
	bytes   int
	last    uint64         // the number of the last commit, or of the one before the first
	mark    commitlog.Mark // behind it
	data    []byte
}

// errMore: there is more than a piece takes.
var errMore = errors.New("more")

func (p *piece) add(r commitlog.Record, end commitlog.Mark) error {
	switch {
	case r.Seq <= p.last:
		return nil
	case p.bytes >= pieceBytes:
		return errMore
	case r.Seq > p.last+1:
		return fmt.Errorf("commit %d follows commit %d", r.Seq, p.last)
	}
	p.last, p.mark = r.Seq, end
	p.commits = append(p.commits, r)
	p.bytes += len(r.Body)
	return nil
}

func (p *piece) name() string { return pieceName(p.commits[0].Seq) }

// encode makes the object. Its end says when its commits were all there were.
func (p *piece) encode(to *history, seen time.Time, more bool) (err error) {
	end := commitlog.Record{Seq: p.last, Time: seen.UnixNano(), End: true}
	if more {
		end.Time = p.commits[len(p.commits)-1].Time - 1
	}
	p.data, err = to.encode(p.commits[0].Seq, append(p.commits, end)...)
	return err
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
	if err == nil {
		err = sh.to.PutNew(ctx, sh.piece.name(), bytes.NewReader(sh.piece.data))
	}
	if errors.Is(err, fs.ErrExist) { // It is ours, if the folder did not answer the last time.
		sh.piece, sh.joined = nil, false
	}
	if err != nil {
		return err
	}
	sh.last = sh.piece.last
	sh.pass(sh.piece.mark)
	sh.piece = nil
	return nil
}

// seenLast returns the number of the last commit that can be seen.
func (s *Store) seenLast() uint64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.filling.seq
}

var folderSums = crc64.MakeTable(crc64.ECMA)

// folderSum returns what stands for a folder in the state; 0 if it has no name.
func folderSum(f Folder) uint64 {
	if named, ok := f.(fmt.Stringer); ok {
		return crc64.Checksum([]byte(named.String()), folderSums)
	}
	return 0
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
