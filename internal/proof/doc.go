// Package proof holds the tools with which the tests of this module prove its
// stores and protocols. Only tests and bench import it.
//
//   - [Explore] goes through every order of a few operations of a few clients.
//   - [Mistakes] breaks the code on purpose and wants the tests to notice.
//   - [Metamorphic] carries out the same random operations on several stores
//     and wants the same answers.
//   - [Linearizable] lets many clients work at once and wants a history that
//     one operation after another could have made.
//
// proof/crash kills processes that write, and proof/servers starts real servers.
// The suite for stores and the simulator are in kvtest, where users find them too.
// That they notice what is wrong is proved here: the tests of this package break
// each rule of the contract with a store of its own.
package proof
