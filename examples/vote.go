package examples

import "time"

// Vote is one user's vote for one page: that there is a record is the vote.
type Vote struct {
	User string    `kv:"id"`
	Page string    `kv:"id"`
	At   time.Time `kv:"created"`
}
