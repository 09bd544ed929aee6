package keytree

import (
	"context"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// State is what is true of a member, as its record said when it was read.
type State struct {
	In    bool  // the member is in the ranking
	Score Score // if it is in
	Ver   uint64
	Apart bool // it is not in, but its record is there

	// Value is whatever else the truth has read of the member.
	Value any
}

// confirms reports whether e is the entry of a member in state st.
func (st State) confirms(e entry) bool { return st.In && e.score == st.Score }

// outlived reports whether e, an entry of a member in state st, is stale: the
// record has come as far as e's version and says otherwise, and since versions
// only grow it will never confirm e as it is. Whoever sees this may remove e at
// any later time. An entry with a greater version may be of a change that is
// about to commit.
func (st State) outlived(e entry) bool { return e.ver <= st.Ver && !st.confirms(e) }

// pendingTime is how long a change can be about to make a member of what is none.
const pendingTime = time.Hour

// stuck reports whether e, which the record has not come to, is of a change that
// has been about to commit for so long that it will not: the version of a record
// that begins is the time.
//
// That of a record that is there is not. So an entry that was put in to no avail,
// and that no journal speaks of, stays until the record has changed once more and
// a query meets it, or until Mend.
func (st State) stuck(e entry, now time.Time) bool {
	return !st.In && !st.Apart && e.ver < uint64(now.Add(-pendingTime).UnixMilli())
}

// Truth is where members have their records.
type Truth interface {
	// States returns the states of ids, in their order, in one trip. One that
	// has no record is not in, at version 0.
	States(ctx context.Context, s kv.Store, ids []string) ([]State, error)
}
