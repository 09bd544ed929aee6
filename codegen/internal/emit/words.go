package emit

import "github.com/ringtree/ringtree/codegen/internal/model"

// emission is the printed form of a word's indexes.
type emission struct {
	typ  func(*model.Index, *imports) string
	make func(*model.Index, *imports) string
	line func(*model.Index) string
	read string // the trips of reading it

	listing bool // it has pages of records

	// entering returns the trips of entries before the commit, and those of the first entry of a
	// list, a timeline or a ranking of one value.
	entering func(*model.Index) (trips, first int)
}

func alike(*model.Index) (trips, first int) { return 1, 1 }

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
