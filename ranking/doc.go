// Package ranking holds the index classes that keep records in the order of a
// score: the most viewed, the cheapest, the next that are due, a whole archive by
// date.
//
// A [Board] says which rank a record has among any number of them, which records
// are around it, which are at a given rank, how many lie between two scores, and
// pages through them from either end. A [Boards] is one such board for each value
// of a field, or for each day. A [Span] is a part of a board. A board of [Text] goes from
// A to Z, in the order of a language.
//
// Underneath is a tree of small nodes whose positions are key names, so a question
// costs two or three trips whatever the number of members: see docs/ranking.md.
// What a board shows is checked against the records. Counts, and so ranks, are as
// exact as the last reports of the nodes. With up to 8,192 members they are right a
// moment after the last change, in a larger tree they are off by about one percent,
// and after Refresh they are exact.
package ranking
