// Package kv defines the contract of a key-value store.
//
// A backend implements [Store]: one method that carries out a batch of single-key operations in one
// round trip, called a trip. [PowersOf] returns the optional abilities of a store.
//
// Wrappers add features: [Count] adds up the cost of a request, [Trace] shows each trip to a hook,
// [Prefix] gives a tenant its own keys, and [Retry] repeats failed operations where that is safe.
//
// Caveats. A store promises atomicity for one key at a time. An operation may end as [ErrUnclear]:
// nobody knows whether it was or will be carried out. The comment there says how to proceed.
package kv
