package boltkv

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/archive"
	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/commitlog"
)

const (
	pieceBytes = 1 << 20     // with which a piece is not added to any more
	pieceFor   = time.Minute // for which a piece is added to
	readBytes  = 8 << 20     // of a piece that are read at once
)

// shipper ships the commits of a store.
type shipper struct {
	*hold
	to     *archive.Archive
	folder string // its name, if it says so

	term archive.Term // the store's own; its number is 0 until it is known

	last     uint64 // the last commit that was shipped, or is in the piece
	made     int64  // when that was made; 0 if it is not known
	compared bool   // with what the logs say of it
	mark     commitlog.Mark
	piece    archive.Piece
	bytes    int           // of the piece
	put      int           // commits of the piece that are in the folder
	began    time.Time     // when the piece was put first
	head     *archive.Head // that was put last; nil: none was

	want atomic.Bool   // a snapshot, whatever its time
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
		if err := sh.step(ctx); isFinal(err) {
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

// finish ships what is left. If it cannot, the store keeps its logs for the next time.
func (sh *shipper) finish(ctx context.Context) error {
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	err := sh.step(last)
	if isFinal(err) || err == nil && ctx.Err() == nil {
		sh.release()
	}
	if isFinal(err) {
		return err
	}
	return ctx.Err()
}

// isFinal reports whether it is of no use to try again after err.
func isFinal(err error) bool { return errors.Is(err, ErrFenced) || errors.Is(err, ErrFolder) }

// step does what is due at each tick.
func (sh *shipper) step(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	err := sh.refused()
	if err == nil {
		err = sh.shipAll(ctx)
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

// shipAll ships all that can be seen.
func (sh *shipper) shipAll(ctx context.Context) error {
	if sh.term.Number == 0 {
		if err := sh.join(ctx); err != nil {
			return err
		}
	}
	seen := time.Now()
	if sh.isShipped() && !sh.looksAgain() {
		sh.shippedBy(seen)
		return nil
	}
	if err := sh.look(ctx); err != nil {
		return err
	}
	sh.note(func(done *Shipping) { done.Known = true })
	for {
		seen = time.Now()
		more, err := sh.gather(ctx)
		if err != nil {
			return err
		}
		if err := sh.ship(ctx); err != nil {
			return err
		}
		if !more {
			return sh.putHead(ctx, seen)
		}
		if err := sh.look(ctx); err != nil {
			return err
		}
	}
}

// isShipped reports whether the folder says that it has all that can be seen.
func (sh *shipper) isShipped() bool { return sh.head != nil && sh.head.Last == sh.seenLast() }

// looksAgain reports whether it is time to look at the folder though there is nothing to
// ship.
func (sh *shipper) looksAgain() bool {
	each := sh.limits.look
	if sh.opts.Strict {
		each = min(each, strictFor/3)
	}
	return time.Since(*sh.reached.Load()) > each
}

// look makes sure that the folder is there, and that no other file has taken over.
func (sh *shipper) look(ctx context.Context) error {
	now := time.Now()
	own, err := sh.to.Taken(ctx, sh.term.Number)
	switch {
	case isMissing(err):
		return fmt.Errorf("the folder lacks term %d, in which this store ships there: is it mounted?", sh.term.Number)
	case err != nil:
		return err
	case own.Token != sh.term.Token:
		return sh.replacedBy(ctx, own)
	}
	next, err := sh.to.Taken(ctx, sh.term.Number+1)
	switch {
	case err == nil:
		return sh.replacedBy(ctx, next)
	case !isMissing(err):
		return err
	}
	sh.reached.Store(&now)
	return nil
}

// putHead says in the folder that all is shipped that could be seen at a moment, unless
// there is nothing new.
func (sh *shipper) putHead(ctx context.Context, seen time.Time) error {
	if sh.head == nil || sh.head.Last != sh.last {
		head := archive.Head{Last: sh.last, At: seen}
		if len(sh.piece.Commits) > 0 {
			head.Piece = sh.piece.First()
		}
		if err := sh.to.PutHead(ctx, sh.term.Number, head); err != nil {
			return err
		}
		sh.head = &head
	}
	sh.shippedBy(seen)
	return nil
}

// shippedBy notes that all is in the folder that could be seen at a moment.
func (sh *shipper) shippedBy(seen time.Time) {
	sh.note(func(done *Shipping) { done.Shipped, done.Waiting = seen, 0 })
}

// gather adds to the piece what the store has committed since, and reports whether there is
// more.
func (sh *shipper) gather(ctx context.Context) (more bool, err error) {
	if sh.put == len(sh.piece.Commits) && (sh.bytes >= pieceBytes || time.Since(sh.began) > pieceFor) {
		sh.piece.Commits, sh.bytes, sh.put = nil, 0, 0
	}
	sh.holdAgain()
	last := sh.seenLast()
	switch {
	case last < sh.last:
		return false, fmt.Errorf("%w: it has commits up to %d, the store only up to %d: the file is older than what was shipped", ErrFolder, sh.last, last)
	case last == sh.last && sh.compared:
		return false, nil
	}
	all := sh.readers()
	if fail := sh.syncSeen(); fail != nil {
		return false, fail
	}
	err = eachCommit(all, func(r commitlog.Record, end commitlog.Mark) error {
		if sh.bytes >= readBytes {
			return errMore
		}
		if err := sh.add(ctx, r); err != nil {
			return err
		}
		sh.mark = end
		return nil
	})
	if errors.Is(err, errMore) {
		return true, nil
	}
	sh.compared = err == nil
	return false, err
}

// errMore: there is more than can be shipped at once.
var errMore = errors.New("more")

// add adds a commit to the piece, unless it is in the folder.
func (sh *shipper) add(ctx context.Context, r commitlog.Record) error {
	switch {
	case r.Seq < sh.last:
		return nil
	case r.Seq == sh.last:
		if sh.made != 0 && r.Time != sh.made {
			return fmt.Errorf("%w: its commit %d is of %s, that of the store of %s: the file is a copy that has gone its own way", ErrFolder, r.Seq, moment(sh.made), moment(r.Time))
		}
		return nil
	case r.Seq > sh.last+1:
		if err := sh.gap(ctx, r.Seq); err != nil {
			return err
		}
	}
	sh.piece.Commits = append(sh.piece.Commits, r)
	sh.bytes += len(r.Body)
	sh.last, sh.made = r.Seq, r.Time
	return nil
}

func moment(at int64) string { return time.Unix(0, at).UTC().Format("2006-01-02 15:04:05.000000000") }

// gap notes that the commits before the one with number next will never be shipped.
func (sh *shipper) gap(ctx context.Context, next uint64) error {
	// What comes before it is a piece of its own.
	if err := sh.ship(ctx); err != nil {
		return err
	}
	why := "the store was used when nobody followed it"
	if sh.made != 0 && !sh.done.Shipped.IsZero() {
		why = fmt.Sprintf("the folder was away, and more than %d MB of logs waited for it", sh.limits.kept>>20)
	}
	if err := sh.to.PutGap(ctx, sh.term.Number, next, sh.last, why); err != nil {
		return err
	}
	sh.note(func(done *Shipping) { done.Gaps++ })
	sh.piece.Commits, sh.bytes, sh.put = nil, 0, 0
	sh.last = next - 1
	sh.want.Store(true)
	sh.wakeSnapshots()
	return nil
}

// ship puts the piece into the folder, if there is anything new in it.
func (sh *shipper) ship(ctx context.Context) error {
	n := len(sh.piece.Commits)
	if n == sh.put {
		sh.pass(sh.mark)
		return nil
	}
	sh.note(func(done *Shipping) { done.Waiting = uint64(n - sh.put) })
	isNew := sh.put == 0
	err := sh.to.PutPiece(ctx, &sh.piece, isNew)
	if isNew && errors.Is(err, fs.ErrExist) {
		if err = sh.isOurs(ctx); err == nil {
			err = sh.to.PutPiece(ctx, &sh.piece, false)
		}
	}
	if err != nil {
		return err
	}
	if isNew {
		sh.began = time.Now()
	}
	sh.put = n
	sh.pass(sh.mark)
	return nil
}

// isOurs returns nil if the piece that is in the folder was put there by this store, as
// happens when the folder did not answer.
func (sh *shipper) isOurs(ctx context.Context) error {
	first := sh.piece.Commits[0]
	ours := false
	err := sh.to.Beyond(ctx, sh.term.Number, first.Seq-1, func(r commitlog.Record) error {
		if r.Seq == first.Seq {
			ours = r.Time == first.Time && r.Version == first.Version && string(r.Body) == string(first.Body)
		}
		return nil
	})
	if err == nil && !ours {
		err = fmt.Errorf("%w: it has another commit %d than the store: does a copy of it ship there, too?", ErrFolder, first.Seq)
	}
	return err
}

// seenLast returns the number of the last commit.
func (s *Store) seenLast() uint64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.filling.seq
}
