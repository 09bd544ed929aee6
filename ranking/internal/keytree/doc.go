// Package keytree keeps members in the order of their scores, in a store whose
// every operation concerns one key: a tree whose node positions are key names.
//
// Each member has a position in the order: the bits of its score, in some trees those
// of what decides between equal scores, then those of a hash of its id. The name of a
// node is the beginning of the bits of everything below it. So the way to a member is
// known before anything is read, and the shape of the tree depends on what it holds and
// not on the order in which that came. A node is a leaf, with entries, or a router, with
// the counts of its four children; a full leaf becomes a router for good.
//
// The tree is an index. What is true of a member is in its record (see Truth), and
// a change happens at one moment, when that record is written. The new entry is
// added before that moment, pending. After it the entry counts and the old one goes,
// by a rule (leaf.tidied) that any process may apply at any later time.
//
// # Invariants
//
//   - I1: after a crash anywhere, a member that is in has its entry in the one
//     leaf where it belongs.
//   - I2: entries stand in order in the leaf whose name their bits begin with,
//     and each member has one entry that its record confirms.
//   - I3: nodes go from leaf to splitting to router and never back; a splitting
//     node does not change, and none is deleted.
//   - I4: versions of records and sequence numbers of nodes only grow.
//   - I5: so do those of slots; after Refresh, with no writers, a slot's count is
//     that of the node below it, and in a dense tree so is its count of scores.
//   - I6: a slot that is closed has nothing below it, and a router is closed only
//     if all its slots are.
//   - I7: after a finished insert no leaf above the greatest depth holds more
//     entries than the limit, unless it is being split.
//   - I8: no key is longer than 250 bytes, no value than 64 KiB.
//   - I9: while no committed change waits to be tidied, every leaf counts exactly the
//     members whose records say so, whatever lost, dead or late tries have left.
package keytree
