// Package proof has the tools for testing this module's stores and protocols. Only tests and bench
// import it.
//
//   - [Explore] runs every order of a few operations of a few clients.
//   - [Reach] visits every state of a model of a protocol.
//   - [Notices] breaks a promise of the store and requires a sweep to notice.
//   - [EachStumble] leaves each trip of a few operations unanswered, and then the store
//     unreachable.
//   - [Sweep] runs the simulator, [Part] chooses from a set of tests, [Rounds] repeats a test:
//     [Prove], in the environment, decides how much each does.
//   - [Must], [Equal], [NoDiff] and others check what a test got, and [AtOnce] runs tests that wait.
//   - [Metamorphic] requires the same answers to the same random operations from several stores.
//
// proof/crash kills writing processes, and proof/servers starts real servers. The suite for stores
// and the simulator are in kvtest, for users.
//
// The tests here try every backend against memkv, and for linearizability. Stores that each break a
// rule of the contract show that these tests, and every case of the suite, detect the fault.
package proof
