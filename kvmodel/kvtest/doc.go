// Package kvtest tests stores against the contract of package kv, and simulates faults for the
// protocols that run on them.
//
//   - [Run] is the suite that every store passes.
//   - [Simulate] runs clients on a store that fails in every way the contract allows, one step at a
//     time, in an order determined by a seed. The same seed gives the same run.
//   - [Faulty] makes one chosen operation of a store fail.
//   - [Clock] is the clock of a process that may be wrong.
//   - [Slow] adds latency, so that a test can count the trips made in sequence.
package kvtest
