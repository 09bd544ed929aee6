// Package kvtest holds every store to the contract of kvmodel, and is the
// hostile world that protocols are proved in.
//
//   - [Run] is the suite that every store passes: named cases, each with the
//     rule it checks.
//   - [Simulate] runs clients on a store that lies in every allowed way: one
//     step at a time, in an order that a seed decides, with time-outs, crashes
//     and losses. The same seed gives the same run.
//   - [Faulty] makes one chosen operation of a store fail.
//   - [Metamorphic] carries out the same random operations on several stores
//     and wants the same answers; [Linearizable] lets many clients work at once
//     and wants a history that one after another could have made.
//   - [Explore] goes through every order of a few operations of a few clients.
package kvtest
