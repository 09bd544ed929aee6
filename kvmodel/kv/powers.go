package kv

import (
	"context"
	"io"
	"time"
)

// Powers is what a store can do beyond the contract. All of it is optional:
// code that uses a power also has a way without.
type Powers struct {
	// Unless: Append honours Op.Unless, testing and appending at once.
	Unless bool

	// Ordered: the ops of one Do take effect in their order, and if it fails
	// in the middle, what took effect is a beginning of them.
	Ordered bool

	// Inside: this is the store of a transaction, whose ops cost no trip.
	Inside bool

	// Near: a Get with Op.Near may be answered by what this process has read before;
	// see [Near].
	Near bool

	// Changes, if not nil, names the keys that this process has read and others have changed.
	Changes Changes

	// Alone: from when it was opened until it is closed, one process holds the store
	// and no other can use it. What a process left there that held it before, no one
	// is at work on any more.
	Alone bool

	// Local: the store is in this process, so a trip costs nothing, and nothing is done to
	// save one.
	Local bool

	// ReadOnly, if not nil, is the error of every write.
	ReadOnly error

	// Atomic, if not nil, runs f with a store whose ops take effect together
	// when f returns nil and not at all when it returns an error, which Atomic
	// then returns as it is. No other op comes between them. The store
	// is f's own: f must not keep it, and must not use the outer one. What f
	// has written it also reads. If Atomic itself cannot commit, nothing was
	// carried out, and the error is ErrUnavailable. If ctx ends or the store
	// fails while it commits, the error is ErrUnclear, for all of f's writes.
	// Atomic may run f several times: the last run is the one that counts.
	// A DB uses it on a store that has Walk, too.
	Atomic func(ctx context.Context, f func(Store) error) error

	// Keys, if not nil, calls f with the keys that begin with begin, some at a time and
	// in no order, until f returns an error, which Keys then returns as it is. It misses
	// none of an item that stays as it is meanwhile, may name one twice, and may name
	// one whose item is gone. It reads the whole store, so it is for maintenance. If the
	// store cannot be asked, the error is ErrUnavailable.
	Keys func(ctx context.Context, begin string, f func(keys []string) error) error

	// Walk, if not nil, is Keys in the order of the keys' bytes, each once, and from the first
	// key after after on. It reads what it names and no more, so a DB finds the records by
	// their keys, and keeps no list of their ids.
	Walk func(ctx context.Context, begin, after string, f func(keys []string) error) error

	// Patience is how long a call of several trips whose context has no deadline
	// should take at most; see [Patient]. 0: the store waits for no server.
	Patience time.Duration

	// Outages, if not nil, makes hear be called when a server begins to be waited
	// for and when it answers again. hear must be quick, and must not use the store.
	Outages func(hear func(Outage))

	// Disk, if not nil, says what a store in a file of its own is doing.
	Disk func() Disk

	// Backup, if not nil, writes all there is to w, of every tenant, while reads and
	// writes go on.
	Backup func(ctx context.Context, w io.Writer) error

	// Findings, if not nil, looks at how the servers of the store are set up, or the disk
	// that it is on, and says what will hurt one day.
	Findings func(ctx context.Context) []Finding

	// Prefix is what begins every key beneath a store of [Prefix]; "": nothing does.
	Prefix string

	// Losses, if not nil, is what the store knows of servers that have lost
	// their memory.
	Losses Losses

	meter *Meter // of a work of Together that has its trips for itself
}

// Disk is what a store in a file of its own is doing, for a metrics page.
type Disk struct {
	Commits    uint64        // since the store was opened
	Committing time.Duration // how long they took, all together; with it the disk, if the store waits for that
	Lost       uint64        // commits that a crash of the machine had taken before it was opened
	Unmoved    int64         // bytes that are committed, and not yet where they are to stay
	Damaged    uint64        // items that were found damaged or missing when the file was last looked through
	Behind     time.Duration // how far the folder that it is shipped to is behind
	Trouble    error         // what has failed and is tried again: the last commit, or work in the background; nil: nothing
}

// Outage is a time in which a server of a store refuses, or is asked and says
// nothing. It begins with the first refusal, or after a second of silence, and is
// over with the next answer.
type Outage struct {
	Server string // its address
	Since  time.Time
	Why    error // nil if it is over
	Over   bool
}

// Losses is how a store on servers says which have lost their memory, and how it
// learns that the loss is known. Until then the ops on their keys are ErrLost.
type Losses interface {
	// Lost returns an ErrLost for each server that has lost its memory, as far as
	// this process has noticed.
	Lost() []error

	// Accept says, for all processes, that the losses that this process has
	// noticed are known: what those servers do not have is absent from now on. A
	// store that was not asked for anything yet looks first. Accept returns the
	// servers, or how they have changed. It needs an answer of every server.
	Accept(ctx context.Context) ([]string, error)

	// Renew says, for all processes, that the store is meant to be what it is now,
	// though it came back without what it held and this process knows of no loss: those
	// that knew it before, and say ErrLost, take it for theirs. It is an Accept of what
	// only they know, and needs an answer of every server.
	Renew(ctx context.Context) error

	// Edition returns a number that each Accept and Renew raises, from 1 on, and an id that no
	// other edition of any store has. Both are 0 before the first op. What is known
	// of the store in one edition means nothing in another.
	Edition() (number, id uint64)

	// Look looks at the servers now. Otherwise that comes from time to time, and on a
	// new connection.
	Look(ctx context.Context) error

	// GoneBack says that the store has shown an older state of key than it had
	// acknowledged: its server has come back with old data. For all processes that
	// is a loss like any other.
	GoneBack(ctx context.Context, key string) error

	// Watch makes f be called with an ErrLost when servers are found to have lost
	// their memory, and with nil when that was accepted. f must not use the store.
	Watch(f func(servers []string, err error))
}

// Changes is how a store tells a process what has changed since the process read it.
type Changes interface {
	// Tell makes f be called with keys that someone has changed, and with nil if any may
	// have changed. What a Get has read before f is called with its key may be outdated;
	// what it reads after that is not. f must be quick, and must not use the store.
	Tell(f func(keys []string))

	// Current reports whether all changes were told up to a moment ago.
	Current() bool

	// Announce makes f be called with each key that any process writes, a flight after that, and
	// with nil when it may have missed some. It returns false if the store cannot do so. f must
	// be quick, and must not use the store.
	Announce(f func(keys []string)) bool

	// Announcing reports whether all such keys were announced up to a moment ago.
	Announcing() bool
}

// Powerer is a [Store] that can do more than the contract asks, or a wrapper
// around one.
type Powerer interface {
	Powers() Powers
}

// PowersOf returns what s can do beyond the contract: nothing, unless it is a
// [Powerer].
func PowersOf(s Store) Powers {
	if p, ok := s.(Powerer); ok {
		return p.Powers()
	}
	return Powers{}
}

// through returns the powers with Atomic's store wrapped as well, for a
// wrapper to hand on what the store beneath it can do.
func (p Powers) through(wrap func(Store) Store) Powers {
	if atomic := p.Atomic; atomic != nil {
		p.Atomic = func(ctx context.Context, f func(Store) error) error {
			return atomic(ctx, func(s Store) error { return f(wrap(s)) })
		}
	}
	return p
}

// EditionOf returns the Edition of l. A store without Losses is always in its first.
func EditionOf(l Losses) (number, id uint64) {
	if l == nil {
		return 1, 0
	}
	return l.Edition()
}
