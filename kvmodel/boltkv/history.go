package boltkv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/commitlog"
)

// history is the history of a store in a folder. Its objects are streams of a commitlog, so
// each has sums and an end, and is whole or named as damaged. None is ever replaced:
//
//	owner          which store ships there, from which file; it comes first
//	piece-FIRST    commits from number FIRST on; its end says up to which, and when these were all
//	items-TIME     a backup, read while commits went on
//	snapshot-LAST  which items hold all up to commit number LAST
//
// A piece goes on where the one before it ends, or behind the commits of a snapshot.
type history struct {
	Folder
	store [16]byte // identifies the store; unknown until an object was read
}

const (
	ownerName     = "owner"
	pieceBegin    = "piece-"
	itemsBegin    = "items-"
	snapshotBegin = "snapshot-"
)

func numbered(begin string, n uint64) string { return fmt.Sprintf("%s%020d", begin, n) }

// numbers returns the numbers of the objects whose names begin with begin, in order.
func (h *history) numbers(ctx context.Context, begin string) (all []uint64, err error) {
	names, err := h.List(ctx, begin)
	for _, name := range names {
		if n, err := strconv.ParseUint(strings.TrimPrefix(name, begin), 10, 64); err == nil && name == numbered(begin, n) {
			all = append(all, n)
		}
	}
	return all, err
}

// encode returns an object with a number.
func (h *history) encode(number uint64, records ...commitlog.Record) ([]byte, error) {
	var buf bytes.Buffer
	w, err := commitlog.NewWriter(&buf, commitlog.Header{Store: h.store, First: number})
	for _, r := range records {
		err = errors.Join(err, w.Write(r))
	}
	return buf.Bytes(), err
}

// putNote puts an object with a text.
func (h *history) putNote(ctx context.Context, name string, number uint64, at time.Time, text string) error {
	data, err := h.encode(number, commitlog.Record{Seq: number, Time: at.UnixNano(), Body: []byte(text), End: true})
	if err != nil {
		return err
	}
	return h.PutNew(ctx, name, bytes.NewReader(data))
}

// each calls f for each record of an object with a number, but for its end, which it
// returns. A nil f is for objects that have only an end.
func (h *history) each(ctx context.Context, name string, number uint64, f func(commitlog.Record) error) (end commitlog.Record, err error) {
	object, err := h.Get(ctx, name)
	if err != nil {
		return end, err
	}
	defer object.Close()
	r, err := commitlog.NewReader(object)
	switch {
	case err != nil:
	case h.store == [16]byte{}:
		h.store = r.Store
	case r.Store != h.store:
		err = fmt.Errorf("%w: it is of another store", ErrFolder)
	}
	if err == nil && r.First != number {
		err = fmt.Errorf("%w: it has number %d", commitlog.ErrDamaged, r.First)
	}
	for err == nil {
		var next commitlog.Record
		switch next, err = r.Next(); {
		case errors.Is(err, io.EOF) && r.Ended():
			return end, nil
		case errors.Is(err, io.EOF):
			err = fmt.Errorf("%w: it is cut off", commitlog.ErrDamaged)
		case err != nil:
		case next.End:
			end = next
		case f == nil:
			err = fmt.Errorf("%w: it has commits", commitlog.ErrDamaged)
		default:
			err = errors.Join(ctx.Err(), f(next))
		}
	}
	return end, about(name, err)
}

// shippedSnapshot is all that the store held after one commit.
type shippedSnapshot struct {
	last  uint64    // the number of that commit
	taken time.Time // not before that commit was made
	items string    // the name of the object that has it
}

// putSnapshot puts the items that write writes, and a note that they are whole. It ends with
// ctx even if the folder does not.
func (h *history) putSnapshot(ctx context.Context, write func(io.Writer) (point, error)) (made point, err error) {
	items := itemsBegin + time.Now().UTC().Format("20060102-150405.000000000")
	from, to := io.Pipe()
	defer context.AfterFunc(ctx, func() { _ = from.CloseWithError(context.Cause(ctx)) })()
	written := make(chan struct{})
	go func() {
		defer close(written)
		var failed error
		made, failed = write(to)
		_ = to.CloseWithError(failed)
	}()
	err = h.PutNew(ctx, items, from)
	_ = from.Close() // If the folder did not read all, nobody will.
	<-written
	if err != nil {
		return made, err
	}
	err = h.putNote(ctx, numbered(snapshotBegin, made.seq), made.seq, time.Unix(0, made.time), items)
	if errors.Is(err, fs.ErrExist) { // There is another one of the same commit.
		err = nil
	}
	return made, err
}

// snapshots returns all snapshots, the oldest first.
func (h *history) snapshots(ctx context.Context) (all []shippedSnapshot, err error) {
	numbers, err := h.numbers(ctx, snapshotBegin)
	if err != nil {
		return nil, err
	}
	for _, n := range numbers {
		note, err := h.each(ctx, numbered(snapshotBegin, n), n, nil)
		if isMissing(err) {
			continue // It was thinned.
		}
		if err != nil {
			return nil, err
		}
		all = append(all, shippedSnapshot{n, time.Unix(0, note.Time), string(note.Body)})
	}
	return all, nil
}

const (
	// logsFor is how long the commits are kept: any moment of that time can be restored.
	logsFor = 7 * 24 * time.Hour

	// snapshotsFor is how long snapshots are kept.
	snapshotsFor = 30 * 24 * time.Hour
)

// thin deletes the commits before the newest snapshot that is at least a week old, and
// snapshots of more than thirty days. The newest snapshot stays.
func (h *history) thin(ctx context.Context, now time.Time) error {
	snapshots, err := h.snapshots(ctx)
	if err != nil {
		return err
	}
	from := uint64(0) // Commits behind it are kept.
	var names []string
	for i, s := range snapshots {
		switch age := now.Sub(s.taken); {
		case age > snapshotsFor && i < len(snapshots)-1:
			names = append(names, numbered(snapshotBegin, s.last))
			snapshots[i].items = "" // They go below.
		case age >= logsFor:
			from = s.last
		}
	}
	items, err := h.uselessItems(ctx, snapshots, now)
	if err != nil {
		return err
	}
	pieces, err := h.numbers(ctx, pieceBegin)
	if err != nil {
		return err
	}
	names = append(names, items...)
	for i := 1; i < len(pieces) && pieces[i] <= from+1; i++ {
		names = append(names, numbered(pieceBegin, pieces[i-1]))
	}
	for _, name := range names {
		if err := h.Delete(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// uselessItems returns the names of the items that no snapshot has, unless they are so young
// that they may be about to get one.
func (h *history) uselessItems(ctx context.Context, snapshots []shippedSnapshot, now time.Time) ([]string, error) {
	names, err := h.List(ctx, itemsBegin)
	limit := itemsBegin + now.Add(-logsFor).UTC().Format("20060102-150405.000000000")
	return slices.DeleteFunc(names, func(name string) bool {
		return name >= limit || slices.ContainsFunc(snapshots, func(s shippedSnapshot) bool { return s.items == name })
	}), err
}
