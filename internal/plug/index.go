// Package plug is what an index class and the data class know of each other.
package plug

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Index is what an index class implements to be kept in step with the records
// of a model. A record belongs in places, such as the values of a field: each a
// text that the index has chosen. The write path calls the methods below, in
// this order, for every index whose places a change touches; what they ask of
// their store at the same time goes out as one trip.
//
// Every method may be called again for the same change, by another process, at any
// later time: that is how a crash is repaired.
type Index interface {
	// Name is unique among the model's indexes and part of stored keys.
	Name() string

	// Def is the index's definition. An index whose Def differs from the
	// stored one has to be rebuilt.
	Def() string

	// Places returns the places rec belongs in. It is a pure function of rec.
	Places(rec Record) []string

	// Prepare makes entries at m.Gained, before the record commits. Until then no
	// reader may trust them. An error ends the change; ErrConflict means that
	// m.Base is old and the change starts over.
	Prepare(ctx context.Context, s kv.Store, m *Move) error

	// Beside runs next to the record's commit, in the same trip. If it fails, the
	// entries are repaired after the reply.
	Beside(ctx context.Context, s kv.Store, m *Move) error

	// After removes what stands at m.Lost, and makes what stands at m.Renewed end when
	// the record does, once that has committed. It is called for every change that moves
	// the record, even if there is nothing of that: an index that follows something
	// other than the record does so here. Nor need anything be gained, where an earlier
	// try of the change has added to a number.
	After(ctx context.Context, s kv.Store, m *Move) error

	// Repair makes the entries at places agree with rec, read just now: it
	// adds missing entries and removes those that rec does not have.
	Repair(ctx context.Context, s kv.Store, rec *Seen, places []string) error

	// Check returns, for each of recs, a sentence for each thing that is wrong with its
	// entries; nil: nothing is. What is damaged, as an error says, may concern only some.
	// Of recs it gets the ids, the revs, the ends, the places and the marks.
	Check(ctx context.Context, s kv.Store, recs []*Seen) (wrong [][]string, err error)
}

// Move is what one change of a record means to one index.
type Move struct {
	ID      string        // the text of the record's id
	Base    uint64        // the record's rev before, 0 if it was absent
	Rev     uint64        // its rev if the change commits
	TTL     time.Duration // how long the record lives, 0: forever
	Ends    time.Time     // when it expires; zero: never
	Stands  time.Duration // how long it may live, whether or not the change commits, 0: forever
	Gained  []string      // places it will be in that need an entry
	Had     []string      // of Gained, those it was in before: only its expiry has changed
	Renewed []string      // places it stays in, whose entries get its new expiry from After
	Lost    []string      // places it will no longer be in
	Was     []string      // all places it is in by the record at Base
	Is      []string      // all places it is in if the change commits
	Mark    []byte        // what the index keeps in the record; Prepare may change it
	Kept    any           // what one step leaves for the next
	Added   *Added        // what all tries of the change have added beside their commits; nil in a rebuild
	Early   []byte        // what the index's Early has returned for this change
	Began   time.Time     // when the change read the record
	New     bool          // the id was made for the record, so no one has known it before
}

// Without returns the places that are not among others.
func Without(places, others []string) []string {
	var rest []string
	known := wire.SetOf(others)
	for _, place := range places {
		if !known.Has(place) {
			rest = append(rest, place)
		}
	}
	return rest
}

// ValuesName returns the name of the index that holds the values of a list, and of the count
// of a list that is counted for its values alone.
func ValuesName(list string) string { return list + ".Values" }

// Limited is an Index that takes so many values of a record.
type Limited interface {
	// Limit returns an error that is an ErrTooLarge if rec has more. It is called before
	// Places.
	Limit(rec Record) error
}

// Early is an Index that can do what Prepare asks of the store before the
// record has been read, and so save the trip of Prepare. It is called when the
// last few changes of the model have all moved records of the index. What it
// returns may go unused.
type Early interface {
	// Early returns what will be Move.Early, if the change of the record id
	// turns out to move it. Prepare should then ask for nothing.
	Early(ctx context.Context, s kv.Store, id string) ([]byte, error)
}

// Together is an Index that can do for many new records at once what After does for each.
type Together interface {
	// AfterAll does what After does for each of moves. After an error After is called for
	// each of them.
	AfterAll(ctx context.Context, s kv.Store, moves []*Move) error
}

// Bulk is an Index that can prepare many new records at once, in one transaction.
type Bulk interface {
	// PrepareAll does what Prepare does for each of moves, all of records that were absent. An
	// error ends the transaction.
	PrepareAll(ctx context.Context, s kv.Store, moves []*Move) error
}

// Committer is an Index that takes note of a change of this process before the
// reply, so that its readers see what After has yet to write.
type Committer interface {
	// Committed is called once m has committed, before After. It asks nothing of
	// the store. On one with Atomic it is not called, since After is part of the
	// commit.
	Committed(m *Move)
}

// Listing is an Index that can tell which records are at a place.
type Listing interface {
	// Each calls f with the ids of the records at place, some of which may have left it,
	// until f returns an error.
	Each(ctx context.Context, s kv.Store, place string, f func(id string) error) error

	// Vacate removes what still names records that have left place. Before that it calls f
	// with their ids, some at a time.
	Vacate(ctx context.Context, s kv.Store, place string, f func(ids []string) error) error
}

// Builder is an Index whose entries have an order, so that records cannot be
// entered one by one when it is added to a model that has some.
type Builder interface {
	// Build makes the entries of every record, of which some may have entries
	// already. Others may write at the same time, as long as they keep the index. What
	// an earlier process has noted in steps is of the same build.
	Build(ctx context.Context, steps Steps) error
}

// Steps is how far an index has come with its own part of a build. What it notes is for
// the next process if this one dies.
type Steps interface {
	// From returns what was noted last, nil if there is nothing to go on from.
	From() []byte

	// Reached notes to, which must be true already, after n more records. It is written
	// down at once if it is the first of this process or n is Many, and otherwise now
	// and then.
	Reached(ctx context.Context, to []byte, n int) error
}

// Many stands for so many records that a process that dies must not have to do them again.
const Many = 1 << 30

// Forgetter is an Index that keeps something of a record after Repair has taken the
// record out of all places, such as its id among those that have left a list.
type Forgetter interface {
	// Forget removes what still names the record id at places. The record is deleted at
	// rev, and Repair has taken it out of them.
	Forget(ctx context.Context, s kv.Store, id string, rev uint64, places []string) error
}

// Purger is an Index that leaves something of a record behind until it is lapped or
// expires.
type Purger interface {
	// Purge removes all that the index has of the record id at places, which is deleted
	// and which Repair has taken out of them. fence makes every change fail that has seen
	// the record before, and says if it was made again. What Purge reads before it calls
	// fence is of no record that is there afterward.
	Purge(ctx context.Context, s kv.Store, id string, places []string, fence func() error) error
}

// Counting is an Index that adds to numbers beside the commit of a change, which may
// then turn out not to be carried out.
type Counting interface {
	// Counts reports whether the index does that.
	Counts() bool

	// Undo takes back what a change has added that did not commit. If that is in
	// doubt, it has the numbers at places, which are all that the change has touched,
	// counted again. An ErrNotYet says that this has not been done yet. Undo may be
	// called again for the same change.
	Undo(ctx context.Context, s kv.Store, added *Added, places []string, doubt bool) error
}

// Noting is an Index whose places may have notes.
type Noting interface {
	// Notes reports whether they have.
	Notes() bool
}

// Added is what the tries of one change have added to the numbers that an index
// keeps, and not taken back.
type Added struct {
	Shares []Share   // one for each number, as far as is known
	Doubt  []string  // places where an answer was missing
	Began  time.Time // of the first try that added something
	Since  time.Time // when these were put in doubt; zero: not yet
}

// Share is what a change adds to a number at a place, and the sum.
type Share struct {
	Place   string // without a note
	Number  int    // which of those that the index keeps
	By, Sum int64
}

// Places returns where a has something to take back, or to have counted again.
func (a *Added) Places() []string {
	places := slices.Clone(a.Doubt)
	for _, s := range a.Shares {
		if s.By != 0 {
			places = append(places, s.Place)
		}
	}
	return places
}

// Note adds s to what a has of its number.
func (a *Added) Note(s Share) {
	for i := range a.Shares {
		if old := &a.Shares[i]; old.Place == s.Place && old.Number == s.Number {
			old.By, old.Sum = old.By+s.By, s.Sum
			return
		}
	}
	a.Shares = append(a.Shares, s)
}

// Meeter is a Finisher that has to know which records there are.
type Meeter interface {
	// Meet notes that a rebuild has come across a record at places.
	Meet(places []string)
}

// Finisher is an Index that has more to do after a rebuild has entered every
// record.
type Finisher interface {
	// Finish does it, beside the other indexes. It may take a while, but not forever:
	// if it would, it returns an ErrNotYet, and the index counts as built all the same,
	// unless that is an ErrUnfit too.
	Finish(ctx context.Context, s kv.Store, steps Steps) error
}

// ErrUnfit says that an index holds all records and is of no use yet.
var ErrUnfit = errors.New("it cannot be read yet")

// Seen is a record as an index sees it.
type Seen struct {
	ID     string   // the text of its id
	Rev    uint64   // 0 if it is absent
	Value  Record   // nil if it is absent or deleted
	Ended  bool     // it has expired, and its Envelope is that of a deleted one
	Places []string // where it belongs in the index that asked
	Mark   []byte   // what that index keeps in it
	Doubt  bool     // to Repair: a process has died that may have changed it, and stopped anywhere

	Version  kv.Version         // of the stored record
	Envelope *envelope.Envelope // nil if it is absent
	Counts   []kv.Result        // what gets of its counters have answered, for the model alone

	// Err is an ErrCorrupt if the record is damaged: it may exist, though Value is nil.
	// With a Value, only some of its counters are damaged; they are 0 in it.
	Err error
}

// Damaged reports whether it is not known what the record says.
func (r *Seen) Damaged() bool { return r.Err != nil && r.Value == nil }

// Holds reports whether the record belongs at place, which has no note.
func (r *Seen) Holds(place string) bool {
	_, holds := At(r.Places, place)
	return holds
}

// Holders returns, by place, which of recs belong there.
func Holders(recs []*Seen) map[string][]int {
	holders := make(map[string][]int)
	for i, rec := range recs {
		for _, place := range rec.Places {
			holders[place] = append(holders[place], i)
		}
	}
	return holders
}

// Expires returns when the record expires, the zero time if never.
func (r *Seen) Expires() time.Time { return r.Envelope.Ends() }

// Model is a data class that an index can be plugged into.
type Model interface {
	ModelName() string

	// Plug calls build with what the index needs of the model, and then adds the index to the
	// model. Build must leave nothing to be done: a repair in the background may use the index
	// from the moment it is added.
	Plug(index Index, build func(Host))
}

// Plugged is called each time an index was added to a model. Tests have a repair run then.
var Plugged = func() {}

// Host is the data class that an index is plugged into, as the index sees it.
type Host interface {
	// Model returns the model's name.
	Model() string

	// Private returns the fields whose values are not shown.
	Private() []string

	// DB returns the database of the model.
	DB() DB

	// Begin says that a verb of the index begins: what is asked under the context that it
	// returns is for that verb. The func is to be called when the verb ends.
	Begin(ctx context.Context, verb string) (context.Context, func())

	// Ends reports whether records of the model can expire.
	Ends() bool

	// Store returns the store for reading outside a change.
	Store() kv.Store

	// Ready returns nil if the index may be read: an ErrNeedsRebuild if the
	// model has records that were written without it.
	Ready(ctx context.Context) error

	// Built reports whether the index is known to hold all records. It makes no
	// trip.
	Built() bool

	// See reads the records with these id texts in one trip. With an ErrCorrupt it returns
	// all of them, and their Err says which are damaged.
	See(ctx context.Context, s kv.Store, ids ...string) ([]*Seen, error)

	// SeeMarks is See without the Places, which take time.
	SeeMarks(ctx context.Context, s kv.Store, ids ...string) ([]*Seen, error)

	// SeeBare is SeeMarks without the counters, which have keys of their own.
	SeeBare(ctx context.Context, s kv.Store, ids ...string) ([]*Seen, error)

	// Each calls f with all records there may be, in batches. It misses none that
	// was there before the call and is there after it, but for those that are damaged: the
	// ErrCorrupt that it returns at the end names these.
	Each(ctx context.Context, f func([]*Seen) error) error

	// Keep stores mark in rec as what the index keeps in it, and changes nothing
	// else. It returns an error that is kv.Raced if the record has changed since it
	// was seen.
	Keep(ctx context.Context, s kv.Store, rec *Seen, mark []byte) error

	// Fence makes every change fail that was prepared on rec as it was seen. It
	// returns ErrConflict if the record has changed since, and then nothing was
	// fenced.
	Fence(ctx context.Context, s kv.Store, rec *Seen) error

	// Meet repairs in the background what a reader found at place: an entry that
	// does not agree with the record id. First, every change prepared for a rev up
	// to past is made to fail, unless it has committed.
	Meet(id, place string, past uint64)

	// Mend does what Meet does, on s, and returns when it is done.
	Mend(ctx context.Context, s kv.Store, id, place string, past uint64) error

	// Rebuilds returns the numbers of the last rebuild of the data class that
	// has begun and of the last that has ended, 0 if there was none. What was
	// lost before a rebuild began is there again when it has ended.
	Rebuilds(ctx context.Context, s kv.Store) (begun, ended int64, err error)
}

// Latch has one work done in the background, and again until it succeeds.
type Latch interface {
	// Set has the work done; if it is being done already, once more after that. Where it
	// has failed before, it is done with the next try, a few seconds later.
	Set()

	// Hurry is Set, but does not wait for the next try.
	Hurry()
}

// DB is a database as an index sees it.
type DB interface {
	Store() kv.Store
	Now() time.Time

	// Begin is that of Host, for a verb of what belongs to no model.
	Begin(ctx context.Context, verb string) (context.Context, func())

	// Patient returns ctx for a call of several trips. If it has no deadline, it
	// ends after the store's patience.
	Patient(ctx context.Context) (context.Context, context.CancelFunc)

	// Writable returns nil, or why nothing may be written.
	Writable() error

	// Later does work in the background, or at once, until ctx ends, if there is too much to
	// do already; Flush waits for it.
	Later(ctx context.Context, work func(context.Context) error)

	// Soon is Later for upkeep that others can do as well. It returns false if there is
	// too much to do already or the database is closed: then the work is not done.
	Soon(work func(context.Context) error) bool

	// Latch returns what has work done in the background, and again until it succeeds or
	// the process ends. Whatever is to be repeated has one.
	Latch(work func(context.Context) error) Latch

	// Note writes texts to the journal before a change that an index makes by
	// itself. If the process dies before it calls done, another one calls the
	// function that Finishes was given for name.
	Note(ctx context.Context, s kv.Store, name string, texts []string) (done func(), err error)
	Finishes(name string, finish func(ctx context.Context, s kv.Store, texts []string) error)

	// AtFlush makes Flush call f first.
	AtFlush(f func(context.Context) error)
	Flush(ctx context.Context) error
}
