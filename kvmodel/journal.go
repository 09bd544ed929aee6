package kvmodel

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// The journal of a process is a row of segments of lines. A line is written
// before the change it speaks of commits; when the change is complete, nothing
// is written: the process counts, and deletes a segment when all its lines are
// complete. Only when the process dies does anybody read a segment: the
// repair of another.
var (
	journalHead    = kv.NewClass("out", 1)  // process
	journalSegment = kv.NewClass("line", 2) // process, number
)

// processList is the one key that names every process with a journal.
const processList = "procs"

const (
	segmentBytes = 32 << 10    // a segment that is larger is closed
	tickEvery    = time.Second // so is one that is older
	idleTicks    = 5           // after so many with nothing to do, the ticking stops
)

// journal writes the lines of this process.
type journal struct {
	db      *DB
	opening chan struct{} // holds one token while nobody opens the journal

	mu       sync.Mutex // never held during a trip
	process  string     // "" until opened
	segments []*segment // those that exist, oldest first; the last is written to
	tick     uint64
	ticking  chan struct{} // closed when the loop that ticks has ended; nil while none runs
	kick     chan struct{} // makes the next tick come at once
}

// segment is one key of the journal.
type segment struct {
	process string
	number  int64
	size    int
	open    int                 // lines whose change is not complete
	created map[string][]string // ids for the enumeration, by model
	closed  bool
}

func newJournal(db *DB) *journal {
	j := &journal{db: db, opening: make(chan struct{}, 1), kick: make(chan struct{}, 1)}
	j.opening <- struct{}{}
	return j
}

func (s *segment) key() string {
	return journalSegment.Key(s.process, strconv.FormatInt(s.number, 10))
}

// errGone: there is no segment to write to. It was never opened, or somebody
// took this process for dead and buried its journal.
var errGone = fmt.Errorf("no journal: %w", errLost)

// name returns the process's name, "" if it has no journal.
func (j *journal) name() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.process
}

// ready returns when the journal is open for lines. It costs nothing but for
// the first time.
func (j *journal) ready(ctx context.Context) error {
	if j.name() != "" {
		return nil
	}
	select {
	case <-j.opening:
	case <-ctx.Done():
		return unavailable(ctx.Err())
	}
	defer func() { j.opening <- struct{}{} }()
	if j.name() != "" {
		return nil
	}
	return j.open(ctx)
}

// open starts a journal under a new name, which never was one before.
func (j *journal) open(ctx context.Context) error {
	process := kv.RandomName()
	first := &segment{process: process, created: map[string][]string{}}
	err := j.db.store.Do(ctx, []kv.Op{
		kv.OpAdd(first.key(), nil),
		kv.OpSet(journalHead.Key(process), encodeHead(journalState{shapes: j.db.shapes()})),
	})
	if err != nil {
		return err
	}
	if err := listProcess(ctx, j.db.store, process, true); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.process = process
	j.segments = []*segment{first}
	j.db.watchOnce()
	return nil
}

// note writes l through s, which may be shared by other works, and returns the
// segment that holds it, or may hold it if there is another error than errGone:
// the caller owes it one done. After errGone a new journal has to be opened.
func (j *journal) note(ctx context.Context, s kv.Store, l line) (*segment, error) {
	data := l.encode(nil)
	seg := j.enter(l, len(data))
	if seg == nil {
		return nil, errGone
	}
	err := appendSurely(ctx, s, seg.key(), data)
	if !errors.Is(err, kv.ErrNotStored) {
		return seg, err
	}
	// Somebody took this process for dead and buried its journal.
	j.done(seg)
	j.forget(seg.process)
	return nil, errGone
}

// appendSurely appends data, again where it is unclear whether it was: a line
// may stand twice.
func appendSurely(ctx context.Context, s kv.Store, key string, data []byte) error {
	var err error
	for range 3 {
		_, err = kv.One(ctx, s, kv.OpAppend(key, data))
		if !errors.Is(err, kv.ErrUnclear) {
			return err
		}
	}
	return err
}

// enter returns the segment to write the next line to, which counts as one of
// its open lines from now on, or nil if the journal is not open.
func (j *journal) enter(l line, size int) *segment {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.process == "" {
		return nil
	}
	seg := j.segments[len(j.segments)-1]
	seg.open++
	seg.size += size
	// In a transaction the id is put into the enumeration at once.
	if l.created && j.db.atomic == nil {
		seg.created[l.model] = append(seg.created[l.model], l.id)
	}
	if seg.size > segmentBytes {
		j.hurry()
	}
	if j.ticking == nil {
		j.ticking = make(chan struct{})
		go j.loop()
	}
	return seg
}

// done says that the change of one line in seg is complete.
func (j *journal) done(seg *segment) {
	j.mu.Lock()
	defer j.mu.Unlock()
	seg.open--
}

func (j *journal) forget(process string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.process == process {
		j.process, j.segments = "", nil
	}
}

func (j *journal) hurry() {
	select {
	case j.kick <- struct{}{}:
	default:
	}
}

// openLines returns how many lines are not complete.
func (j *journal) openLines() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := 0
	for _, seg := range j.segments {
		n += seg.open
	}
	return n
}

// loop ticks while there is something to do.
func (j *journal) loop() {
	ticker := time.NewTicker(tickEvery)
	defer ticker.Stop()
	for idle := 0; idle < idleTicks || !j.rest(); {
		select {
		case <-j.db.stop:
			j.end()
			return
		case <-j.kick:
		case <-ticker.C:
		}
		ctx, cancel := context.WithTimeout(context.Background(), backgroundTime)
		busy, err := j.turnOver(ctx)
		cancel()
		if err != nil {
			j.db.log.Warn("ringtree: the journal could not be turned over; it will be tried again", "err", err)
		}
		if idle++; busy {
			idle = 0
		}
	}
}

// rest ends the ticking, unless something was written since the last tick.
func (j *journal) rest() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if n := len(j.segments); n > 1 || n == 1 && j.segments[0].size > 0 {
		return false
	}
	close(j.ticking)
	j.ticking = nil
	return true
}

func (j *journal) end() {
	j.mu.Lock()
	defer j.mu.Unlock()
	close(j.ticking)
	j.ticking = nil
}

// ended returns when nothing ticks any more, or ctx ends.
func (j *journal) ended(ctx context.Context) error {
	j.mu.Lock()
	ticking := j.ticking
	j.mu.Unlock()
	if ticking == nil {
		return nil
	}
	select {
	case <-ticking:
		return nil
	case <-ctx.Done():
		return unavailable(ctx.Err())
	}
}

// turnOver is one tick: it closes the segment that is written to if there is
// anything in it, opens the next, says that the process lives, and removes the
// segments that are complete. It tells whether there was anything to do.
func (j *journal) turnOver(ctx context.Context) (busy bool, err error) {
	seg := j.last()
	if seg == nil {
		return false, nil
	}
	if err := j.roll(ctx, seg); err != nil {
		return true, err
	}
	complete := j.complete()
	for _, seg := range complete {
		if err := j.remove(ctx, seg); err != nil {
			return true, err
		}
	}
	return len(complete) > 0 || j.openLines() > 0, nil
}

func (j *journal) last() *segment {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.segments) == 0 {
		return nil
	}
	return j.segments[len(j.segments)-1]
}

// roll tells others that this process is alive and makes the segment after
// last, if last has lines. The head names a segment before there is one.
func (j *journal) roll(ctx context.Context, last *segment) error {
	state, next := j.next(last)
	err := j.sayAlive(ctx, last.process, state)
	if err == nil && next != last {
		_, err = kv.One(ctx, j.db.store, kv.OpAdd(next.key(), nil))
	}
	switch {
	case errors.Is(err, errGone):
		j.forget(last.process)
		return nil
	case err != nil && !errors.Is(err, kv.ErrExists):
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if next != last && j.process == last.process {
		last.closed = true
		j.segments = append(j.segments, next)
	}
	return nil
}

// next returns the segment to write to after this tick, which is last itself
// if that is empty, and what the head is to say.
func (j *journal) next(last *segment) (journalState, *segment) {
	shapes := j.db.shapes()
	j.mu.Lock()
	defer j.mu.Unlock()
	next := last
	if last.size > 0 {
		next = &segment{process: last.process, number: last.number + 1, created: map[string][]string{}}
	}
	lowest := next.number
	if len(j.segments) > 0 {
		lowest = j.segments[0].number
	}
	j.tick++
	return journalState{lowest, next.number, j.tick, shapes}, next
}

// sayAlive writes the head. It returns errGone if the process was buried: what
// it wrote to a new segment then nobody would find.
func (j *journal) sayAlive(ctx context.Context, process string, state journalState) error {
	key := journalHead.Key(process)
	r, err := kv.One(ctx, j.db.store, kv.OpGet(key))
	if err == nil {
		var old journalState
		if old, err = decodeHead(r.Value); err == nil && old.tick == buriedTick {
			err = errGone
		}
	}
	if err == nil {
		_, err = kv.One(ctx, j.db.store, kv.OpSwap(key, r.Version, encodeHead(state)))
	}
	if errors.Is(err, kv.ErrNotFound) || errors.Is(err, kv.ErrConflict) {
		return errGone
	}
	return err
}

// complete returns the closed segments whose lines are all complete.
func (j *journal) complete() []*segment {
	j.mu.Lock()
	defer j.mu.Unlock()
	var all []*segment
	for _, seg := range j.segments {
		if seg.closed && seg.open == 0 {
			all = append(all, seg)
		}
	}
	return all
}

// remove deletes a complete segment, once the ids created in it are in the
// enumeration.
func (j *journal) remove(ctx context.Context, seg *segment) error {
	if err := j.db.archive(ctx, seg.created); err != nil {
		return err
	}
	if _, err := kv.One(ctx, j.db.store, kv.OpDelete(seg.key())); err != nil && !errors.Is(err, kv.ErrNotFound) {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.segments = slices.DeleteFunc(j.segments, func(s *segment) bool { return s == seg })
	return nil
}

// finish takes the journal down: nothing more will be written. If a change is
// not complete, all is left for repair, and the error says so, unless it waits
// for its time.
func (j *journal) finish(ctx context.Context) error {
	if err := j.ended(ctx); err != nil {
		return err
	}
	process := j.name()
	if process == "" {
		return nil
	}
	j.close()
	for _, seg := range j.complete() {
		if err := j.remove(ctx, seg); err != nil {
			return err
		}
	}
	if n := j.openLines(); n > 0 && j.db.Stats().Waiting > 0 {
		return nil
	} else if n > 0 {
		return fmt.Errorf("%w: %d changes are not complete; they are left in the journal for repair", kv.ErrUnavailable, n)
	}
	return takeDown(ctx, j.db.store, process)
}

// close makes the last segment one that is not written to any more.
func (j *journal) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if n := len(j.segments); n > 0 {
		j.segments[n-1].closed = true
	}
}

// takeDown removes what tells of the journal of process, whose segments are
// gone.
func takeDown(ctx context.Context, s kv.Store, process string) error {
	if err := listProcess(ctx, s, process, false); err != nil {
		return err
	}
	return s.Do(ctx, []kv.Op{kv.OpDelete(journalHead.Key(process)), kv.OpDelete(repairedKey.Key(process))})
}

// journalState is what the head of a journal says: the segments from lowest to
// highest may exist, the tick changes while the process lives, and the shapes
// are those of its models.
type journalState struct {
	lowest, highest int64
	tick            uint64
	shapes          []string
}

// maxSegments is how many segments a journal can have: more than one a second
// for as long as a change may stay incomplete.
const maxSegments = 200_000

// buriedTick is the tick of a journal that is being taken away.
const buriedTick = 1 << 62

func encodeHead(s journalState) []byte {
	b := binary.AppendUvarint(nil, uint64(s.lowest))
	b = binary.AppendUvarint(b, uint64(s.highest))
	b = binary.AppendUvarint(b, s.tick)
	b = binary.AppendUvarint(b, uint64(len(s.shapes)))
	return append(b, encodeTexts(s.shapes)...)
}

func decodeHead(data []byte) (journalState, error) {
	r := wire.Reader{Rest: data}
	s := journalState{
		lowest:  int64(r.Number("lowest segment", 1<<62)),
		highest: int64(r.Number("highest segment", 1<<62)),
		tick:    r.Number("tick", 1<<63),
	}
	s.shapes = make([]string, 0, r.Count("shapes", 2))
	for range cap(s.shapes) {
		s.shapes = append(s.shapes, r.Name("shape"))
	}
	if n := s.highest - s.lowest; n < 0 || n > maxSegments {
		r.Fail("number of segments")
	}
	return s, r.Err
}

// listProcess puts process into the list of processes or takes it out.
func listProcess(ctx context.Context, s kv.Store, process string, in bool) error {
	for {
		all, version, err := processes(ctx, s)
		if err != nil {
			return err
		}
		if slices.Contains(all, process) == in {
			return nil
		}
		if in {
			all = append(all, process)
		} else {
			all = slices.DeleteFunc(all, func(p string) bool { return p == process })
		}
		_, err = kv.One(ctx, s, kv.OpReplace(processList, version, encodeProcesses(all)))
		if !kv.Raced(err) && !errors.Is(err, kv.ErrUnclear) {
			return err
		}
	}
}

// processes returns the names of the processes with a journal, and the
// version of their list, 0 if there is none.
func processes(ctx context.Context, s kv.Store) ([]string, kv.Version, error) {
	r, err := kv.One(ctx, s, kv.OpGet(processList))
	if errors.Is(err, kv.ErrNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	var all []string
	for _, name := range bytes.Split(r.Value, []byte{'\n'}) {
		if len(name) > 0 {
			all = append(all, string(name))
		}
	}
	return all, r.Version, nil
}

func encodeProcesses(all []string) []byte {
	var b []byte
	for _, name := range all {
		b = append(append(b, name...), '\n')
	}
	return b
}

func encodeTexts(texts []string) []byte {
	var b []byte
	for _, text := range texts {
		b = wire.AppendText(b, text)
	}
	return b
}
