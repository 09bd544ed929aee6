package examples

import "time"

// Vote is one user's vote for one page. The existence of the record is the vote.
type Vote struct {
	User string    `kv:"id"`
	Page string    `kv:"id; list,with=Page"` // deleted with the page
	At   time.Time `kv:"created"`
}
