// Package ashiato is the domain of the sample app: a small community whose
// members write pages, follow each other and leave footprints.
//
// This file is its whole data design. What is stored is in the structs; how it
// is found, counted and ordered is in their tags, from which kvgen writes the
// rest. What people may do is in the other files, one for each thing there is,
// as methods of Site.
package ashiato

import (
	"strings"
	"time"
)

//go:generate go tool kvgen

// Member is somebody who has signed up and goes by a handle.
type Member struct {
	ID        string `kv:"id"`
	Handle    string
	Password  string // the argon2id hash of it; empty: nobody can log in
	About     string
	Joined    time.Time `kv:"timeline"`
	Looked    time.Time // when they last looked at the footprints on their profile
	Followers int64     `kv:"counter"`
	Following int64     `kv:"counter"`
}

// Name is the handle in small letters: nobody can be Ann where there is an ann.
//
//kv:unique,name=ByHandle
func (m *Member) Name() string { return strings.ToLower(m.Handle) }

// Page is something a member has written. One in the trash keeps its record and
// its comments, is in no index, and leaves its address to others.
type Page struct {
	_         struct{} `kv:"model,if=Live,history=20"`
	ID        string   `kv:"id"`
	Slug      string   `kv:"unique"` // its address
	Title     string
	Body      string
	Author    string    // the id of a Member
	Topics    []string  `kv:"list; count=Topic.Pages"`
	Views     int64     `kv:"counter; ranking; ranking,per=day,keep=8"`
	Comments  int64     `kv:"counter"`
	Published time.Time `kv:"timeline; timeline,by=Author"`
	Edited    time.Time
	Trashed   time.Time // zero while it is not in the trash
	Version   int64     `kv:"version"`
}

// Live reports whether the page is not in the trash.
func (p *Page) Live() bool { return p.Trashed.IsZero() }

// Comment is what a member has said about a page.
type Comment struct {
	ID     string `kv:"id"`
	Page   string `kv:"list; count=Page.Comments"`
	Author string
	Text   string
	At     time.Time `kv:"timeline,by=Page"`
}

// Topic is a word that pages are about, and that members can follow.
type Topic struct {
	Name      string `kv:"id"`
	Since     time.Time
	Pages     int64 `kv:"counter; ranking"`
	Followers int64 `kv:"counter"`
}

// Follow is that one member follows another: that there is a record is the fact.
type Follow struct {
	Follower string    `kv:"id; list; count=Member.Following"`
	Followed string    `kv:"id; list; count=Member.Followers"`
	Since    time.Time `kv:"created"`
}

// Interest is that a member follows a topic.
type Interest struct {
	Member string    `kv:"id; list"`
	Topic  string    `kv:"id; list; count=Topic.Followers"`
	Since  time.Time `kv:"created"`
}

// FeedItem is what is new at somebody's home: a page by a member, or on a topic,
// that they follow.
type FeedItem struct {
	_      struct{} `kv:"events,by=Reader,once=Page,keep=200"`
	Reader string
	Page   string
	At     time.Time // when the page was published
}

// Visit is a footprint: who looked at a member's profile, each once, at the last
// time.
type Visit struct {
	_     struct{} `kv:"events,by=Owner,once=Guest,keep=100,ttl=720h"`
	Owner string
	Guest string
	At    time.Time
}
