package kvmodel

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

const (
	repairEvery = 15 * time.Second
	deadAfter   = 30 * time.Second // a process that has not ticked for so long
	grace       = time.Hour        // between the two passes over a dead process's journal
	repairBatch = 100              // lines worked on side by side
)

// repairedKey says what the first pass over a dead process's journal covered.
var repairedKey = kv.NewClass("fixed", 1) // process

// repair makes what the indexes hold of the record id, at places, agree with
// the record. First every change prepared for a rev up to past is made to
// fail, if it has not committed yet. doubt says what one of them may have left
// that the record does not show.
func (m *model[T]) repair(ctx context.Context, s kv.Store, id string, past uint64, at []envelope.Touched, doubt plug.Doubt) error {
	rec, err := m.fenced(ctx, s, id, past)
	if err != nil {
		return err
	}
	for _, t := range lost(rec) {
		at = mergeTouched(slices.Clone(at), t)
	}
	var works []func(kv.Store) error
	for _, t := range at {
		// An index that is not there any more has nothing to repair.
		if index := m.index(t.Index); index != nil {
			view := *rec
			m.view(&view, index)
			view.Doubt = doubt
			works = append(works, func(s kv.Store) error { return index.Repair(ctx, s, &view, t.Places) })
		}
	}
	if rec.Envelope != nil && rec.Envelope.Deleted {
		works = append(works, func(s kv.Store) error { return m.dropCounters(ctx, s, id) })
	}
	return m.failure(id, firstError(kv.Together(ctx, s, works...)))
}

// fenced returns the record id, whose rev is at least past.
func (m *model[T]) fenced(ctx context.Context, s kv.Store, id string, past uint64) (*plug.Seen[T], error) {
	for range maxTries {
		rec, err := m.seeOne(ctx, s, id)
		if err != nil || rec.Rev >= past {
			return rec, err
		}
		err = m.fence(ctx, s, rec, past)
		if err != nil && !errors.Is(err, kv.ErrConflict) && !errors.Is(err, kv.ErrUnclear) {
			return nil, err
		}
	}
	return nil, m.failure(id, kv.ErrConflict)
}

// repairLine brings the change of l to its end.
func (m *model[T]) repairLine(ctx context.Context, s kv.Store, l line) error {
	past := l.rev
	if past == fenceAlways {
		rec, err := m.seeOne(ctx, s, l.id)
		if err != nil {
			return err
		}
		past = rec.Rev + 1
	}
	return m.repair(ctx, s, l.id, past, l.touched, plug.Unsent)
}

// Repair looks once for what processes that died have left behind, and mends
// it. A DB that writes does so by itself every 15 seconds. A process counts as
// dead when this DB has seen no sign of it for 30 seconds, so a single call of
// a new DB only looks. What has to wait for its time is left to a later call.
func (db *DB) Repair(ctx context.Context) error {
	others, heads, err := db.othersHeads(ctx)
	if err != nil {
		return err
	}
	db.forgetSigns(others)
	// One that cannot be repaired must not hold up the others.
	var errs []error
	for i, process := range others {
		if err := db.repairIfDead(ctx, process, heads[i]); err != nil && !waits(err) {
			errs = append(errs, fmt.Errorf("repair the journal of %s: %w", process, err))
		}
	}
	return errors.Join(errs...)
}

// othersHeads returns the processes with a journal but for this one, and what
// a get of the head of each has answered.
func (db *DB) othersHeads(ctx context.Context) (others []string, heads []kv.Result, err error) {
	all, _, err := processes(ctx, db.store)
	mine := db.journal.name()
	var keys []string
	for _, process := range all {
		if process != mine {
			others = append(others, process)
			keys = append(keys, journalHead.Key(process))
		}
	}
	if err == nil && len(keys) > 0 {
		heads, err = kv.GetAll(ctx, db.store, keys...)
	}
	return others, heads, err
}

// stateOf returns what a head says; one that is gone says nothing.
func stateOf(head kv.Result) (journalState, error) {
	if head.Err != nil {
		return journalState{}, nil
	}
	return decodeHead(head.Value)
}

func (db *DB) repairIfDead(ctx context.Context, process string, head kv.Result) error {
	state, err := stateOf(head)
	if err != nil || !db.isDead(process, state.tick) {
		return err
	}
	j, err := readJournal(ctx, db.store, process)
	if err != nil {
		return err
	}
	return db.repairJournal(ctx, j)
}

// sign is the last sign of life of a process, and what this DB has done since
// for the lines it left.
type sign struct {
	tick   uint64
	seen   time.Time
	mended int // bytes of the journal whose lines are repaired
	told   int // bytes whose lines are told to OnChange, and their ids archived
}

// isDead notes that a process's tick was seen, and tells whether it has not
// changed for long.
func (db *DB) isDead(process string, tick uint64) bool {
	db.mu.Lock()
	defer db.mu.Unlock()
	last := db.signs[process]
	if last == nil || last.tick != tick {
		db.signs[process] = &sign{tick: tick, seen: db.now()}
		return false
	}
	return db.now().Sub(last.seen) >= deadAfter
}

// forgetSigns forgets the processes that are not among known any more.
func (db *DB) forgetSigns(known []string) {
	db.mu.Lock()
	defer db.mu.Unlock()
	maps.DeleteFunc(db.signs, func(process string, _ *sign) bool { return !slices.Contains(known, process) })
}

// once does step for the lines of j, unless done says that it was done for as
// many bytes as there are.
func (db *DB) once(j deadJournal, done func(*sign) *int, step func() error) error {
	db.mu.Lock()
	s := db.signs[j.process]
	if s == nil {
		s = new(sign)
	}
	at := done(s)
	was := *at
	db.mu.Unlock()
	if was == j.bytes {
		return nil
	}
	if err := step(); err != nil {
		return err
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	*at = j.bytes
	return nil
}

// deadJournal is a journal as others read it.
type deadJournal struct {
	process  string
	head     kv.Version // 0 if there is none
	state    journalState
	segments []kv.Op // gets, with their results; a segment that is gone has none
	lines    []line
	bytes    int
}

// readJournal reads the journal of process. One that has no head any more is
// empty.
func readJournal(ctx context.Context, s kv.Store, process string) (deadJournal, error) {
	j := deadJournal{process: process}
	r, err := kv.One(ctx, s, kv.OpGet(journalHead.Key(process)))
	if errors.Is(err, kv.ErrNotFound) {
		return j, nil
	}
	if err != nil {
		return j, err
	}
	j.head = r.Version
	if j.state, err = decodeHead(r.Value); err != nil {
		return j, err
	}
	// A process that died while it opened a segment may have one that its head
	// does not name yet.
	for n := j.state.lowest; n <= j.state.highest+2; n++ {
		j.segments = append(j.segments, kv.OpGet(journalSegment.Key(process, strconv.FormatInt(n, 10))))
	}
	for batch := range slices.Chunk(j.segments, repairBatch) {
		if err := s.Do(ctx, batch); err != nil {
			return j, err
		}
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
// late, and takes the journal away. Lines of models this process does not have
// are left to another, and then so is the journal.
func (db *DB) repairJournal(ctx context.Context, j deadJournal) error {
	when, covered, err := db.repaired(ctx, j.process)
	if err != nil {
		return err
	}
	if covered == j.bytes && !when.IsZero() {
		if db.now().Sub(when) < grace || !db.knows(j) {
			return nil
		}
		if err := db.repairLines(ctx, j); err != nil {
			return err
		}
		return db.bury(ctx, j)
	}
	wait := db.once(j, func(s *sign) *int { return &s.mended }, func() error { return db.repairLines(ctx, j) })
	if wait != nil && !waits(wait) {
		return wait
	}
	err = db.once(j, func(s *sign) *int { return &s.told }, func() error { return db.settleLines(ctx, j) })
	if err != nil || wait != nil || !db.knows(j) {
		return firstError([]error{err, wait})
	}
	_, err = kv.One(ctx, db.store, kv.OpSet(repairedKey.Key(j.process), encodeRepaired(db.now(), j.bytes)))
	return err
}

// knows tells whether this process has the models of all lines of j.
func (db *DB) knows(j deadJournal) bool {
	return !slices.ContainsFunc(j.lines, func(l line) bool { return db.model(l.model) == nil })
}

// repaired returns when the first pass over a journal was made, and how many
// bytes it covered.
func (db *DB) repaired(ctx context.Context, process string) (when time.Time, covered int, err error) {
	r, err := kv.One(ctx, db.store, kv.OpGet(repairedKey.Key(process)))
	if errors.Is(err, kv.ErrNotFound) {
		return when, 0, nil
	}
	if err != nil {
		return when, 0, err
	}
	in := wire.Reader{Rest: r.Value}
	when = time.UnixMilli(int64(in.Number("time", 1<<62)))
	covered = int(in.Number("size", 1<<40))
	return when, covered, in.Err
}

func encodeRepaired(when time.Time, covered int) []byte {
	b := binary.AppendUvarint(nil, uint64(when.UnixMilli()))
	return binary.AppendUvarint(b, uint64(covered))
}

// repairLines works on all lines of j whose models this process has, many side
// by side. Where one cannot be repaired, the others are all the same.
func (db *DB) repairLines(ctx context.Context, j deadJournal) error {
	var errs []error
	for batch := range slices.Chunk(j.lines, repairBatch) {
		var works []func(kv.Store) error
		for _, l := range batch {
			if m := db.model(l.model); m != nil {
				works = append(works, func(s kv.Store) error { return m.repairLine(ctx, s, l) })
			}
		}
		errs = append(errs, firstError(kv.Together(ctx, db.store, works...)))
	}
	return firstError(errs)
}

// settleLines does what a change does last: it tells OnChange, and puts the
// ids that were created into the enumeration.
func (db *DB) settleLines(ctx context.Context, j deadJournal) error {
	if err := db.tellOfLines(ctx, j); err != nil {
		return err
	}
	created := make(map[string][]string)
	for _, l := range j.lines {
		if l.created && db.model(l.model) != nil {
			created[l.model] = append(created[l.model], l.id)
		}
	}
	return db.archive(ctx, created)
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
	if s := db.signs[process]; s != nil {
		return db.now().Sub(s.seen)
	}
	return 0
}

// bury takes away the journal of a dead process, unless that stirs. First it
// marks the head, so that the process opens no segment that nobody would find.
func (db *DB) bury(ctx context.Context, j deadJournal) error {
	if j.head != 0 {
		state := j.state
		state.tick = buriedTick
		_, err := kv.One(ctx, db.store, kv.OpSwap(journalHead.Key(j.process), j.head, encodeHead(state)))
		if err != nil {
			return unlessStirred(err)
		}
	}
	for i := range j.segments {
		seg := &j.segments[i]
		if seg.Result.Err != nil {
			continue
		}
		_, err := kv.One(ctx, db.store, kv.OpDrop(seg.Key, seg.Result.Version))
		if err != nil && !errors.Is(err, kv.ErrNotFound) {
			return unlessStirred(err)
		}
	}
	return takeDown(ctx, db.store, j.process)
}

// unlessStirred returns nil for an err that says that a journal to be buried has
// changed. It is left as it is until its process has been still again.
func unlessStirred(err error) error {
	if errors.Is(err, kv.ErrConflict) || errors.Is(err, kv.ErrNotFound) {
		return nil
	}
	return err
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
