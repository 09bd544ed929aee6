package kvmodel

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
)

const (
	repairEvery = 15 * time.Second
	deadAfter   = 30 * time.Second // a process that has not ticked for so long
	grace       = time.Hour        // between the two passes over a dead process's journal
	repairBatch = 100              // lines worked on side by side
)

// repairedKey says what the first pass over a dead process's journal covered.
var repairedKey = NewClass("fixed", 1) // process

// repair makes what the indexes hold of the record id, at places, agree with
// the record. First every change prepared for a rev up to past is made to
// fail, if it has not committed yet. doubt says that one of them may have
// committed, and nobody knows what became of it.
func (m *model[T]) repair(ctx context.Context, s Store, id string, past uint64, at []touched, doubt bool) error {
	rec, err := m.fenced(ctx, s, id, past)
	if err != nil {
		return err
	}
	for _, t := range rec.lost() {
		at = mergeTouched(slices.Clone(at), t)
	}
	var works []func(Store) error
	for _, t := range at {
		// An index that is not there any more has nothing to repair.
		if index := m.index(t.index); index != nil {
			view := *rec
			m.view(&view, index)
			view.Doubt = doubt
			works = append(works, func(s Store) error { return index.Repair(ctx, s, &view, t.places) })
		}
	}
	if rec.env != nil && rec.env.deleted {
		works = append(works, func(s Store) error { return m.dropCounters(ctx, s, id) })
	}
	return m.failure(id, firstError(Together(ctx, s, works...)))
}

// fenced returns the record id, whose rev is at least past.
func (m *model[T]) fenced(ctx context.Context, s Store, id string, past uint64) (*Seen[T], error) {
	for range maxTries {
		rec, err := m.seeOne(ctx, s, id)
		if err != nil || rec.Rev >= past {
			return rec, err
		}
		err = m.fence(ctx, s, rec, past)
		if err != nil && !errors.Is(err, ErrConflict) && !errors.Is(err, ErrUnclear) {
			return nil, err
		}
	}
	return nil, m.failure(id, ErrConflict)
}

// repairLine brings the change of l to its end.
func (m *model[T]) repairLine(ctx context.Context, s Store, l line) error {
	past := l.rev
	if past == fenceAlways {
		rec, err := m.seeOne(ctx, s, l.id)
		if err != nil {
			return err
		}
		past = rec.Rev + 1
	}
	return m.repair(ctx, s, l.id, past, l.touched, true)
}

// Repair looks once for what processes that died have left behind, and mends
// it. A DB that writes does so by itself every 15 seconds. A process counts as
// dead when this DB has seen no sign of it for 30 seconds, so a single call of
// a new DB only looks.
func (db *DB) Repair(ctx context.Context) error {
	all, _, err := processes(ctx, db.store)
	if err != nil {
		return err
	}
	for _, process := range all {
		j, err := readJournal(ctx, db.store, process)
		if err == nil && db.isDead(process, j.state.tick) {
			err = db.repairJournal(ctx, j)
		}
		if err != nil {
			return fmt.Errorf("repair the journal of %s: %w", process, err)
		}
	}
	return nil
}

// sign is the last sign of life of a process.
type sign struct {
	tick uint64
	seen time.Time
}

// isDead notes that a process's tick was seen, and tells whether it has not
// changed for long.
func (db *DB) isDead(process string, tick uint64) bool {
	db.mu.Lock()
	defer db.mu.Unlock()
	last, known := db.signs[process]
	if !known || last.tick != tick {
		db.signs[process] = sign{tick, db.now()}
		return false
	}
	return db.now().Sub(last.seen) >= deadAfter
}

// deadJournal is a journal as others read it.
type deadJournal struct {
	process  string
	state    journalState
	segments []Op // gets, with their results; a segment that is gone has none
	lines    []line
	bytes    int
}

// readJournal reads the journal of process. One that has no head any more is
// empty.
func readJournal(ctx context.Context, s Store, process string) (deadJournal, error) {
	j := deadJournal{process: process}
	r, err := One(ctx, s, OpGet(journalHead.Key(process)))
	if errors.Is(err, ErrNotFound) {
		return j, nil
	}
	if err != nil {
		return j, err
	}
	if j.state, err = decodeHead(r.Value); err != nil {
		return j, err
	}
	// A process that died while it opened a segment may have one that its head
	// does not name yet.
	for n := j.state.lowest; n <= j.state.highest+2; n++ {
		j.segments = append(j.segments, OpGet(journalSegment.Key(process, strconv.FormatInt(n, 10))))
	}
	if err := s.Do(ctx, j.segments); err != nil {
		return j, err
	}
	for i := range j.segments {
		lines, err := decodeLines(j.segments[i].Result.Value)
		if err != nil {
			return j, fmt.Errorf("%s: %w", j.segments[i].Key, err)
		}
		j.lines = append(j.lines, lines...)
		j.bytes += len(j.segments[i].Result.Value)
	}
	return j, nil
}

// repairJournal mends what the lines of a dead process's journal speak of.
// After the grace it does so once more, since a claim may have been added
// late, and takes the journal away.
func (db *DB) repairJournal(ctx context.Context, j deadJournal) error {
	when, covered, err := db.repaired(ctx, j.process)
	if err != nil {
		return err
	}
	again := covered == j.bytes && !when.IsZero()
	if again && db.now().Sub(when) < grace {
		return nil
	}
	known, err := db.repairLines(ctx, j)
	if err != nil || !known {
		return err
	}
	if again {
		return db.bury(ctx, j)
	}
	_, err = One(ctx, db.store, OpSet(repairedKey.Key(j.process), encodeRepaired(db.now(), j.bytes)))
	return err
}

// repaired returns when the first pass over a journal was made, and how many
// bytes it covered.
func (db *DB) repaired(ctx context.Context, process string) (when time.Time, covered int, err error) {
	r, err := One(ctx, db.store, OpGet(repairedKey.Key(process)))
	if errors.Is(err, ErrNotFound) {
		return when, 0, nil
	}
	if err != nil {
		return when, 0, err
	}
	in := reader{rest: r.Value}
	when = time.UnixMilli(int64(in.number("time", 1<<62)))
	covered = int(in.number("size", 1<<40))
	return when, covered, in.err
}

func encodeRepaired(when time.Time, covered int) []byte {
	b := binary.AppendUvarint(nil, uint64(when.UnixMilli()))
	return binary.AppendUvarint(b, uint64(covered))
}

// repairLines works on all lines of j, many side by side, and archives the ids
// they created. known is false if some are of a model this process does not
// have: another must do them.
//
// A line that cannot be repaired yet does not keep the others from it.
func (db *DB) repairLines(ctx context.Context, j deadJournal) (known bool, err error) {
	known = true
	var notYet error
	created := make(map[string][]string)
	for lines := j.lines; len(lines) > 0; {
		n := min(len(lines), repairBatch)
		var works []func(Store) error
		for _, l := range lines[:n] {
			m := db.model(l.model)
			if m == nil {
				known = false
				continue
			}
			works = append(works, func(s Store) error { return m.repairLine(ctx, s, l) })
			if l.created {
				created[l.model] = append(created[l.model], l.id)
			}
		}
		err := firstError(Together(ctx, db.store, works...))
		if Failed(err) {
			return known, err
		}
		notYet = firstError([]error{notYet, err})
		lines = lines[n:]
	}
	if notYet != nil {
		return known, notYet
	}
	if err := db.archive(ctx, created); err != nil {
		return known, err
	}
	return known, db.tellOfLines(ctx, j)
}

// tellOfLines calls the OnChange handlers for what a dead process may not have
// told them. A handler that has failed for a day is not waited for any longer.
func (db *DB) tellOfLines(ctx context.Context, j deadJournal) error {
	for _, l := range j.lines {
		m := db.model(l.model)
		if m == nil {
			continue
		}
		if err := m.changed(ctx, l.id, l.created); err != nil {
			if db.deadFor(j.process) < handlerPatience {
				return err
			}
			db.log.Error("ringtree: an OnChange handler has failed for a day and will not be told", "model", l.model, "id", l.id, "err", err)
		}
	}
	return nil
}

// deadFor returns for how long nothing has been seen of process.
func (db *DB) deadFor(process string) time.Duration {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.now().Sub(db.signs[process].seen)
}

// bury takes away the journal of a dead process, unless it has stirred.
func (db *DB) bury(ctx context.Context, j deadJournal) error {
	for i := range j.segments {
		seg := &j.segments[i]
		if seg.Result.Err != nil {
			continue
		}
		_, err := One(ctx, db.store, OpDrop(seg.Key, seg.Result.Version))
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	if err := listProcess(ctx, db.store, j.process, false); err != nil {
		return err
	}
	return db.store.Do(ctx, []Op{OpDelete(journalHead.Key(j.process)), OpDelete(repairedKey.Key(j.process))})
}

// watch repairs every now and then until the DB is closed.
func (db *DB) watch() {
	ticker := time.NewTicker(repairEvery)
	defer ticker.Stop()
	for db.beginUnlessClosed() {
		db.tryAgain()
		db.inBackground(db.Repair)
		select {
		case <-db.stop:
			return
		case <-ticker.C:
		}
	}
}
