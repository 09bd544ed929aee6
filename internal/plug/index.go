// Package plug is the interface between index classes and the data class.
package plug

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Index is implemented by index classes. The write path keeps it up to date with the records of a
// model. A record belongs in places, such as the values of a field: each a text chosen by the
// index. For every index with places touched by a change, the write path calls the methods below,
// in this order. Concurrent requests to their store share one trip.
//
// Every method may be called again for the same change, by another process, at any later time: that
// is how a crash is repaired.
type Index interface {
	// Name is unique among the model's indexes and part of stored keys.
	Name() string

	// Def is the index's definition. If it differs from the stored one, the index must be rebuilt.
	Def() string

	// Limit returns an ErrTooLarge if rec has too many values. It is called before Places.
	Limit(rec Record) error

	// Places returns the places of rec. It is a pure function of rec.
	Places(rec Record) []string

	// Prepare adds entries at m.Gained before the record commits. Until then no reader may trust
	// them. An error ends the change; after an ErrConflict, which means that m.Base is outdated, it
	// starts over.
	Prepare(ctx context.Context, s kv.Store, m *Move) error

	// Beside runs in the trip that commits the record. If it fails, the entries are repaired after
	// the reply.
	Beside(ctx context.Context, s kv.Store, m *Move) error

	// After runs once the records of moves, which are different ones, have committed. It removes
	// the entries at Lost, and gives those at Renewed the expiry of the record. It is called for
	// every change that moves the record, even if nothing is gained or lost, so an index that
	// follows something else can update itself. If it fails for several moves, it is called for
	// each alone.
	After(ctx context.Context, s kv.Store, moves []*Move) error

	// Repair makes the entries at places agree with rec, read just now: it adds missing entries and
	// removes those that rec does not have.
	Repair(ctx context.Context, s kv.Store, rec *Seen, places []string) error

	// Check returns, for each of recs, one sentence per fault of its entries. An error about damage
	// may concern only some of recs. recs have only ids, revs, expiries, places and marks.
	Check(ctx context.Context, s kv.Store, recs []*Seen) (wrong [][]string, err error)
}

// Move is the effect of one change of a record on one index.
type Move struct {
	ID      string    // text of the record's id
	Base    uint64    // the record's rev before, 0 if absent
	Rev     uint64    // its rev if the change commits
	Ends    time.Time // its expiry then; zero: never
	Stands  time.Time // its latest possible expiry, whether or not the change commits; zero: never
	Gained  []string  // new places, which need an entry
	Had     []string  // places in Gained that it was already in: only the expiry has changed
	Renewed []string  // unchanged places whose entries get the new expiry from After
	Lost    []string  // places it leaves
	Was     []string  // all its places as of Base
	Is      []string  // all its places if the change commits
	Mark    []byte    // the index's data in the record; Prepare may change it
	Kept    any       // passed from one step to the next
	Added   *Added    // additions by all tries of the change with their commits; nil in a rebuild
	Early   []byte    // the result of Early for this change
	Began   time.Time // when the change read the record
	New     bool      // the id was generated for the record, so nobody has known it before
	Chain   uint64    // not 0: of the trip that commits the record; see Chaining
}

// Rebuilds reports whether m enters a record that does not change.
func (m *Move) Rebuilds() bool { return m.Rev == m.Base }

// EachAlone runs after for each of moves alone, side by side, and returns the first error.
func EachAlone(ctx context.Context, s kv.Store, moves []*Move, after func(context.Context, kv.Store, []*Move) error) error {
	return cmp.Or(kv.Each(ctx, s, moves, func(s kv.Store, i int, _ *Move) error { return after(ctx, s, moves[i:i+1]) })...)
}

// Unlimited is embedded in an Index that accepts any number of values.
type Unlimited struct{}

// Limit returns nil.
func (Unlimited) Limit(Record) error { return nil }

// Without returns the places that are not among others. The result may share the memory of places.
func Without(places, others []string) []string {
	if len(places) == 0 || len(others) == 0 {
		return slices.Clip(places)
	}
	var rest []string
	known := wire.SetOf(others)
	for _, place := range places {
		if !known.Has(place) {
			rest = append(rest, place)
		}
	}
	return rest
}

// ValuesName returns the name of the index of the values of a list, and of the count that it
// follows.
func ValuesName(list string) string { return list + ".Values" }

// Early is an Index that can do its part of Prepare before the record has been read, and so save
// that trip. It is asked to after several consecutive changes that moved records of the index. The
// result may go unused.
type Early interface {
	// Early returns the Move.Early for the change of the record id, if it turns out to move the
	// record. Prepare should then make no request.
	Early(ctx context.Context, s kv.Store, id string) ([]byte, error)
}

// Chaining is an Index that can run Prepare and Beside in one trip, on a store that is Ordered.
type Chaining interface {
	// Chains reports whether it can do so for m, in which Chain is set. In the first trip Prepare
	// then makes all entries with ops of that chain. If these succeed, the record commits in the
	// same trip. Otherwise Prepare goes on as usual, and Beside, whose writes are in the chain, too,
	// is called once more, without Chain.
	Chains(m *Move) bool
}

// Bulk is an Index that can enter many new records at once, in one transaction.
type Bulk interface {
	// EnterAll does the work of Prepare and Beside for all moves, all of absent records. After an
	// error each record is stored alone.
	EnterAll(ctx context.Context, s kv.Store, moves []*Move) error
}

// Listing is an Index of lists: it can list the records at a place, and keeps the ids of those that
// have left it for a while. Numbers may follow the lists: the index adds to them in the trip of a
// commit, which may turn out not to be carried out.
type Listing interface {
	// Committed is called once m has committed, before After and before the reply: from now on
	// readers of this process see entries that After has yet to write. It makes no request. On
	// stores with Atomic it is not called, since After is part of the commit.
	Committed(m *Move)

	// Each calls f with the ids of the records at place, until f returns an error. Some may have
	// left it.
	Each(ctx context.Context, s kv.Store, place string, f func(id string) error) error

	// Vacate removes the traces of records that have left place. It first calls f with their ids,
	// in batches.
	Vacate(ctx context.Context, s kv.Store, place string, f func(ids []string) error) error

	// Forget removes the remaining traces of the record id at places. The record was deleted at
	// rev, and Repair has removed it from them.
	Forget(ctx context.Context, s kv.Store, id string, rev uint64, places []string) error

	// Counts reports whether numbers follow the lists.
	Counts() bool

	// Notes reports whether places may have notes.
	Notes() bool

	// Undo takes back the additions of a change that did not commit. With doubt, it has the numbers
	// at places, all those the change has touched, recounted. An ErrNotYet means that this is not
	// done yet.
	Undo(ctx context.Context, s kv.Store, added *Added, places []string, doubt bool) error
}

// Builder is an Index with ordered entries, so that existing records cannot be entered one by one
// when it is added to a model.
type Builder interface {
	// Build enters every record, some of which may have entries already. Processes that maintain
	// the index may write meanwhile. steps may hold the progress of an earlier process.
	Build(ctx context.Context, steps Steps) error
}

// Steps stores the progress of an index in its part of a build, for the next process if this one
// dies.
type Steps interface {
	// From returns the last progress, or nil to start from the beginning.
	From() []byte

	// Reached records the progress to, which must already be true, after n more records. It is
	// saved at once if it is the first of this process or n is Many, otherwise from time to time.
	Reached(ctx context.Context, to []byte, n int) error
}

// Many is so much work that no other process should have to repeat it.
const Many = 1 << 30

// Purger is an Index that leaves data about a record behind until it is overwritten or expires.
type Purger interface {
	// Purge removes all traces of the record id at places. The record is deleted, and Repair has
	// removed it from them. fence makes every change fail that has read the earlier record, and
	// returns an error if it was created again: what Purge has read before belongs to no later
	// record.
	Purge(ctx context.Context, s kv.Store, id string, places []string, fence func() error) error
}

// Added is what the tries of one change have added to the numbers of an index and not taken back.
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

// Places returns the places with additions to take back or numbers to recount.
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

// Finisher is an Index with more work after a rebuild has entered every record.
type Finisher interface {
	// Finish does the work, side by side with other indexes. It may take a while, but must end:
	// otherwise it returns an ErrNotYet, and the index still counts as built, unless the error is
	// also an ErrUnfit.
	Finish(ctx context.Context, s kv.Store, steps Steps) error
}

// Meeter is a Finisher that must know the existing records.
type Meeter interface {
	// Meet is called when a rebuild has read a record at places.
	Meet(places []string)
}

// ErrNeedsRebuild is kvmodel.ErrNeedsRebuild.
var ErrNeedsRebuild = errors.New("index needs a rebuild")

// ErrUnfit means that an index is complete but cannot be used yet.
var ErrUnfit = errors.New("it cannot be read yet")

// Seen is a record as an index sees it.
type Seen struct {
	ID     string   // text of its id
	Rev    uint64   // 0 if absent
	Value  Record   // nil if absent or deleted
	Ended  bool     // it has expired, and its Envelope is that of a deleted record
	Places []string // its places in the index that asked
	Mark   []byte   // that index's data in it
	Doubt  bool     // for Repair: a process that may have changed it died at an unknown point

	Version  kv.Version         // of the stored record
	Envelope *envelope.Envelope // nil if absent
	Counts   []kv.Result        // results of gets of its counters, for the model alone

	// Err is an ErrCorrupt if the record is damaged: it may exist although Value is nil. If Value
	// is not nil, only some of its counters are damaged; they are 0 in it.
	Err error
}

// Damaged reports whether the contents of the record are unknown.
func (r *Seen) Damaged() bool { return r.Err != nil && r.Value == nil }

// Holds reports whether the record belongs at place, which has no note.
func (r *Seen) Holds(place string) bool {
	_, holds := At(r.Places, place)
	return holds
}

// Holders returns, by place, the positions in recs of the records that belong there.
func Holders(recs []*Seen) map[string][]int {
	holders := make(map[string][]int)
	for i, rec := range recs {
		for _, place := range rec.Places {
			holders[place] = append(holders[place], i)
		}
	}
	return holders
}

// Expires returns the expiry of the record, or the zero time.
func (r *Seen) Expires() time.Time { return r.Envelope.Ends() }

// Model is a data class that accepts indexes.
type Model interface {
	ModelName() string

	// Plug calls build with the model as seen by the index, then adds the index to the model. build
	// must leave nothing undone: a background repair may use the index as soon as it is added.
	Plug(index Index, build func(Host))
}

// Plugged is called whenever an index was added to a model. Tests use it to run a repair.
var Plugged = func() {}

// Host is the data class of an index, as the index sees it.
type Host interface {
	// Model returns the model's name.
	Model() string

	// Private returns the fields with values that must not be shown.
	Private() []string

	// DB returns the database of the model.
	DB() DB

	// Begin marks the start of a verb of the index: requests under the returned context are
	// attributed to it. The caller calls the func when the verb ends.
	Begin(ctx context.Context, verb string) (context.Context, func())

	// Ends reports whether records of the model can expire.
	Ends() bool

	// Store returns the store for reads outside a change.
	Store() kv.Store

	// Ready returns nil if the index may be read, and an ErrNeedsRebuild if the model has records
	// written without it.
	Ready(ctx context.Context) error

	// Built reports whether the index is known to be complete. It makes no trip.
	Built() bool

	// See reads the records with these id texts in one trip. With an ErrCorrupt it returns all of
	// them, and damaged ones have an Err.
	See(ctx context.Context, s kv.Store, ids ...string) ([]*Seen, error)

	// SeeMarks is See without the Places, which take time to compute.
	SeeMarks(ctx context.Context, s kv.Store, ids ...string) ([]*Seen, error)

	// SeeBare is See without the counters, which have their own keys, for places that do not depend
	// on them.
	SeeBare(ctx context.Context, s kv.Store, ids ...string) ([]*Seen, error)

	// Each calls f with all records, in batches. It misses no undamaged record that exists before
	// and after the call. The ErrCorrupt it returns at the end names the damaged ones.
	Each(ctx context.Context, f func([]*Seen) error) error

	// Keep stores mark in rec as the index's data. The error satisfies kv.Raced if the record has
	// changed since it was read.
	Keep(ctx context.Context, s kv.Store, rec *Seen, mark []byte) error

	// Fence makes every change fail that was prepared on rec as read. If the record has changed
	// since, it fences nothing and returns ErrConflict.
	Fence(ctx context.Context, s kv.Store, rec *Seen) error

	// Meet repairs in the background an entry at place that does not agree with the record id.
	// First it makes every uncommitted change prepared for a rev up to past fail.
	Meet(id, place string, past uint64)

	// Mend is Meet on s, and returns when it is done.
	Mend(ctx context.Context, s kv.Store, id, place string, past uint64) error

	// Rebuilds returns the numbers of the data class's last rebuild to begin and last to end, 0 if
	// none. Everything lost before a rebuild began is restored when it has ended.
	Rebuilds(ctx context.Context, s kv.Store) (begun, ended int64, err error)
}

// Latch runs one work in the background, again and again until it succeeds.
type Latch interface {
	// Set runs the work, or runs it once more if it is already running. If it has failed before, it
	// runs at the next retry, some seconds later.
	Set()

	// Hurry is Set, but does not wait for the next retry.
	Hurry()
}

// DB is a database as an index sees it.
type DB interface {
	Store() kv.Store
	Now() time.Time

	// Begin is like that of Host, for a verb without a model.
	Begin(ctx context.Context, verb string) (context.Context, func())

	// Patient returns a ctx for a call of several trips. Without a deadline of its own it ends
	// after the store's patience.
	Patient(ctx context.Context) (context.Context, context.CancelFunc)

	// Writable returns nil, or the reason why nothing may be written.
	Writable() error

	// Later runs work in the background, or at once until ctx ends if too much is queued; Flush
	// waits for it.
	Later(ctx context.Context, work func(context.Context) error)

	// Soon is Later for upkeep that others can do as well. If too much is queued or the database is
	// closed, it returns false without running work.
	Soon(work func(context.Context) error) bool

	// Latch returns a latch for work, which runs in the background until it succeeds or the process
	// ends. Every repeated work has one.
	Latch(work func(context.Context) error) Latch

	// Note writes texts to the journal before a change that an index makes on its own. If the
	// process dies before it calls done, another one calls the function that Finishes was given for
	// name.
	Note(ctx context.Context, s kv.Store, name string, texts []string) (done func(), err error)
	Finishes(name string, finish func(ctx context.Context, s kv.Store, texts []string) error)

	// AtFlush makes Flush call f first.
	AtFlush(f func(context.Context) error)
	Flush(ctx context.Context) error
}
