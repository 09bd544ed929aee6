package examples

// Bulletin is a numbered notice. The newest are in a ring. Older ones can still be paged through,
// by their numbers.
type Bulletin struct {
	ID   int64 `kv:"id,seq; timeline,ring=4"`
	Text string
}
