package examples

// Reply is one of the many that a busy site gets at any moment. Its timeline is
// spread over four rings, so that writers do not wait for each other.
type Reply struct {
	ID   string `kv:"id"`
	Text string `kv:"timeline,shards=4"`
}
