package examples

import "time"

// Talk is a talk with votes and comments.
type Talk struct {
	ID      string `kv:"id"`
	Votes   int64  `kv:"counter"`
	Against int64  `kv:"counter"`
	Score   int64  `kv:"counter; ranking"`
}

// Ballot is the vote of a user, of 1 or -1.
type Ballot struct {
	User  string `kv:"id; list"`
	Talk  string `kv:"id; list; count=Talk.Votes; count=Talk.Against,if=Bad; sum=Talk.Score,of=Value"`
	Value int64
}

// Bad reports whether the vote is against the talk.
func (b *Ballot) Bad() bool { return b.Value < 0 }

// Remark is a comment on a talk, or on another remark.
type Remark struct {
	ID     string `kv:"id"`
	Talk   string `kv:"list,with=Talk"`
	Parent string // the remark that it answers
	Text   string
	Made   time.Time `kv:"created"`
}
