// Package kv is the contract that every key-value store keeps.
//
// A backend implements [Store]: one method that carries out a batch of
// single-key operations in one round trip, called a trip. Nothing in this
// project requires more of a store than that. [PowersOf] returns what a store
// can do beyond it.
//
// Small wrappers add what no backend needs to know: [Count] adds up what
// a request costs, [Trace] shows each trip to a hook, [Prefix] gives a tenant
// keys of its own, [Retry] repeats what may be repeated.
//
// Caveats. There are no transactions over several keys: a store promises
// atomicity for one key at a time. An operation may end as [ErrUnclear], and
// then no one knows whether it was or will be carried out; the comment there
// says what a caller may do.
package kv
