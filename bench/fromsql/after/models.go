// Package after makes the queries of package before on ringtree instead of SQL. The table in
// docs/from-sql.md shows both.
package after

import (
	"strings"
	"time"
)

//go:generate go tool kvgen

// User is an author. A removed user is kept, and is in no index.
type User struct {
	_       struct{} `kv:"model,if=Live"`
	ID      string   `kv:"id"`
	Name    string   `kv:"unique"`
	Removed time.Time
}

// Live reports whether the user was not removed.
func (u *User) Live() bool { return u.Removed.IsZero() }

// Post is a post of a user.
type Post struct {
	_       struct{} `kv:"model,count"`
	ID      string   `kv:"id"`
	Slug    string   `kv:"unique"`
	Title   string
	Author  string    `kv:"list=AuthorStatus"` // the id of a User
	Status  string    `kv:"list=AuthorStatus"`
	Tags    []string  `kv:"list,values"`
	Made    time.Time `kv:"timeline; timeline,by=Author; ranking,name=Archive"`
	Views   int64     `kv:"counter; ranking"`
	Likes   int64     `kv:"counter"`
	Version int64     `kv:"version"`
}

// Words returns the words of the title.
//
//kv:list
func (p *Post) Words() []string { return strings.Fields(strings.ToLower(p.Title)) }

// Comment is deleted with its Post.
type Comment struct {
	ID   string `kv:"id"`
	Post string `kv:"list,with=Post"`
	Text string
}

// Like means that User likes Post. It is deleted with the Post.
type Like struct {
	User string `kv:"id; list"`
	Post string `kv:"id; list,with=Post; count=Post.Likes"`
}
