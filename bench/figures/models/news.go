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
