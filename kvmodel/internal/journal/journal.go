// Package journal is what each process writes down before it makes a change, so
// that another process can finish the change after a crash.
//
// A journal is a row of segments of lines. A [Line] is written before the change
// it describes commits. When the change is complete nothing is written: the
// process counts, and removes a segment when all its lines are complete. No one
// reads a segment while its process lives, except to list ids; another process
// repairs what a dead one has left. The head of a journal names its segments and
// shows that its process lives.
package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// segmentBytes is the size from which a segment is followed by a new one.
const segmentBytes = 32 << 10

// Config is what a journal needs of its database.
type Config struct {
	Store  kv.Store
	Now    func() time.Time
	Closed <-chan struct{}

	// Begin says that a tick begins.
	Begin func(ctx context.Context) (context.Context, func())

	// Failed is called when a tick has failed, which is tried again.
	Failed func(error)

	// Origin is what the process says of itself.
	Origin Origin

	// Shapes returns the shape of every model of the process.
	Shapes func() []string

	// Archive puts new ids, by model, into their enumerations.
	Archive func(ctx context.Context, created map[string][]string) error
}

// Journal writes the lines of this process.
type Journal struct {
	Config
	losses  kv.Losses     // what the store knows of them, or nil
	opening chan struct{} // holds one token while no one opens the journal

	mu       sync.Mutex // never held during a trip
	process  string     // "" until opened
	begun    string     // process, or the name that is about to be
	edition  uint64     // of the store, when the process was listed
	opened   time.Time  // when the process began to write to it
	givenUp  bool       // the work for some line will not be tried again
	left     bool       // by Leave: no more lines are written
	segments []*Segment // those that exist, oldest first; the last is written to
	spare    *Segment   // one that exists, but that no head names yet
	number   int64      // the last one of a segment that was tried
	tick     uint64
	ticked   time.Time // when the last tick that was answered was sent
	since    time.Time // since when ticks have come without a gap

	headOf       string // the process whose head has acknowledged a tick, and which
	acknowledged uint64

	ticking chan struct{} // closed when the loop that ticks has ended; nil while none runs
	now     chan struct{} // makes the next tick come at once
}

// New returns a journal that is not open yet.
func New(c Config) *Journal {
	j := &Journal{Config: c, losses: kv.PowersOf(c.Store).Losses, opening: make(chan struct{}, 1), now: make(chan struct{}, 1)}
	j.opening <- struct{}{}
	return j
}

// Process returns the name under which this process writes, "" if it has no journal.
func (j *Journal) Process() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.process
}

// IsOwn reports whether this process writes under that name, or is about to.
func (j *Journal) IsOwn(process string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return process == j.begun
}

// Ready returns when the journal is open for lines. It costs trips the first
// time only. After Leave it returns an ErrUnavailable.
func (j *Journal) Ready(ctx context.Context) error {
	if j.isLeft() {
		return kv.Unavailable(errLeft)
	}
	if j.isListed() {
		return nil
	}
	select {
	case <-j.opening:
	case <-ctx.Done():
		return kv.Unavailable(kv.Ended(ctx))
	}
	defer func() { j.opening <- struct{}{} }()
	if j.isListed() {
		return nil
	}
	if err := j.leavePast(ctx); err != nil {
		return err
	}
	return j.open(ctx)
}

var errLeft = errors.New("the journal is closed")

// isLeft reports whether no more lines are written.
func (j *Journal) isLeft() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.left
}

// leavePast leaves a journal that was opened before the store lost a server's memory. A
// rebuild since may have seen none of its lines. So others get to know of it again and
// repair it, as they repair that of a dead process, and the next line goes to another.
func (j *Journal) leavePast(ctx context.Context) error {
	if j.isListed() {
		return nil
	}
	return j.Abandon(ctx, j.Process())
}

// Abandon leaves the journal of process, unless this process has another one by now, though its
// name is not in the list of processes.
func (j *Journal) Abandon(ctx context.Context, process string) error {
	last := j.last()
	if last == nil || last.process != process {
		return nil
	}
	_, err := kv.One(ctx, j.Store, kv.OpAdd(headKey.Key(last.process), j.headTo(last).encode()))
	if err != nil && !errors.Is(err, kv.ErrExists) {
		return err
	}
	p, err := readProcesses(ctx, j.Store)
	if err != nil {
		return err
	}
	if err := j.list(ctx, p, last.process); err != nil {
		return err
	}
	j.forget(last.process)
	return nil
}

// isListed reports whether the journal is open and others know of it, which they may
// have lost with a server's memory.
func (j *Journal) isListed() bool {
	_, edition := kv.EditionOf(j.losses)
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.process != "" && j.edition == edition
}

// list makes others know of the journal of process, beside p.
func (j *Journal) list(ctx context.Context, p processes, process string) error {
	err := p.change(ctx, j.Store, process, true)
	_, edition := kv.EditionOf(j.losses)
	j.mu.Lock()
	defer j.mu.Unlock()
	if err == nil {
		j.edition = edition
	}
	return err
}

// open starts a journal under a name that was never used before. It reads before it
// writes: the first trip of a process shows whether it may use the store.
func (j *Journal) open(ctx context.Context) error {
	p, err := readProcesses(ctx, j.Store)
	if err != nil {
		return err
	}
	first := newSegment(kv.RandomName(), 0)
	j.begin(first.process)
	sent := j.Now()
	err = j.Store.Do(ctx, []kv.Op{
		kv.OpAdd(first.key(), nil),
		kv.OpSet(headKey.Key(first.process), head{shapes: j.Shapes(), origin: j.Origin}.encode()),
	})
	if err != nil {
		return err
	}
	if err := j.list(ctx, p, first.process); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.process = first.process
	j.segments, j.spare, j.number = []*Segment{first}, nil, 0
	j.opened, j.ticked, j.since = sent, sent, sent
	j.givenUp = false
	return nil
}

// begin notes the name under which a journal is about to be opened.
func (j *Journal) begin(process string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.begun = process
}

// Append writes l through s, which other works may share. It returns the segment
// that holds l, or may hold it after an error other than ErrNone; the caller owes
// that segment one Done. After ErrNone, make the journal Ready again.
func (j *Journal) Append(ctx context.Context, s kv.Store, l Line) (*Segment, error) {
	data := l.encode(nil)
	seg := j.enter(l, len(data))
	if seg == nil {
		return nil, ErrNone
	}
	err := kv.AppendSurely(ctx, s, seg.key(), data)
	if !errors.Is(err, kv.ErrNotStored) {
		return seg, err
	}
	// Another process took this one for dead and removed its journal.
	j.Done(seg)
	j.forget(seg.process)
	return nil, ErrNone
}

// enter returns the segment to write the next line to, which counts as one of
// its open lines from now on, or nil if the journal is not open.
func (j *Journal) enter(l Line, size int) *Segment {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.process == "" || j.left {
		return nil
	}
	seg := j.segments[len(j.segments)-1]
	if seg.open++; seg.open == 1 {
		seg.since = j.Now()
	}
	seg.size += size
	if l.Created {
		seg.created[l.Model] = append(seg.created[l.Model], l.ID)
	}
	if seg.size > segmentBytes {
		j.tickNow()
	}
	j.startTicking()
	return seg
}

// GiveUp says that what is left to do for some line will not be tried again by this process.
func (j *Journal) GiveUp() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.givenUp = true
}

// Done says that the change of one line in seg is complete.
func (j *Journal) Done(seg *Segment) {
	j.mu.Lock()
	defer j.mu.Unlock()
	seg.open--
}

// Ended is Done for a note. Where other lines of seg stay open, it is written down that the
// note is not to be carried out again.
func (j *Journal) Ended(seg *Segment, note Line) {
	note.Rev = endedRev
	j.mu.Lock()
	defer j.mu.Unlock()
	seg.open--
	seg.over = note.encode(seg.over)
}

// End writes down that a note in seg is not to be carried out again, and is Done for it. So it
// is with an ErrNone, which says that another process has taken this one for dead, and may
// have carried it out.
func (j *Journal) End(ctx context.Context, seg *Segment, note Line) error {
	note.Rev = endedRev
	err := kv.AppendSurely(ctx, j.Store, seg.key(), note.encode(nil))
	if errors.Is(err, kv.ErrNotStored) {
		j.forget(seg.process)
		err = ErrNone
	}
	if err == nil || err == ErrNone {
		j.Done(seg)
	}
	return err
}

// writeOver writes down which notes have ended in segments that have had open lines for some
// time.
func (j *Journal) writeOver(ctx context.Context, some time.Duration) error {
	for _, seg := range j.segmentsOver(some) {
		over := j.takeOver(seg)
		err := kv.AppendSurely(ctx, j.Store, seg.key(), over)
		if err != nil && !errors.Is(err, kv.ErrNotStored) {
			j.mu.Lock()
			seg.over = append(over, seg.over...)
			j.mu.Unlock()
			return err
		}
	}
	return nil
}

func (j *Journal) segmentsOver(some time.Duration) []*Segment {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(j.segments), func(seg *Segment) bool {
		return !seg.ended || seg.open == 0 || len(seg.over) == 0 || j.Now().Sub(seg.since) < some
	})
}

func (j *Journal) takeOver(seg *Segment) []byte {
	j.mu.Lock()
	defer j.mu.Unlock()
	over := seg.over
	seg.over = nil
	return over
}

// forget makes the process open a new journal before its next line.
func (j *Journal) forget(process string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.process == process {
		j.process, j.begun, j.segments = "", "", nil
	}
}

// OpenLines returns how many lines are not complete.
func (j *Journal) OpenLines() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := 0
	for _, seg := range j.segments {
		n += seg.open
	}
	return n
}

// Oldest returns for how long the oldest line has not been complete, 0 if there is none.
// It may be one that was written a second before it.
func (j *Journal) Oldest() (age time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, seg := range j.segments {
		if seg.open > 0 {
			age = max(age, j.Now().Sub(seg.since))
		}
	}
	return age
}

// complete returns the ended segments whose lines are all complete.
func (j *Journal) complete() []*Segment {
	j.mu.Lock()
	defer j.mu.Unlock()
	var all []*Segment
	for _, seg := range j.segments {
		if seg.ended && seg.open == 0 {
			all = append(all, seg)
		}
	}
	return all
}

// removeComplete removes the complete segments, and returns how many there were.
func (j *Journal) removeComplete(ctx context.Context) (int, error) {
	complete := j.complete()
	for _, seg := range complete {
		if err := j.remove(ctx, seg); err != nil {
			return len(complete), err
		}
	}
	return len(complete), nil
}

// remove deletes a complete segment, once the ids created in it are in the
// enumeration.
func (j *Journal) remove(ctx context.Context, seg *Segment) error {
	if err := j.Archive(ctx, seg.created); err != nil {
		return err
	}
	seg.created = nil // They are not put there twice if the segment is not deleted now.
	if _, err := kv.One(ctx, j.Store, kv.OpDelete(seg.key())); err != nil && !errors.Is(err, kv.ErrNotFound) {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.segments = slices.DeleteFunc(j.segments, func(s *Segment) bool { return s == seg })
	return nil
}

// Close removes the journal: nothing more will be written. If a change is not
// complete, all is left for repair, and the error says so, unless waits says that
// a change only waits for its time.
func (j *Journal) Close(ctx context.Context, waits bool) error {
	process := j.Process()
	if err := j.Leave(ctx); err != nil || process == "" {
		return err
	}
	if n := j.OpenLines(); n > 0 && waits {
		return nil
	} else if n > 0 {
		return fmt.Errorf("%w: %d changes are not complete; they are left in the journal for repair", kv.ErrUnavailable, n)
	}
	return removeNames(ctx, j.Store, process)
}

// Leave leaves the journal as it is: nothing more will be written but which notes have ended.
// Segments without open lines go.
func (j *Journal) Leave(ctx context.Context) error {
	if err := j.awaitTicking(ctx); err != nil {
		return err
	}
	j.endAll()
	if _, err := j.removeComplete(ctx); err != nil {
		return err
	}
	return j.writeOver(ctx, 0)
}

func (j *Journal) endAll() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.left = true
	if j.spare != nil {
		j.segments, j.spare = append(j.segments, j.spare), nil
	}
	for _, seg := range j.segments {
		seg.ended = true
	}
}
