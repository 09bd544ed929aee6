// Package site has the models of a site that is moved from SQL: see docs/moving-here.md.
package site

import "time"

//go:generate go tool kvgen

// User keeps the password's hash of the old site until the next sign-in.
type User struct {
	ID      string    `kv:"id"`
	Name    string    `kv:"unique"`
	OldHash string    `kv:"private"`
	Hash    string    `kv:"private"`
	Joined  time.Time `kv:"created"`
}

// Story has a URL that may be posted again after a month.
type Story struct {
	ID     string `kv:"id"`
	Author string `kv:"timeline,by=Author"`
	URL    string `kv:"unique,for=720h"`
	Title  string
	Made   time.Time `kv:"created; timeline"`
	Edited time.Time
	Votes  int64 `kv:"counter"`
	Score  int64 `kv:"counter; ranking"`
}

// Vote is 1 or -1.
type Vote struct {
	User  string `kv:"id; list"`
	Story string `kv:"id; list,with=Story; count=Story.Votes; sum=Story.Score,of=Value"`
	Value int64
}

// Comment is about a story, or answers the comment Parent.
type Comment struct {
	ID     string `kv:"id"`
	Story  string `kv:"list,with=Story"`
	Author string `kv:"list"`
	Parent string
	Text   string
	Made   time.Time `kv:"created"`
}
