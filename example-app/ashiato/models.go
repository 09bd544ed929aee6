// Package ashiato is the domain of the sample app: a small community whose members write pages,
// follow each other and leave footprints.
//
// This file is the whole data design. The structs are stored. Their tags say how they are
// found, counted and ordered, and kvgen generates the code for that. The other files, one for each
// kind of thing, have the actions of members, as methods of Site.
package ashiato

import (
	"time"

	"github.com/ringtree/ringtree/guard"
)

//go:generate go tool kvgen

// Member is an account, known by a handle.
type Member struct {
	ID        string `kv:"id"`
	Handle    string
	Password  string `kv:"private"` // its argon2id hash; if empty, nobody can log in
	About     string
	Joined    time.Time `kv:"ranking,name=Newcomers"`
	Looked    time.Time // when they last saw the footprints on their profile
	Followers int64     `kv:"counter"`
	Following int64     `kv:"counter"`
}

// Name is the handle in its normal form: nobody can be Ann if there is an ann.
//
//kv:unique,name=ByHandle,field=Handle
func (m *Member) Name() string { return normal(m.Handle) }

// Look is the common form of the handle and of all that look like it: nor can anybody be ann in
// Cyrillic letters.
//
//kv:unique,field=Handle
func (m *Member) Look() string { return guard.Look(m.Handle) }

// Page is something that a member wrote. A page in the trash keeps its record and its comments. It
// is in no index but that of its author's trash, and another page can take its address.
type Page struct {
	_         struct{} `kv:"model,if=Live,history=20"`
	ID        string   `kv:"id"`
	Slug      string   `kv:"unique"`  // its address
	Title     string   `kv:"ranking"` // A to Z
	Body      string
	Author    string    // the id of a Member
	Topics    []string  `kv:"list; count=Topic.Pages"`
	Views     int64     `kv:"counter; ranking; ranking,per=day,keep=2; ranking,per=week,keep=2"`
	Likes     int64     `kv:"counter; ranking"`
	Comments  int64     `kv:"counter"`
	Published time.Time `kv:"timeline,ring=200; ranking,name=Archive; timeline,by=Author"`
	Edited    time.Time
	Trashed   time.Time `kv:"timeline,by=Author,name=TrashByAuthor,if=InTrash"` // zero unless it is in the trash
	Version   int64     `kv:"version"`
}

// Live reports whether the page is not in the trash.
func (p *Page) Live() bool { return !p.InTrash() }

// InTrash reports whether the page is in the trash of its author.
func (p *Page) InTrash() bool { return !p.Trashed.IsZero() }

// View records for an hour that a visitor has viewed a page. Until it ends, further views of theirs
// do not count.
type View struct {
	Page    string    `kv:"id"`
	Visitor string    `kv:"id"` // the id of a member, or the address of a guest
	Until   time.Time `kv:"expires"`
}

// Like is a member's vote for a page, by the mere existence of the record.
type Like struct {
	Member string    `kv:"id"`
	Page   string    `kv:"id; list; count=Page.Likes"`
	Since  time.Time `kv:"created"`
}

// Comment is a remark of a member on a page.
type Comment struct {
	ID     string `kv:"id"`
	Page   string `kv:"list; count=Page.Comments"`
	Author string
	Text   string
	At     time.Time `kv:"timeline,by=Page"`
}

// Topic is a word for the subject of pages. Members can follow it.
type Topic struct {
	Name      string `kv:"id"`
	Since     time.Time
	Pages     int64 `kv:"counter; ranking"`
	Followers int64 `kv:"counter"`
}

// Follow records that one member follows another, by the mere existence of the record.
type Follow struct {
	Follower string    `kv:"id; list; count=Member.Following"`
	Followed string    `kv:"id; list; count=Member.Followers"`
	Since    time.Time `kv:"created"`
}

// Interest records that a member follows a topic.
type Interest struct {
	Member string    `kv:"id; list"`
	Topic  string    `kv:"id; list; count=Topic.Followers"`
	Since  time.Time `kv:"created"`
}

// FeedItem is an item of a reader's home feed: a page by a member or on a topic that the reader
// follows.
type FeedItem struct {
	_      struct{} `kv:"events,by=Reader,once=Page,keep=200"`
	Reader string
	Page   string
	At     time.Time // when the page was published
}

// Visit is a footprint: when a guest last looked at a member's profile.
type Visit struct {
	_     struct{} `kv:"events,by=Owner,once=Guest,keep=100,ttl=720h"`
	Owner string
	Guest string
	At    time.Time
}
