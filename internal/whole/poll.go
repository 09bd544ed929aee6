package whole

// Poll is a record that Votes are counted and added up in.
type Poll struct {
	ID      string `kv:"id"`
	Votes   int64  `kv:"counter"`
	Against int64  `kv:"counter"`
	Score   int64  `kv:"counter; ranking"`
}

// Vote is an edge whose value is added up in the poll.
type Vote struct {
	User  string `kv:"id"`
	Poll  string `kv:"id; list; count=Poll.Votes; count=Poll.Against,if=Bad; sum=Poll.Score,of=Value"`
	Value int64
}

// Bad reports whether the vote is against the poll.
func (v *Vote) Bad() bool { return v.Value < 0 }
