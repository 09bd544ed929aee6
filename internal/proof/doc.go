// Package proof holds the tools with which the tests of this module prove its
// stores and protocols. Only tests and bench import it.
//
//   - [Explore] goes through every order of a few operations of a few clients.
//   - [Notices] breaks a promise of the store and wants a sweep to notice.
//   - [EachStumble] leaves each trip of a few operations without an answer, and then the store.
//   - [Sweep] runs the simulator, [Part] chooses from what could be tested, [Rounds] does
//     the same again: each does as much as [Prove], in the environment, says.
//   - [Metamorphic] carries out the same random operations on several stores and wants the
//     same answers.
//
// proof/crash kills processes that write, and proof/servers starts real servers.
// The suite for stores and the simulator are in kvtest, where users find them too.
//
// The tests of this package are proofs themselves. Every backend has to answer as memkv
// does. Linearizable lets many clients work on each at once and wants a history that one
// operation after another could have made. Stores that each break a rule of the contract show that
// both, and every case of the suite, notice what is wrong.
package proof
