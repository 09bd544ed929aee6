// Package index holds the index classes for questions about values, and the sequences and numbers
// that accompany records:
//
//   - Which person has this email address? [Unique] finds the one record that holds a value.
//   - Which pages have this tag? [Lists] has a [List] for each value; with [Counted], also their
//     number.
//   - What is number 12? [Sequence] is the records numbered 1, 2, 3, ... without gaps.
//   - How often was this page read? [Counter] is a number for each record.
//   - How many pages are there? [Total] is that number.
//
// Packages timeline and ranking list the newest and the best.
//
// [NewUnique] and [NewLists] plug an index into a model's records: from then on every change of a
// record updates it, and a crash is repaired. kvgen generates these calls from tags.
//
// docs/lists.md explains how lists work, and docs/internals/write-path.md how indexes stay
// consistent.
package index
