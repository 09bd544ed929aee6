// Package index holds the index classes that answer questions by value, and the
// rows and numbers that stand beside records. Which class to take:
//
//   - Which person has this email address? [Unique] finds the one record that
//     holds a value, and keeps it the only one.
//   - Which pages have this tag? [Lists] has, for each value, a [List] of all
//     the records that hold it. With [Counted], how many there are is kept as a
//     number, too.
//   - What is number 12? [Sequence] is a row of records that are numbered 1, 2,
//     3, ... without a gap.
//   - How often was this page read? [Counter] is a number of each record that
//     changes too often to be in it.
//   - How many pages are there? [Total] is that number.
//
// Packages timeline and ranking list the newest and the best.
//
// [NewUnique] and [NewLists] plug an index into a model's records. From then on
// every change of a record keeps the index in step, and what a crash leaves
// half done is repaired. kvgen writes these calls from a model's tags.
//
// A List is read by the page. A cursor stands for a position in its order, which
// never changes but means nothing.
//
// docs/lists.md explains how lists work, and docs/internals/write-path.md how an index keeps in
// step.
package index
