package examples

import "time"

// Snapshot is an earlier state of a document. It is large, so each has a key of its
// own in a ring of five.
type Snapshot struct {
	_        struct{} `kv:"events,by=Document,keep=5,layout=ring"`
	Document string
	Saved    time.Time
	Text     string
}
