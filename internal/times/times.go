// Package times holds the times of the protocols between processes: how long a step may take,
// how long what was read may be used, how long what is deleted stays marked. What one process may
// still do bounds what another may conclude, so they depend on each other; the test states how.
// A time that concerns one process alone stands beside its use.
package times

import "time"

// A change and what it sends.
const (
	// Change is the time after its first read (A0) in which a change may commit. An operation
	// of a ranking's tree that takes longer writes nothing more.
	Change = 10 * time.Second

	// Travel is the time a request takes at most whose sender waits for the answer.
	Travel = 5 * time.Second

	// Settled is the age at which a change has committed or never will, by one clock.
	Settled = Change + Travel

	// Overdue is the same by clocks that differ: an entry of that age without its record is a leftover.
	Overdue = time.Minute

	// Late is the longest delay of a request whose sender has given up or died.
	Late = time.Hour

	// Tombstone is the time a deleted record stays marked as deleted.
	Tombstone = 24 * time.Hour

	// Forget is the age at which a tombstone no longer names the places of its record.
	Forget = Late + 5*time.Minute
)

// What a process has read and uses without asking again.
const (
	// Definition is the age up to which the stored definition of a ranking's tree is used.
	Definition = 5 * time.Second

	// Head is the age up to which these are used: the indexes of a model that are built, the
	// head of a list.
	Head = 15 * time.Second

	// Leaves is the time for which others read an index that was taken out.
	Leaves = Head + Travel
)

// The life of a process, and its death.
const (
	Tick = time.Second // between two ticks of a journal

	// Gap is the time without a tick after which a process takes itself for one that others
	// may have taken for dead.
	Gap = 20 * time.Second

	// Look is the time between two looks at the journals of others, and at the servers.
	Look = 15 * time.Second

	// Dead is the time without a tick after which a process counts as dead: two looks, the
	// second of which may come a little early.
	Dead = 2*Look - time.Second

	// Repair is the time for which a journal stays after its second repair, in which other
	// processes make theirs.
	Repair = 2 * time.Minute

	// Cascade is the time after its last try at which a cascade that no journal names counts
	// as ended by another process.
	Cascade = 2 * time.Minute

	// Beat is the time between two signs of life of a build, and Silent the time without one
	// after which another process takes it over.
	Beat   = 10 * time.Second
	Silent = 30 * time.Second

	// Lease is the time after which another process may take over the rebuild of a tree, or the
	// recovery of a database.
	Lease = time.Minute

	// Run is the time of one call of an intent's function in the background, and Turn that for
	// which others wait for a process that died at its turn.
	Run  = 10 * time.Second
	Turn = time.Minute

	// Handlers is the time after a change in which handlers that fail are called again.
	Handlers = 24 * time.Hour
)

// Records that expire, and clocks.
const (
	// Ended is the time for which a record that has expired stays stored. It exceeds what clocks
	// differ by, so a record made again under its id has a greater rev.
	Ended = time.Hour

	// Renewed is the time before its end in which a record must not be changed for its entries
	// to get a later end after the commit.
	Renewed = 2 * time.Minute

	// Ahead is the time above the clock that the rev of a damaged or lost record is taken for: a
	// rev begins with the milliseconds of a clock, and each change adds one.
	Ahead = 24 * time.Hour
)
