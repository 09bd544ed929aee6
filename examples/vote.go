package examples

import "time"

// Vote is one user's vote for one page. That the record exists is the vote.
type Vote struct {
	User string    `kv:"id"`
	Page string    `kv:"id; list,with=Page"` // It goes with the page.
	At   time.Time `kv:"created"`
}
