// Package index holds the index classes that answer questions by value, and the sequences and
// numbers that accompany records. Which class to choose:
//
//   - Which person has this email address? [Unique] finds the one record that holds a value, and
//     keeps it unique.
//   - Which pages have this tag? [Lists] has, for each value, a [List] of all records that hold it.
//     With [Counted], their number is kept as well.
//   - What is number 12? [Sequence] is a sequence of records numbered 1, 2, 3, ... without gaps.
//   - How often was this page read? [Counter] is a number for each record that changes too often to
//     be part of it.
//   - How many pages are there? [Total] is that number.
//
// Packages timeline and ranking list the newest and the best.
//
// [NewUnique] and [NewLists] plug an index into a model's records. From then on every change of a
// record updates the index, and changes interrupted by a crash are repaired. kvgen generates these
// calls from a model's tags.
//
// A List is read in pages. A cursor is a position in its order, which is arbitrary but never
// changes.
//
// docs/lists.md explains how lists work, and docs/internals/write-path.md how indexes stay
// consistent.
package index
