// Package times holds the time limits of the protocols between processes. The latest action of one
// process bounds the conclusions of another; the test states how.
package times

import "time"

const (
	// Change is the time after its first read (A0) within which a change may commit. An operation
	// on a ranking's tree that takes longer stops writing.
	Change = 10 * time.Second

	// Travel is how long a sender waits for an answer.
	Travel = 5 * time.Second

	// Settled is the age at which a change has committed or never will, by one clock.
	Settled = Change + Travel

	// Overdue is the same by different clocks: an entry of that age without its record is a
	// leftover.
	Overdue = time.Minute

	// Late is the longest delay of a request whose sender has given up or died.
	Late = time.Hour

	// Tombstone is how long a deleted record stays marked as deleted.
	Tombstone = 24 * time.Hour

	// Forget is the age at which a tombstone no longer names the places of its record.
	Forget = Late + 5*time.Minute
)

// Maximum ages of cached reads.
const (
	// Definition: the definition of a ranking's tree.
	Definition = 5 * time.Second

	// Head: the built indexes of a model, and the head of a list.
	Head = 15 * time.Second

	// Leaves is how long others may still read an index that was taken out.
	Leaves = Head + Travel
)

const (
	Tick = time.Second // between two ticks of a journal

	// Gap is the time without a tick after which a process assumes that others may have taken it
	// for dead.
	Gap = 20 * time.Second

	// Look is the interval at which the journals of others, and the servers, are checked.
	Look = 15 * time.Second

	// Dead is the time without a tick after which a process counts as dead: two looks, the second
	// perhaps a little early.
	Dead = 2*Look - time.Second

	// Repair is how long a journal stays after its second repair, so that other processes can do
	// theirs.
	Repair = 2 * time.Minute

	// Cascade is the time after its last try at which a cascade that is in no journal counts as
	// ended by another process.
	Cascade = 2 * time.Minute

	// Beat is the interval between signs of life of a build. After Silent without one, another
	// process takes it over.
	Beat   = 10 * time.Second
	Silent = 30 * time.Second

	// Lease is the time after which another process may take over the rebuild of a tree, or the
	// recovery of a database.
	Lease = time.Minute

	// Run is the time limit of one background call of an intent's function. Turn is how long others
	// wait for a process that died holding a turn.
	Run  = 10 * time.Second
	Turn = time.Minute

	// Handlers is the time after a change during which failing handlers are called again.
	Handlers = 24 * time.Hour
)

// Expiring records, and clocks.
const (
	// Ended is how long an expired record stays stored. It exceeds clock differences, so a record
	// created again under its id has a greater rev.
	Ended = time.Hour

	// Renewed is the time before its expiry when a record must not be changed for its entries to
	// get a later expiry after the commit.
	Renewed = 2 * time.Minute

	// Ahead is added to the clock for the rev assumed for a damaged or lost record: a rev starts as
	// the milliseconds of a clock, and each change adds one.
	Ahead = 24 * time.Hour
)
