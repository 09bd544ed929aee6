package examples

// Reply is one of many concurrent replies on a busy site. Its timeline is spread over four rings,
// so that writers do not wait for each other.
type Reply struct {
	ID   string `kv:"id"`
	Text string `kv:"timeline,shards=4"`
}
