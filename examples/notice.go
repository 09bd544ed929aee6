package examples

// Notice is a notification for a user. All notices of a user are one value, since every page reads
// them for the number at the bell.
type Notice struct {
	_    struct{} `kv:"events,by=To,once=About,keep=100,layout=packed"`
	To   string
	Text string
	// The subject: of two likes of one story, the last one is enough.
	About string
}
