package examples

// Bulletin is a notice with a number. The newest are in a ring. Older ones can
// still be paged through, since their numbers are known.
type Bulletin struct {
	ID   int64 `kv:"id,seq; timeline,ring=4"`
	Text string
}
