// Package ranking holds the index classes that keep records in the order of a score: the most
// viewed, the cheapest, the next due, a whole archive by date.
//
// A [Board] returns ranks, the records around one or at a given rank, counts between two scores,
// and pages from either end. A [Boards] is one such board for each value of a field, a [Span] a
// part of a board. A board of [Text] is in the order of a language.
//
// A query costs two or three trips whatever the number of members: see docs/ranking.md. A board
// checks its results against the records. Up to 8,192 members, counts and ranks are right a moment
// after the last change. In a larger tree they are off by about one percent, and after Refresh they
// are exact.
package ranking
