package kv

import (
	"context"
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

	// Alone: from when it was opened until it is closed, one process holds the store
	// and no other can use it. What a process left there that held it before, no one
	// is at work on any more.
	Alone bool

	// Atomic, if not nil, runs f with a store whose ops take effect together
	// when f returns nil and not at all when it returns an error, which Atomic
	// then returns as it is. No other op comes between them. The store
	// is f's own: f must not keep it, and must not use the outer one. What f
	// has written it also reads. If Atomic itself cannot commit, nothing was
	// carried out, and the error is ErrUnavailable. If ctx ends or the store
	// fails while it commits, the error is ErrUnclear, for all of f's writes.
	Atomic func(ctx context.Context, f func(Store) error) error

	// Patience is how long a call of several trips whose context has no deadline
	// should take at most; see [Patient]. 0: the store waits for no server.
	Patience time.Duration

	// Outages, if not nil, makes hear be called when a server begins to be waited
	// for and when it answers again. hear must be quick, and must not use the store.
	Outages func(hear func(Outage))
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
