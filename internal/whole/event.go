package whole

// Visit is a footprint, appended to one key.
type Visit struct {
	_     struct{} `kv:"events,by=Owner,once=Guest,keep=5"`
	Owner string
	Guest string
}

// Glance is a footprint that ends.
type Glance struct {
	_     struct{} `kv:"events,by=Owner,keep=5,ttl=240h"`
	Owner string
	Guest string
}

// Notice is an event in a packed key.
type Notice struct {
	_    struct{} `kv:"events,by=To,once=About,keep=4,layout=packed"`
	To   string
	Text string

	About string
}

// Shot is an event in a ring of keys.
type Shot struct {
	_    struct{} `kv:"events,by=Of,keep=4,layout=ring"`
	Of   string
	Text string
}
