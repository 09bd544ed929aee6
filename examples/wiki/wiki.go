// Package wiki has the models of a small wiki with a help desk. The examples of the other
// packages use them. What kvgen wrote for them is in the files whose names end in kv.go.
package wiki

import (
	"time"

	"github.com/ringtree/ringtree/kvmodel"
)

//go:generate go tool kvgen

// Page is a page of the wiki.
type Page struct {
	_       struct{}  `kv:"model,count,history=10"`
	ID      string    `kv:"id"`
	Slug    string    `kv:"unique"`                            // one page has it
	Title   string    `kv:"ranking"`                           // the pages from A to Z
	Author  string    `kv:"list;timeline,by=Author"`           // the id of a User
	Tags    []string  `kv:"list,values"`                       // the pages with each tag, and which tags there are
	Text    string    `kv:"timeline"`                          // the pages by their last change
	Views   int64     `kv:"counter;ranking;ranking,by=Author"` // the pages viewed most, of all and of each author
	Likes   int64     `kv:"counter"`                           // how many Likes there are for it
	Created time.Time `kv:"created"`
	Version int64     `kv:"version"`
}

// Validate says that a page needs a title.
func (p *Page) Validate() error {
	problems := kvmodel.Problems{}
	if p.Title == "" {
		problems.Add("Title", "A page needs a title.")
	}
	return problems.Err()
}

// User is who writes pages.
type User struct {
	ID   string `kv:"id"`
	Name string `kv:"unique"`
}

// Like is that one user likes one page. Both sides can list them.
type Like struct {
	User string `kv:"id;list"`
	Page string `kv:"id;list,with=Page;count=Page.Likes"` // goes with its page
}

// Visit says who looked at a page: each guest once, at the last time.
type Visit struct {
	_     struct{} `kv:"events,by=Page,once=Guest,keep=30"`
	Page  string
	Guest string
	At    time.Time
}

// Ticket is a question to the help desk, numbered from 1.
type Ticket struct {
	ID   int64  `kv:"id,seq"`
	Text string `kv:"timeline,ring=4,segment=2"` // the newest four
}
