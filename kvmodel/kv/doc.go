// Package kv defines the contract of a key-value store.
//
// A backend implements [Store]: one method that carries out a batch of single-key operations in one
// round trip, called a trip. Nothing in this project requires more. [PowersOf] returns the optional
// abilities of a store.
//
// Small wrappers add features that backends need not implement: [Count] adds up the cost of a
// request, [Trace] shows each trip to a hook, [Prefix] gives a tenant its own keys, and [Retry]
// repeats failed operations where that is safe.
//
// Caveats. There are no transactions over several keys: a store promises atomicity for one key at a
// time. An operation may end as [ErrUnclear]: nobody knows whether it was or will be carried out.
// The comment there says how a caller can proceed.
package kv
