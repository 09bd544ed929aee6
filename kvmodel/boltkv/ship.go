package boltkv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/commitlog"
)

// ErrFolder means that the folder does not fit the store.
var ErrFolder = errors.New("the folder does not fit this store")

// Shipping is the state of Ship.
type Shipping struct {
	Known    bool
	Shipped  time.Time // all commits up to this time are in the folder
	Snapshot time.Time // start of the newest one

	Trouble error // of the last try to ship, or nil
	Spoiled error // of the last try to take a snapshot or delete old ones, or nil
}

const (
	callTime   = 30 * time.Second // of the folder
	closeTime  = 5 * time.Second
	pieceBytes = 8 << 20
)

// Ship ships the store to a folder until the store is closed, and then returns nil, or until ctx
// ends: new commits twice a second, and a snapshot once a day. Restore can recreate any moment of
// the last seven days, and any snapshot of the last thirty. Close waits up to five seconds for the
// last commits.
//
// If the folder is unavailable, Ship retries, Stats has the error, and the store retains up to 1 GB
// of logs. After that, a new snapshot closes the gap.
//
// It returns ErrFolder if another store, or a copy of this one, ships to the folder, or if the
// folder has a later state of this one. A store has one folder at a time.
func (s *Store) Ship(ctx context.Context, to Folder) error {
	if err := s.ship(ctx, to); err != nil {
		return fmt.Errorf("boltkv: ship %s: %w", s.path, err)
	}
	return nil
}

func (s *Store) ship(ctx context.Context, to Folder) error {
	select {
	case s.shipping <- struct{}{}:
		defer func() { <-s.shipping }()
	default:
		return cmp.Or(s.refused(), errors.New("it is being shipped already"))
	}
	sh := &shipper{hold: s.hold(context.Background()), to: &history{Folder: to, store: s.id}}
	defer func() { sh.release() }()
	return sh.run(ctx)
}

type shipper struct {
	*hold
	to   *history
	last uint64

	newest snapshot // in the folder; may be zero
	need   uint64   // a snapshot with all commits before this one is needed
	taking chan taken
	rest   time.Time
	done   Shipping
}

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
		if err := sh.step(ctx, callTime); errors.Is(err, ErrFolder) {
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
		if err := sh.step(context.WithoutCancel(ctx), closeTime); errors.Is(err, ErrFolder) {
			return err
		}
		return ctx.Err()
	}
}

func (sh *shipper) step(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := sh.refused()
	if err == nil {
		err = sh.shipAll(ctx)
	}
	sh.done.Trouble = err
	sh.tellDone()
	return err
}

func (sh *shipper) tellDone() {
	sh.done.Snapshot = sh.newest.begun
	sh.tell(func(st *Stats) { st.Shipping = sh.done })
}

func (sh *shipper) shipAll(ctx context.Context) error {
	if sh.ctx.Err() != nil {
		sh.hold = sh.Store.hold(context.Background())
	}
	for {
		seen := sh.lastSeen()
		more, err := sh.shipTo(ctx, seen)
		if err != nil {
			return err
		}
		if !more {
			sh.done.Shipped = time.Unix(0, seen.time)
			return nil
		}
	}
}

// shipTo ships commits up to seen, and reports whether there are more. If there are none, it does
// not call the folder.
func (sh *shipper) shipTo(ctx context.Context, seen point) (more bool, err error) {
	if sh.done.Known && sh.last == seen.seq {
		return false, nil
	}
	if err := sh.own(ctx); err != nil {
		return false, err
	}
	if !sh.done.Known {
		if err := sh.join(ctx); err != nil {
			return false, err
		}
	}
	return sh.shipPiece(ctx)
}

// own makes sure that the folder belongs to the store. It claims an empty one, unless the store has
// shipped there before.
func (sh *shipper) own(ctx context.Context) error {
	folder := crc64.Checksum([]byte(sh.to.String()), folderSums)
	st, err := sh.stateNow()
	if err != nil {
		return err
	}
	there := &history{Folder: sh.to.Folder}
	owner, err := there.each(ctx, ownerName, 0, func(commitlog.Record) error { return nil })
	switch {
	case isMissing(err) && st.ships == folder:
		return errors.New("the folder is empty, though this store has shipped to it: is it mounted?")
	case isMissing(err):
		err = sh.to.put(ctx, ownerName, 0, commitlog.Record{Time: time.Now().UnixNano(), Body: []byte(who(sh.path)), End: true})
	case err == nil && there.store != sh.id:
		err = fmt.Errorf("%w: it belongs to %s", ErrFolder, owner.Body)
	}
	if err == nil && st.ships != folder {
		err = sh.update(func(t *tree) { t.setState(func(st *state) { st.ships = folder }) })
	}
	return err
}

func (sh *shipper) join(ctx context.Context) error {
	snapshots, err := sh.to.snapshots(ctx)
	if err == nil {
		err = sh.findLast(ctx)
	}
	if err != nil {
		return err
	}
	if len(snapshots) > 0 {
		sh.newest = snapshots[len(snapshots)-1]
	}
	sh.done.Known = true
	return nil
}

// findLast finds the last commit in the folder. A damaged last piece is replaced by the next
// snapshot.
func (sh *shipper) findLast(ctx context.Context) error {
	pieces, err := sh.to.pieces(ctx)
	if err != nil || len(pieces) == 0 {
		return err
	}
	first := pieces[len(pieces)-1]
	var there commitlog.Record
	_, err = sh.to.each(ctx, pieceName(first), first, func(r commitlog.Record) error { there = r; return nil })
	seen := sh.lastSeen().seq
	if errors.Is(err, ErrDamaged) {
		there, err = commitlog.Record{Seq: max(first, seen)}, nil
		sh.need = there.Seq + 1
	}
	if err == nil && there.Seq > seen {
		err = fmt.Errorf("%w: it has commits up to %d, the store only up to %d: the file is older than the folder", ErrFolder, there.Seq, seen)
	}
	if err != nil {
		return err
	}
	sh.last = there.Seq
	return sh.compare(there)
}

// compare returns an error if the logs have another commit with the number of there, the last one
// in the folder. there has no time if it is damaged.
func (sh *shipper) compare(there commitlog.Record) error {
	all, _, err := sh.commits()
	if err != nil {
		return err
	}
	for c, err := range all {
		switch {
		case err != nil:
			return err
		case c.Seq == there.Seq && there.Time != 0 && c.Time != there.Time:
			return fmt.Errorf("%w: its commit %d is of %s, that of the store of %s: the file is a copy that has diverged", ErrFolder, c.Seq, moment(there.Time), moment(c.Time))
		case c.Seq >= there.Seq:
			return nil
		}
	}
	return nil
}

func moment(at int64) string { return time.Unix(0, at).UTC().Format("2006-01-02 15:04:05.000000000") }

func (sh *shipper) shipPiece(ctx context.Context) (more bool, err error) {
	if err := sh.bridge(); err != nil {
		return false, err
	}
	p, err := sh.gather()
	if err != nil || len(p.commits) == 0 {
		return false, err
	}
	first := sh.last + 1
	end := commitlog.Record{Seq: sh.last + uint64(len(p.commits)), Time: p.now, End: true}
	err = sh.to.put(ctx, pieceName(first), first, append(p.commits, end)...)
	if errors.Is(err, fs.ErrExist) { // Perhaps ours: the folder's last answer was lost.
		sh.done.Known = false
	}
	if err != nil {
		return false, err
	}
	sh.last = end.Seq
	sh.pass(p.end)
	return p.more, nil
}

// bridge handles commits missing between the last piece and the logs: the next piece follows a
// snapshot, or waits for one.
func (sh *shipper) bridge() error {
	sh.mu.RLock()
	first, last := sh.logs()[0].First, sh.last
	sh.mu.RUnlock()
	switch {
	case first <= last+1:
		return nil
	case sh.newest.from+1 >= first:
		sh.last = first - 1
		return nil
	}
	sh.need = first
	return fmt.Errorf("its logs begin at commit %d, and the folder ends at %d: the next snapshot will contain the commits between", first, last)
}

type piece struct {
	commits []commitlog.Record
	end     commitlog.Mark
	more    bool
	now     int64
}

func (sh *shipper) gather() (p piece, err error) {
	all, now, err := sh.commits()
	if err != nil {
		return p, err
	}
	p.now = now.time
	size := 0
	for c, err := range all {
		switch {
		case err != nil:
			return p, err
		case c.Seq <= sh.last:
			continue
		case size >= pieceBytes:
			p.more, p.now = true, p.commits[len(p.commits)-1].Time-1
			return p, nil
		}
		p.commits, p.end = append(p.commits, c.Record), c.end
		size += len(c.Body)
	}
	return p, nil
}

func (s *Store) lastSeen() point {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.filling.present()
}

var folderSums = crc64.MakeTable(crc64.ECMA)

func who(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		path = full
	}
	host, _ := os.Hostname()
	return path + " on " + host
}

func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

const (
	snapshotEach  = 24 * time.Hour
	snapshotAgain = time.Minute
)

type taken struct {
	snapshot // zero: it failed
	err      error
}

// beginSnapshot begins a snapshot if there is none, the pieces have a gap, or the last is a day old
// and commits were shipped since.
func (sh *shipper) beginSnapshot(ctx context.Context) {
	now := time.Now()
	isOld := now.Sub(sh.newest.begun).Abs() > snapshotEach && sh.newest.from < sh.last
	isDue := sh.newest.begun.IsZero() || isOld || sh.need > sh.newest.from+1
	if !sh.done.Known || !isDue || sh.taking != nil || now.Before(sh.rest) {
		return
	}
	store, to, sn, taking := sh.Store, sh.to, snapshot{sh.lastSeen().seq, now}, make(chan taken, 1)
	sh.taking = taking
	go func() {
		err := store.takeSnapshot(ctx, to, sn.name())
		if err != nil {
			sn = snapshot{}
		} else {
			err = to.thin(ctx, now)
		}
		taking <- taken{sn, err}
	}()
}

func (sh *shipper) took(got taken) {
	sh.taking, sh.done.Spoiled = nil, got.err
	if got.err != nil {
		sh.rest = time.Now().Add(snapshotAgain)
	}
	if !got.begun.IsZero() {
		sh.newest = got.snapshot
	}
	sh.tellDone()
}

// takeSnapshot gives up if it takes too long or retains too many logs. It then releases the logs
// even if the folder does not return.
func (s *Store) takeSnapshot(ctx context.Context, to *history, name string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.limits.snapshot, fmt.Errorf("it takes longer than %v", s.limits.snapshot))
	defer cancel()
	h := s.hold(ctx)
	defer h.release()
	var writing sync.WaitGroup
	defer writing.Wait()
	data, w := io.Pipe()
	defer data.Close() // If the folder has not read everything, it never will.
	writing.Go(func() { _ = w.CloseWithError(h.backup(w)) })
	put := make(chan error, 1)
	go func() { put <- to.PutNew(h.ctx, name, data) }()
	select {
	case err := <-put:
		if err == nil || h.ctx.Err() == nil { // Otherwise the folder reports only that it was stopped.
			return err
		}
	case <-h.ctx.Done():
	}
	return context.Cause(h.ctx)
}
