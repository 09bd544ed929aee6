package emit

import "github.com/ringtree/ringtree/codegen/internal/model"

// An emission is how the indexes of a word are written. It prints and decides
// nothing.
type emission struct {
	typ  func(*model.Index, *imports) string // the type of its handle
	make func(*model.Index, *imports) string // the expression that makes it from r, the records
	line func(*model.Index) string           // what it holds, for the comment
	read string                              // the trips of reading it, for the plan

	listing bool // it has pages of records

	// deep reports whether an index takes two trips before the record commits
	// instead of one; nil: none does.
	deep func(*model.Index) bool
}

// emissions say, by the word that asks for an index, how the index is written.
var emissions = map[string]emission{
	"unique": {
		typ: uniqueType, make: makeUnique, line: uniqueLine,
		read: "Find and FindMulti 2, or 1 with a remembered value",
	},
	"list": {
		typ: listsType, make: makeLists, line: listsLine, listing: true,
		read: "Page 2, or 3 when cold; Size and Contains 1; Count, IDs and All in parts",
	},
	"timeline": {
		typ: timelineType, make: makeTimeline, line: timelineLine, listing: true,
		read: "Page 2, or 3 the first time; Head and Since 1",
	},
	"ranking": {
		typ: rankingType, make: makeRanking, line: rankingLine, listing: true,
		read: "Page, Table, At and Between 2, more when cold; Around 3; Rank, Percentile and Standing 2; Len and Count 1",
		deep: func(x *model.Index) bool { return len(x.Followed()) == 0 },
	},
}
