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

	// entering returns the trips that entries take before the record commits, and those
	// of the first entry of a list, a timeline or a ranking of one value.
	entering func(*model.Index) (trips, first int)
}

// alike is the entering of an index whose first entry takes the trips of any other.
func alike(*model.Index) (trips, first int) { return 1, 1 }

// emissions say, by the word that asks for an index, how the index is written.
var emissions = map[string]emission{
	"unique": {
		typ: uniqueType, make: makeUnique, line: uniqueLine,
		read:     "Find and FindMulti 2, or 1 with a remembered value",
		entering: alike,
	},
	"list": {
		typ: listsType, make: makeLists, line: listsLine, listing: true,
		read:     "Page 2, or 3 when cold; Size and Contains 1; Count, IDs and All in parts",
		entering: func(*model.Index) (trips, first int) { return 1, 2 },
	},
	"timeline": {
		typ: timelineType, make: makeTimeline, line: timelineLine, listing: true,
		read:     "Page 2, or 3 the first time; Head and Since 1",
		entering: timelineEntering,
	},
	"ranking": {
		typ: rankingType, make: makeRanking, line: rankingLine, listing: true,
		read:     "Page, Table, At and Between 2, more when cold; Around 3; Rank, Percentile and Standing 2; Len and Count 1",
		entering: rankingEntering,
	},
}
