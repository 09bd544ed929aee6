package kv

import (
	"context"
	"io"
	"time"
)

// Powers lists the abilities of a store beyond the contract. Code that uses one also works without
// it.
type Powers struct {
	// Unless: Append supports Op.Unless, testing and appending atomically.
	Unless bool

	// Ordered: the ops of one Do take effect in order, and may be chains; see Op.Chain. If Do fails
	// midway, the first ones took effect.
	Ordered bool

	// Inside: the store belongs to a transaction, so its ops cost no trip.
	Inside bool

	// Near: a Get with Op.Near may be answered from this process's cache; see [Near].
	Near bool

	// Changes, if not nil, names the keys that this process has read and others have changed.
	Changes Changes

	// Alone: one process holds the store from open to close, so nobody is still working on anything
	// an earlier process left behind.
	Alone bool

	// Local: the store is in this process, so trips cost nothing.
	Local bool

	// ReadOnly, if not nil, is the error of every write.
	ReadOnly error

	// Atomic, if not nil, runs f with a store whose ops take effect together when f returns nil,
	// and not at all when it returns an error, which Atomic then returns unchanged. No other op
	// comes between them. f reads its own writes, must not keep its store, and must not use the
	// outer one. If Atomic itself cannot commit, nothing was carried out and the error is
	// ErrUnavailable. If ctx ends or the store fails during the commit, the error is ErrUnclear for
	// all writes of f. Atomic may run f several times; only the last run counts. A DB uses Atomic
	// only on a store that also has Walk.
	Atomic func(ctx context.Context, f func(Store) error) error

	// Keys, if not nil, calls f with the keys that begin with begin, in batches and in no order,
	// until f returns an error, which Keys returns unchanged. It names every key whose item exists
	// unchanged throughout, and may name a key twice, or one whose item is gone. It reads the whole
	// store. If the store cannot be asked, the error is ErrUnavailable.
	Keys func(ctx context.Context, begin string, f func(keys []string) error) error

	// Walk, if not nil, is Keys in byte order, each key once, beginning after after. It reads only
	// the keys it names, so a DB stores no list of ids.
	Walk func(ctx context.Context, begin, after string, f func(keys []string) error) error

	// Patience is the time limit of a call of several trips whose context has no deadline; see
	// [Patient]. 0: the store waits for no server.
	Patience time.Duration

	// Outages, if not nil, registers hear for the beginning and end of each outage. hear must be
	// quick and must not use the store.
	Outages func(hear func(Outage))

	// Disk, if not nil, returns the state of a store in its own file.
	Disk func() Disk

	// Backup, if not nil, writes the whole store to w, all tenants included.
	Backup func(ctx context.Context, w io.Writer) error

	// Findings, if not nil, checks the configuration of the store for risks.
	Findings func(ctx context.Context) []Finding

	// Prefix is the prefix of every key below a store of [Prefix]; "": none.
	Prefix string

	// Losses, if not nil, reports servers that have lost their memory.
	Losses Losses

	meter *Meter // of a work of Together that makes its own trips
}

// Disk is the state of a store in its own file, for a metrics page.
type Disk struct {
	Commits    uint64        // since the store was opened
	Committing time.Duration // total time of the commits, including the disk if the store waits for it
	Lost       uint64        // commits lost in a crash of the machine before the store was opened
	Unmoved    int64         // bytes committed but not yet moved to their final place
	Damaged    uint64        // items found damaged or missing when the file was last checked
	Behind     time.Duration // lag of the folder the store is shipped to
	Trouble    error         // the last failure still being retried, of a commit or in the background; nil: none
}

// Outage is a time during which a server refuses requests or does not answer. It begins with the
// first refusal, or after a second of silence, and ends with the next answer.
type Outage struct {
	Server string // its address
	Since  time.Time
	Why    error // nil at the end of the outage
	Over   bool
}

// Losses is how a store on servers reports lost memory. Ops on the affected keys return ErrLost
// until the loss is accepted.
type Losses interface {
	// Lost returns an ErrLost for each server that lost its memory, as far as this process knows.
	Lost() []error

	// Accept accepts, for all processes, the losses this process has noticed: missing items on
	// those servers then count as absent. A store that was never used checks its servers first.
	// Accept returns the servers, or how they have changed. Every server must answer.
	Accept(ctx context.Context) ([]string, error)

	// Renew declares, for all processes, that the store's contents are intended, although it came
	// back without its data and this process knows of no loss. Processes that return ErrLost then
	// adopt it. Every server must answer.
	Renew(ctx context.Context) error

	// Edition returns a number, from 1, that each Accept and Renew raises, and an id that no other
	// edition of any store has. Both are 0 before the first op. Knowledge about one edition is void
	// in another.
	Edition() (number, id uint64)

	// Look checks the servers now. Otherwise they are checked periodically and on new connections.
	Look(ctx context.Context) error

	// GoneBack reports that the store showed an older state of key than it had acknowledged. All
	// processes then treat that as a loss.
	GoneBack(ctx context.Context, key string) error

	// Watch registers f, which is called with an ErrLost when servers are found to have lost their
	// memory, and with nil when that is accepted. f must not use the store.
	Watch(f func(servers []string, err error))
}

// Changes tells a process about changes to keys since it read them. The registered functions must
// be quick and must not use the store.
type Changes interface {
	// Tell registers f, which is called with keys that someone has changed, or with nil if any key
	// may have changed. A Get before the call may be outdated; one after it is not.
	Tell(f func(keys []string))

	// Current reports whether, up to a moment ago, no change was missed.
	Current() bool

	// Announce registers f, which is called with each key that any process writes, a trip's time
	// later, or with nil when some may have been missed. It returns false if the store cannot do
	// so.
	Announce(f func(keys []string)) bool

	// Announcing reports whether, up to a moment ago, no such key was missed.
	Announcing() bool
}

// Powerer is a [Store] with abilities beyond the contract, or a wrapper around one.
type Powerer interface {
	Powers() Powers
}

// PowersOf returns the powers of s. They are zero unless s is a [Powerer].
func PowersOf(s Store) Powers {
	if p, ok := s.(Powerer); ok {
		return p.Powers()
	}
	return Powers{}
}

// EditionOf returns the Edition of l. A store without Losses stays in its first.
func EditionOf(l Losses) (number, id uint64) {
	if l == nil {
		return 1, 0
	}
	return l.Edition()
}
