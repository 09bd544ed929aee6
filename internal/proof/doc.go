// Package proof holds the tools with which the tests of this module prove its
// stores and protocols. Only tests and bench import it.
//
//   - [Explore] goes through every order of a few operations of a few clients.
//   - [Mistakes] breaks the code on purpose and wants the tests to notice.
//   - [Metamorphic] carries out the same random operations on several stores
//     and wants the same answers.
//   - [Linearizable] lets many clients work at once and wants a history that
//     one operation after another could have made.
//   - [Complaint] is for the tests of tests: it returns what a test complains
//     about.
//
// The stores in proof/broken each break a rule of the contract, proof/crash
// kills processes that write, and proof/servers starts real servers. The suite
// for stores and the simulator are in kvtest, where users find them too.
package proof
