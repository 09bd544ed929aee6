package examples

// Notice tells somebody what has happened to them. All of theirs are one value,
// since it is read with every page, for the number at the bell.
type Notice struct {
	_    struct{} `kv:"events,by=To,once=About,keep=100,layout=packed"`
	To   string
	Text string
	// What it is about: of two likes of one story, the last is enough.
	About string
}
