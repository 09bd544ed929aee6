package ranking

import "github.com/ringtree/ringtree/ranking/internal/keytree"

// Report is what Verify found on a board.
type Report struct {
	Members int // records that are where they belong
	Stale   int // entries that are no longer needed
	Pending int // entries of changes that did not happen, or not yet
	Drift   int // by how much counts are off, in total
	Lost    int // nodes that the store has lost

	Leaves, Routers, Depth int
	Way                    int // nodes on the way to each entry, in total
	Bytes                  int // of all nodes

	Missing []string // the texts of the given ids that should be there and are not
	Damaged []string // the texts of the ids whose own records on the board cannot be read
	Wrong   []string // a sentence for each broken invariant
}

func reportOf(r keytree.Report) Report {
	return Report{
		Members: r.Members, Stale: r.Stale, Pending: r.Pending, Drift: r.Drift, Lost: r.Lost,
		Leaves: r.Leaves, Routers: r.Routers, Depth: r.Depth, Way: r.Way, Bytes: r.Bytes,
		Missing: r.Missing, Damaged: r.Damaged, Wrong: r.Wrong,
	}
}

// Stats is what a process knows of its boards.
type Stats struct {
	Routers int // nodes remembered
	Bytes   int // of memory they take, about
	Lost    int // how often this process has found that the store lost a node
}
