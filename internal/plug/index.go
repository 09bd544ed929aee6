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
// model. A record belongs in places, texts chosen by the index, such as the values of a field. For
// each index whose places a change touches, the write path calls the methods below in this order.
// Their concurrent requests share trips.
//
// Any process may call each method again for the same change at any later time, to repair a crash.
type Index interface {
	// Name is unique in the model, and part of stored keys.
	Name() string

	// Def is the definition. If it changes, the index must be rebuilt.
	Def() string

	// Limit returns an ErrTooLarge if rec has too many values. It comes before Places.
	Limit(rec Record) error

	// Places depends only on rec.
	Places(rec Record) []string

	// Prepare adds entries at m.Gained before the record commits; readers must not trust them yet.
	// An error ends the change; on an ErrConflict, as m.Base is outdated, it starts over.
	Prepare(ctx context.Context, s kv.Store, m *Move) error

	// Beside runs in the trip that commits the record. If it fails, repair follows after the reply.
	Beside(ctx context.Context, s kv.Store, m *Move) error

	// After runs once the records of moves, all different, have committed. It removes the entries
	// at Lost and updates the expiry of those at Renewed. It is also called for moves without gains
	// and losses. If it fails for several moves, it is called for each alone.
	After(ctx context.Context, s kv.Store, moves []*Move) error

	// Repair adds missing entries of rec, just read, at places, and removes wrong ones.
	Repair(ctx context.Context, s kv.Store, rec *Seen, places []string) error

	// Check returns a sentence per fault of each of recs. An error about damage may concern only
	// some. recs have only ids, revs, expiries, places and marks.
	Check(ctx context.Context, s kv.Store, recs []*Seen) (wrong [][]string, err error)

	// Purge removes the remaining traces of the record, after Repair, even those that would be
	// overwritten or expire. fence makes changes of the earlier record fail, and returns an error if
	// it was created again: data read before fence belongs to no later record.
	Purge(ctx context.Context, s kv.Store, gone Gone, fence func() error) error
}

// Gone is a deleted record.
type Gone struct {
	ID     string
	Rev    uint64
	Places []string // which it left
}

// Move is the effect of one change of a record on one index.
type Move struct {
	ID      string
	Base    uint64    // its rev before, 0 if absent
	Rev     uint64    // its rev if the change commits
	Ends    time.Time // its expiry then; zero: never
	Stands  time.Time // its latest possible expiry, committed or not; zero: never
	Gained  []string  // places that need an entry: new ones, and others with a new expiry
	Renewed []string  // unchanged places whose entries After updates
	Lost    []string  // places it leaves
	Was     []string  // all its places at Base
	Is      []string  // all its places at Rev
	Mark    []byte    // the index's data in the record; Prepare may change it
	Kept    any       // passed from step to step, at first the result of Early
	Added   *Added    // what all tries have added with their commits; nil in a rebuild
	Began   time.Time // when the change read the record
	New     bool      // the id was generated for this record
	Chain   uint64    // not 0: of the committing trip; see Chaining
}

// Rebuilds reports whether m enters an unchanged record.
func (m *Move) Rebuilds() bool { return m.Rev == m.Base }

// Entered returns the places of m.Gained that the record was not in, all of them in a rebuild.
func (m *Move) Entered() []string {
	was := wire.SetOf(m.Was)
	if m.Rebuilds() || !slices.ContainsFunc(m.Gained, was.Has) {
		return m.Gained
	}
	return Without(m.Gained, m.Was)
}

// EachAlone calls after for each of moves alone, concurrently, and returns the first error.
func EachAlone(ctx context.Context, s kv.Store, moves []*Move, after func(context.Context, kv.Store, []*Move) error) error {
	return cmp.Or(kv.Each(ctx, s, moves, func(s kv.Store, i int, _ *Move) error { return after(ctx, s, moves[i:i+1]) })...)
}

// Unlimited is embedded in an Index without a limit.
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

// ValuesName returns the name of the index of a list's values, and of the count it follows.
func ValuesName(list string) string { return list + ".Values" }

// Early is an Index that can do its part of Prepare in the trip that reads the record. It is asked
// to after several consecutive changes that moved records of the index. The result may go unused.
type Early interface {
	// Early returns Move.Kept for a change of the record id. Prepare should then need no trip.
	Early(ctx context.Context, s kv.Store, id string) ([]byte, error)
}

// Chaining is an Index that can run Prepare and Beside in one trip, on a store that is Ordered.
type Chaining interface {
	// Chains reports whether it can do so for m, whose Chain is set. Prepare then puts all its ops
	// into that chain, and so does Beside. If they succeed, the record commits in the same trip.
	// Otherwise Prepare goes on as usual, and Beside is called again, without Chain.
	Chains(m *Move) bool
}

// Bulk is an Index that can enter many new records at once, in one transaction.
type Bulk interface {
	// EnterAll does the work of Prepare and Beside for all moves, all of absent records. After an
	// error each record is stored alone.
	EnterAll(ctx context.Context, s kv.Store, moves []*Move) error
}

// Listing is an Index of lists. It can list the records at a place, and remembers for a while which
// ones have left it. Derived numbers may follow its lists.
type Listing interface {
	// Committed is called after the commit of m, before the reply: readers of this process must now
	// see the entries that After has yet to write. It makes no trip. It is not called on stores
	// with Atomic, where After is part of the commit.
	Committed(m *Move)

	// Each calls f with the ids of the records at place, until f fails. Some may have left it.
	Each(ctx context.Context, s kv.Store, place string, f func(id string) error) error

	// Erase removes the last entries of all, an hour after their deletion. It returns an error or
	// nil for each.
	Erase(ctx context.Context, s kv.Store, all []Gone) []error

	// Vacate removes the traces of records that left place, after calling f with their ids, in
	// batches.
	Vacate(ctx context.Context, s kv.Store, place string, f func(ids []string) error) error

	// Counts reports whether derived numbers follow the lists.
	Counts() bool

	// Notes reports whether places may have notes.
	Notes() bool

	// Undo takes back the additions of an uncommitted change. With doubt, it has the numbers at
	// places, all that the change touched, recounted. An ErrNotYet means that this is not done yet.
	Undo(ctx context.Context, s kv.Store, added *Added, places []string, doubt bool) error
}

// Builder is an Index with ordered entries, which a build cannot enter record by record.
type Builder interface {
	// Build enters every record, some of which may have entries, while other processes write to the
	// index. steps may hold the progress of an earlier process.
	Build(ctx context.Context, steps Steps) error
}

// Steps stores the progress of a build of an index for the next process, if this one dies.
type Steps interface {
	// From returns the last progress, or nil.
	From() []byte

	// Reached records the progress to, already made, after n more records. The first of this
	// process, and any with n = Many, is saved at once, others from time to time.
	Reached(ctx context.Context, to []byte, n int) error
}

// Many is so much work that no other process should have to repeat it.
const Many = 1 << 30

// Added is what the tries of one change have added to the numbers of an index and not taken back.
type Added struct {
	Shares []Share   // one for each number
	Doubt  []string  // places where an answer was missing
	Began  time.Time // of the first addition
	Since  time.Time // when these were put in doubt, if they were
}

type Share struct {
	Place   string // without its note
	Number  int    // which number of the place
	By, Sum int64
}

func (a *Added) Places() []string {
	places := slices.Clone(a.Doubt)
	for _, s := range a.Shares {
		if s.By != 0 {
			places = append(places, s.Place)
		}
	}
	return places
}

func (a *Added) Add(s Share) {
	for i := range a.Shares {
		if old := &a.Shares[i]; old.Place == s.Place && old.Number == s.Number {
			old.By, old.Sum = old.By+s.By, s.Sum
			return
		}
	}
	a.Shares = append(a.Shares, s)
}

// Finisher is an Index with more work once a rebuild has entered every record.
type Finisher interface {
	// Finish does the work, concurrently with other indexes. It must end: if it takes too long, it
	// returns an ErrNotYet, and the index counts as built unless the error is also an ErrUnfit.
	Finish(ctx context.Context, s kv.Store, steps Steps) error
}

// Meeter is a Finisher that must know the existing records.
type Meeter interface {
	// Meet is called when a rebuild has read a record at places.
	Meet(places []string)
}

var ErrNeedsRebuild = errors.New("index needs a rebuild")

// ErrUnfit means that an index is complete but cannot be used yet.
var ErrUnfit = errors.New("it cannot be read yet")

type Seen struct {
	ID     string
	Rev    uint64   // 0 if absent
	Value  Record   // nil if absent or deleted
	Ended  bool     // expired; the Envelope is that of a deleted record
	Places []string // in the index that asked
	Mark   []byte   // that index's data in it
	Doubt  bool     // for Repair: a process died at an unknown point of a change

	Version  kv.Version
	Envelope *envelope.Envelope // nil if absent
	Counts   []kv.Result        // of its counters, for the model alone

	// Err is an ErrCorrupt if the record is damaged. If Value is not nil, only some of its counters
	// are, and 0 in it.
	Err error
}

func (r *Seen) Damaged() bool { return r.Err != nil && r.Value == nil }

// Holds reports whether the record belongs at place, without a note.
func (r *Seen) Holds(place string) bool {
	_, holds := At(r.Places, place)
	return holds
}

// Holders returns, by place, the indexes in recs of the records there.
func Holders(recs []*Seen) map[string][]int {
	holders := make(map[string][]int)
	for i, rec := range recs {
		for _, place := range rec.Places {
			holders[place] = append(holders[place], i)
		}
	}
	return holders
}

func (r *Seen) Expires() time.Time { return r.Envelope.Ends() }

// Model is a data class that accepts indexes.
type Model interface {
	ModelName() string

	// Plug calls build with the model as seen by the index, then adds the index. A background
	// repair may use it at once.
	Plug(index Index, build func(Host))
}

// Plugged is called after an index was added to a model, for tests.
var Plugged = func() {}

// Host is the data class as the index sees it.
type Host interface {
	Model() string

	Private() []string

	DB() DB

	// Begin marks the start of a verb: trips under the returned context are attributed to it until
	// the func is called.
	Begin(ctx context.Context, verb string) (context.Context, func())

	Ends() bool

	// Store is for reads outside a change.
	Store() kv.Store

	// Ready returns an ErrNeedsRebuild if some records were written without the index.
	Ready(ctx context.Context) error

	// Built reports, without a trip, whether the index is known to be complete.
	Built() bool

	// See reads records in one trip. With an ErrCorrupt it returns all; damaged ones have an Err.
	See(ctx context.Context, s kv.Store, ids ...string) ([]*Seen, error)

	// SeeMarks is See without the Places, which are slow to compute.
	SeeMarks(ctx context.Context, s kv.Store, ids ...string) ([]*Seen, error)

	// SeeBare is See without the counters.
	SeeBare(ctx context.Context, s kv.Store, ids ...string) ([]*Seen, error)

	// Each calls f with all records, in batches. It misses no undamaged record that exists
	// throughout the call. An ErrCorrupt at the end names damaged ones.
	Each(ctx context.Context, f func([]*Seen) error) error

	// Keep stores mark in rec, or returns an error that satisfies kv.Raced if the record has
	// changed.
	Keep(ctx context.Context, s kv.Store, rec *Seen, mark []byte) error

	// Fence makes every change prepared on rec fail, or returns ErrConflict if the record has
	// changed.
	Fence(ctx context.Context, s kv.Store, rec *Seen) error

	// Mend repairs an entry at place that disagrees with the record id. It first fences uncommitted
	// changes with a rev up to past.
	Mend(ctx context.Context, s kv.Store, id, place string, past uint64) error

	// MendSoon is Mend in the background.
	MendSoon(id, place string, past uint64)

	// Rebuilds returns the numbers of the last rebuild to begin and the last to end, 0 if none. One
	// restores everything lost before it began.
	Rebuilds(ctx context.Context, s kv.Store) (begun, ended int64, err error)
}

type Latch interface {
	// Set runs the work, or once more if it is running. After a failure it waits for the next
	// retry.
	Set()

	Hurry()
}

type DB interface {
	Store() kv.Store
	Now() time.Time

	Begin(ctx context.Context, verb string) (context.Context, func())

	// Patient gives ctx the store's patience as deadline, if it has none.
	Patient(ctx context.Context) (context.Context, context.CancelFunc)

	Writable() error

	// Later runs work in the background, or at once if too much is queued. Flush waits for it.
	Later(ctx context.Context, work func(context.Context) error)

	// Soon is Later for upkeep that others can do as well. It returns false, and runs nothing, if
	// too much is queued or the database is closed.
	Soon(work func(context.Context) error) bool

	// Every repeated work has a Latch.
	Latch(work func(context.Context) error) Latch

	// Note writes texts to the journal before a change made by the index itself. If the process
	// dies before it calls done, another one calls the func given to Finishes for name.
	Note(ctx context.Context, s kv.Store, name string, texts []string) (done func(), err error)
	Finishes(name string, finish func(ctx context.Context, s kv.Store, texts []string) error)

	AtFlush(f func(context.Context) error)
	Flush(ctx context.Context) error
}
