// Package timeline holds the index classes that answer "what is newest?", at a cost
// that does not grow with the size of the site and in space that does not grow at
// all.
//
//   - [Ring] is a timeline of records, newest first. [Rings] is one for each value of
//     a field, such as the author.
//   - [WithArchive] goes on where a ring ends.
//   - [Events] keeps values in the ring itself: who visited my page, my home feed, my
//     notifications.
//
// A ring is a counter and a row of keys that are used in turn. To add something, a
// process takes a number from the counter and appends an entry with that number to
// the key it belongs to. Nothing is locked or swapped, and the key that is used next
// time around is the one with the oldest entries.
//
// docs/timeline.md explains why nothing is lost on the way, and
// docs/internals/timelines.md what P1, R2 and the other letters in comments stand for.
package timeline
