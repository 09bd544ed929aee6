// Package journal is the log that each process writes before its changes, so that another process
// can finish them.
//
// A journal is a sequence of segments of lines. The process removes a segment when the changes of
// all its lines are complete. Its head names the segments and shows that the process lives.
package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// segmentBytes is the size at which a new segment is begun.
const segmentBytes = 32 << 10

type Config struct {
	Store  kv.Store
	Now    func() time.Time
	Closed <-chan struct{}

	Origin Origin

	// Begin marks the start of a tick. Failed is called if it failed and will be retried.
	Begin  func(ctx context.Context) (context.Context, func())
	Failed func(error)

	// Shapes returns the shapes of all models of the process.
	Shapes func() []string

	// Archive adds new ids, by model, to their enumerations.
	Archive func(ctx context.Context, created map[string][]string) error
}

type Journal struct {
	Config
	losses  kv.Losses     // nil: not supported
	opening chan struct{} // holds one token while nobody opens the journal

	mu       sync.Mutex
	process  string     // "" until opened
	begun    string     // also the next name, while a journal is being opened
	edition  uint64     // of the store when the process was listed
	opened   time.Time  // when the process began to write to it
	givenUp  bool       // some work will not be retried
	left     bool       // no more lines are written
	segments []*Segment // oldest first; the last is written to
	spare    *Segment   // exists, but is in no head yet
	number   int64      // the last number tried
	tick     uint64
	ticked   time.Time // when the last answered tick was sent
	since    time.Time // since when ticks have come without a gap

	headOf       string // whose head acknowledged a tick
	acknowledged uint64

	ticking chan struct{} // closed with the loop; nil: none runs
	now     chan struct{} // triggers the next tick
}

func New(c Config) *Journal {
	j := &Journal{Config: c, losses: kv.PowersOf(c.Store).Losses, opening: make(chan struct{}, 1), now: make(chan struct{}, 1)}
	j.opening <- struct{}{}
	return j
}

func (j *Journal) Process() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.process
}

func (j *Journal) IsOwn(process string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return process == j.begun
}

// Ready returns when the journal is open for lines.
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

func (j *Journal) isLeft() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.left
}

// leavePast leaves a journal opened before an accepted loss, since a rebuild may not have seen its
// lines. It is listed again for repair.
func (j *Journal) leavePast(ctx context.Context) error {
	if j.isListed() {
		return nil
	}
	return j.Abandon(ctx, j.Process())
}

// Abandon leaves a journal that the list of processes lacks, unless this process has another one.
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

// The list may have been lost with a server's memory, which an edition shows.
func (j *Journal) isListed() bool {
	_, edition := kv.EditionOf(j.losses)
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.process != "" && j.edition == edition
}

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

// open starts a journal under a new name. It reads before it writes: the first trip of a process
// shows whether it may use the store.
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

func (j *Journal) begin(process string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.begun = process
}

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

// Write tries writeTries journals, since other processes may remove them meanwhile.
const writeTries = 8

// Write appends l, in a new journal if there is none, and adds to segs the segments that may hold
// it. The caller owes each a Done.
func (j *Journal) Write(ctx context.Context, s kv.Store, l Line, segs []*Segment) ([]*Segment, error) {
	for range writeTries {
		if err := j.Ready(ctx); err != nil {
			return segs, err
		}
		seg, err := j.Append(ctx, s, l)
		if seg != nil {
			segs = append(segs, seg)
		}
		if !errors.Is(err, ErrNone) {
			return segs, err
		}
	}
	return segs, ErrNone
}

// enter counts the line as open. nil: the journal is not open.
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

// GiveUp records that the work for some line will not be retried.
func (j *Journal) GiveUp() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.givenUp = true
}

func (j *Journal) Done(seg *Segment) {
	j.mu.Lock()
	defer j.mu.Unlock()
	seg.open--
}

// Ended is Done for a note. If other lines of seg stay open, the end of the note is written later,
// so that it is not carried out again.
func (j *Journal) Ended(seg *Segment, note Line) {
	note.Rev = endedRev
	j.mu.Lock()
	defer j.mu.Unlock()
	seg.open--
	seg.over = note.encode(seg.over)
}

// End writes that a note must not be carried out again, and is Done for it. ErrNone: another
// process took this one for dead and may have carried it out.
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

func (j *Journal) OpenLines() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := 0
	for _, seg := range j.segments {
		n += seg.open
	}
	return n
}

// Oldest returns the age of the oldest incomplete line, 0 if there is none.
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

func (j *Journal) removeComplete(ctx context.Context) (int, error) {
	complete := j.complete()
	for _, seg := range complete {
		if err := j.remove(ctx, seg); err != nil {
			return len(complete), err
		}
	}
	return len(complete), nil
}

func (j *Journal) remove(ctx context.Context, seg *Segment) error {
	if err := j.Archive(ctx, seg.created); err != nil {
		return err
	}
	seg.created = nil // not added twice if the deletion fails
	if err := j.discard(ctx, seg); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.segments = slices.DeleteFunc(j.segments, func(s *Segment) bool { return s == seg })
	return nil
}

// Close removes the journal. It returns an error if a change is incomplete, which is left to
// repair, unless that merely waits.
func (j *Journal) Close(ctx context.Context, waits bool) error {
	process := j.Process()
	if err := j.Leave(ctx); err != nil || process == "" {
		return err
	}
	if n := j.OpenLines(); n > 0 && waits {
		return nil
	} else if n > 0 {
		return fmt.Errorf("%w: %d changes are unfinished; repair will finish them", kv.ErrUnavailable, n)
	}
	return removeNames(ctx, j.Store, process)
}

// Leave ends the journal: only ends of notes will be written.
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

var segmentKey = kv.NewClass("line", 2) // process, number

type Segment struct {
	process string
	number  int64
	size    int
	open    int                 // lines of incomplete changes
	since   time.Time           // of the first, or of a line before it
	created map[string][]string // by model
	ended   bool
	over    []byte // unwritten ends of notes
}

func newSegment(process string, number int64) *Segment {
	return &Segment{process: process, number: number, created: map[string][]string{}}
}

func (s *Segment) key() string { return segmentKey.Key(s.process, strconv.FormatInt(s.number, 10)) }

// Shed checks after shedFirst, then with doubling pauses up to shedLast.
const (
	shedFirst = 10 * time.Millisecond
	shedLast  = time.Second
)

// Shed waits a few seconds until no journal has a line accepted by is, and returns a process with
// one, or "". Lines of a dead process go with its journal.
func (j *Journal) Shed(ctx context.Context, is func(Line) bool) (process string, err error) {
	last := j.last()
	for pause := shedFirst; ; pause *= 2 {
		j.tickNow()
		if over := pause > shedLast; over || !j.holds(last) {
			process, err = holder(ctx, j.Store, is)
			if over || err != nil || process == "" {
				return process, err
			}
		}
		if !kv.Sleep(ctx, pause) {
			return "", kv.TooLate(ctx)
		}
	}
}

func (j *Journal) holds(seg *Segment) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return seg != nil && (seg.size > 0 && slices.Contains(j.segments, seg) || len(j.segments) > 1 && j.segments[0].number < seg.number)
}

func holder(ctx context.Context, s kv.Store, is func(Line) bool) (process string, err error) {
	var damaged error
	err = eachCopy(ctx, s, func(c Copy) {
		if slices.ContainsFunc(c.Lines, is) {
			process = c.Process
		}
		damaged = wire.JoinCorrupt(damaged, c.Damaged)
	})
	if process != "" {
		damaged = nil
	}
	return process, cmp.Or(err, damaged)
}
