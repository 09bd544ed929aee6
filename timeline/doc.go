// Package timeline holds the index classes for "what is newest?", in constant space, at a cost that
// does not grow with the site.
//
//   - [Ring] is a timeline of records, newest first; [Rings] is one for each value of a field.
//   - [WithArchive] continues beyond the end of a ring.
//   - [Events] keeps values in the ring itself: footprints, a feed, notifications.
//
// A ring is a counter and a row of keys used in rotation. To add something, a process takes a
// number from the counter and appends an entry with it to the key it belongs to. Nothing is locked
// or swapped, and the key used next always has the oldest entries.
//
// Read ring.go, push.go and reader.go first. A file uses only those after it: archive, since,
// events, layouts, build, fit, window, picture, upkeep, ring, filling, merge, reader, index, push,
// counter, core, mark, lane, segment, cut, entry, shape.
//
// docs/timeline.md explains why nothing is lost; docs/internals/timelines.md defines P1, R2 and the
// other labels.
package timeline
