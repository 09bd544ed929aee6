// Package ranking holds the index classes that keep records in the order of a
// score: the most viewed, the cheapest, the next that are due, the whole archive
// by its dates.
//
// A [Board] answers what place a record has among any number of them, which ones
// stand around it, which stand at a place, how many lie between two scores, and
// gives pages of them from either end. A [Boards] is one such board for each
// value of a field, or for each day. A [Span] is a part of a board. A [Tree] is a
// board without records.
//
// Underneath is a tree of small pages whose positions are key names, so each
// question costs two or three trips whatever the number of members: see
// docs/ranking.md. Pages and places are checked against the records. Counts, and
// so ranks, are as exact as the last reports of the pages: right a moment after
// the last change where there are up to 8,192 members, about one percent off in a
// larger tree, and exact after Refresh.
package ranking
