// Package timeline holds the index classes that answer "what is newest": at a
// cost that does not grow with the size of the site, in space that does not
// grow at all.
//
//   - [Ring] is a timeline of records, newest first; [Rings] are one for each
//     value of a field, such as the author.
//   - [Events] keeps values in the ring itself: who visited my page, my home
//     feed, my notifications.
//
// A ring is a counter and a row of keys that are used in turn. To add
// something, a number is taken from the counter and an entry with it is
// appended to the key the number belongs to. Nothing is locked, nothing is
// swapped, and the key that is used next time around is the one with the oldest
// entries. docs/timeline.md tells why nothing is lost on the way, and
// docs/keys-timeline.md what P1, R2 and the other letters in comments stand for.
package timeline
