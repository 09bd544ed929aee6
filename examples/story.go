package examples

import "time"

// Story is a story of a news site, with timelines of all stories, of each author and of each tag.
type Story struct {
	ID     string `kv:"id"`
	Author string `kv:"timeline,by=Author"` // in the order of creation
	Title  string
	Tags   []string  `kv:"timeline,by=Tags"`  // the newest with each tag
	Text   string    `kv:"timeline,ring=500"` // last edited first
	Edited time.Time `kv:"updated"`
}

// Visit is a visit to a user's page: each guest once, at the last time.
type Visit struct {
	_     struct{} `kv:"events,by=Owner,once=Guest,keep=30,ttl=720h"`
	Owner string
	Guest string
	At    time.Time
}

// FeedItem is an item in a reader's home feed: a story by an author they follow.
type FeedItem struct {
	_      struct{} `kv:"events,by=Reader,once=Story,keep=100"`
	Reader string
	Story  string
}
