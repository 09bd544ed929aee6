package models

// Story is a record of about a KiB with a timeline that all share.
type Story struct {
	ID   string `kv:"id"`
	Rest string
	Body string `kv:"timeline"`
}

// Foot is a footprint: who looked at whose page.
type Foot struct {
	_     struct{} `kv:"events,by=Owner,once=Guest,keep=30"`
	Owner string   `msgpack:"o"`
	Guest string   `msgpack:"g"`
}

// Note is a record of about a KiB in the timeline of its author.
type Note struct {
	ID     string `kv:"id"`
	Author string `kv:"timeline,by=Author,ring=100"`
	Rest   string
}

// FeedItem is a note in a reader's home feed.
type FeedItem struct {
	_      struct{} `kv:"events,by=Reader,once=Note,keep=100"`
	Reader string   `msgpack:"r"`
	Note   string   `msgpack:"n"`
}

// RingFoot is a footprint in a ring of numbered keys.
type RingFoot struct {
	_     struct{} `kv:"events,by=Owner,keep=30,layout=ring"`
	Owner string   `msgpack:"o"`
	Guest string   `msgpack:"g"`
}

// PackedFoot is a footprint in one value with all that count.
type PackedFoot struct {
	_     struct{} `kv:"events,by=Owner,once=Guest,keep=30,layout=packed"`
	Owner string   `msgpack:"o"`
	Guest string   `msgpack:"g"`
}
