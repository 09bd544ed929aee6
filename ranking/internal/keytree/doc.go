// Package keytree keeps members in the order of their scores, in a tree whose node positions are
// key names, on a store that changes one key at a time.
//
// A member's position is a bit string: its score, in some trees a tiebreaker, then a hash of its
// id. A node's name is the common prefix of everything below it. So the path to a member is known
// before anything is read, and the tree's shape does not depend on the order of inserts. A node is
// a leaf, with entries, or a router, with the counts of its four children; a full leaf becomes a
// router for good.
//
// The record of a member is the truth (see Truth). A new entry is added pending, before the record
// is written. Afterwards it counts and the old one goes, by a rule (leaf.tidied) that any process
// may apply at any later time.
//
// Read leaf.go first, then edit.go and insert.go.
//
// # Invariants
//
//   - I1: after a crash, a member has its entry in the one leaf where it belongs.
//   - I2: entries are in order in the leaf whose name is a prefix of their bits, and each member
//     has one entry that its record confirms.
//   - I3: nodes go from leaf to splitting to router and never back; a splitting node does not
//     change, and none is deleted.
//   - I4: versions of records and sequence numbers of nodes only grow.
//   - I5: sequence numbers of slots only grow; after Refresh, with no writers, a slot has the
//     counts of the node below it.
//   - I6: a closed slot has nothing below it, and a router is closed only if all its slots are.
//   - I7: after an insert no leaf above the greatest depth exceeds the limit, unless it is being
//     split.
//   - I8: no key is longer than 250 bytes, no value than 64 KiB.
//   - I9: while no committed change is still untidied, every leaf counts exactly the members
//     confirmed by their records, whatever lost, dead or late tries left behind.
package keytree
