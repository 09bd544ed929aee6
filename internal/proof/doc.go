// Package proof holds the tools for testing this module's stores and protocols. Only tests and
// bench import it.
//
//   - [Explore] runs every order of a few operations of a few clients.
//   - [Notices] breaks a promise of the store and requires a sweep to notice.
//   - [EachStumble] leaves each trip of a few operations unanswered, and then the store unreachable.
//   - [Sweep] runs the simulator, [Part] chooses from a set of tests, [Rounds] repeats a test:
//     [Prove], in the environment, decides how much each does.
//   - [Metamorphic] carries out the same random operations on several stores and requires the same
//     answers.
//
// proof/crash kills writing processes, and proof/servers starts real servers. The suite for stores
// and the simulator are in kvtest, where users can find them.
//
// The tests of this package are proofs themselves. Every backend must answer like memkv.
// Linearizable has many clients work on each concurrently, and requires a history that sequential
// operations could have produced. Stores that each break a rule of the contract show that both, and
// every case of the suite, detect the fault.
package proof
