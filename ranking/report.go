package ranking

// Report is the result of Verify.
type Report struct {
	Members int // records in their right place
	Stale   int // unneeded entries
	Pending int // entries of running or failed changes
	Drift   int // total error of counts
	Lost    int // nodes lost by the store

	Leaves, Routers, Depth int
	Way                    int // nodes on the paths to all entries
	Bytes                  int // size of all nodes

	Missing []string // given ids that should be on the board and are not
	Damaged []string // ids with unreadable member records
	Wrong   []string // a sentence for each broken invariant
}

// Stats is a process's statistics about its boards.
type Stats struct {
	Routers int // nodes remembered
	Bytes   int // of memory they take, about
	Lost    int // how often this process found a node lost
}
