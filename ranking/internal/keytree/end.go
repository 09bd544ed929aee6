package keytree

import (
	"slices"
	"time"
)

// End is when a record ends by itself, in seconds since 1970; 0: never.
type End uint32

// Late is how much later than its record a member ends at most.
const Late = 2 * time.Second

// EndAt returns the End of a record that expires at t, a zero time for never. It is a
// second late, so that clocks may differ by that much before a member is left out.
func EndAt(t time.Time) End {
	if t.IsZero() {
		return 0
	}
	return End(t.Add(Late - 1).Unix())
}

// EndsBy reports whether the member ends by itself until t.
func (st State) EndsBy(t time.Time) bool { return st.End.by(End(t.Unix())) }

// endedFor is how long, in seconds, an entry that has ended stays.
const endedFor = 60

// by reports whether e has come by now.
func (e End) by(now End) bool { return e != 0 && e <= now }

// earlier returns the earlier of two ends.
func earlier(a, b End) End {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// clock returns the time in seconds since 1970.
func (p *nodes) clock() End { return End(p.now().Unix()) }

// withoutEnded returns l without the entries that ended a while ago, or l itself if
// there are none. One that is pending stays: the end may be another one than that of
// the record, which then has no other entry.
func (l *leaf) withoutEnded(now End) *leaf {
	gone := func(e entry) bool { return !e.pending && e.end.by(now-endedFor) }
	if !slices.ContainsFunc(l.entries, gone) {
		return l
	}
	next := *l
	next.entries = slices.DeleteFunc(slices.Clone(l.entries), gone)
	return &next
}

// mostPast bounds how many nodes one query looks into because something in them has
// ended.
const mostPast = 64

// under returns what there is in the node called name, whose slot is s. Where something
// has ended since it was counted, it looks into the node. It returns false if that was
// not read.
func (r *reading) under(look look, name string, s slot) (t tally, ok bool) {
	now := r.clock()
	if !s.ends.by(now) || len(r.past) >= mostPast && !r.past[name] {
		return s.tally, true
	}
	if r.past == nil {
		r.past = make(map[string]bool)
	}
	r.past[name] = true
	nd, ok := look(name)
	switch {
	case !ok:
		return s.tally, false
	case nd.leaf != nil:
		return r.live(nd.leaf, now), true
	case nd.router != nil:
		return r.underAll(look, name, nd.router)
	}
	return s.tally, true
}

// underAll returns what there is below the router called name.
func (r *reading) underAll(look look, name string, above *router) (t tally, ok bool) {
	return r.underSome(look, name, above, func(int) bool { return true })
}

// underSome returns what there is in those nodes below the router called name that are
// wanted.
func (r *reading) underSome(look look, name string, above *router, wanted func(child int) bool) (t tally, ok bool) {
	var parts [4]tally
	ok = true
	for i, s := range above.slots {
		if wanted(i) {
			var known bool
			parts[i], known = r.under(look, childName(name, i), s)
			ok = ok && known
		}
	}
	return r.sum(name, parts), ok
}

// payPast makes the counts right, in the background, where r has found that members
// have ended, so that the next query need not look.
func (t *Tree) payPast(r *reading) {
	if len(r.past) == 0 || t.Later == nil {
		return
	}
	due := new(Due)
	for name := range r.past {
		due.to(r.nodes).doubt(name)
	}
	t.Later(due.Report)
}

// saysSame reports whether s and other say the same of what is below.
func (s slot) saysSame(other slot) bool {
	return s.tally == other.tally && s.closed == other.closed && s.ends == other.ends
}
