// Package ashiato is the domain of the sample app, a small community whose
// members write pages. This file is its whole data design: what is stored is
// in the structs, how it is found and what is filled in is in their tags. The
// rules are in rules.go and draft.go; kvgen writes the rest.
package ashiato

import (
	"strings"
	"time"
)

//go:generate go tool kvgen

// Member is somebody who has signed up and goes by a handle.
type Member struct {
	ID     string `kv:"id"`
	Handle string
	Joined time.Time `kv:"created"`
}

// Name is the handle in small letters: nobody can be Ann where there is an ann.
//
//kv:unique,name=ByHandle
func (m *Member) Name() string { return strings.ToLower(m.Handle) }

// Page is something a member has written. One in the trash keeps its record and
// leaves its address to others.
type Page struct {
	_       struct{} `kv:"model,if=Live"`
	ID      string   `kv:"id"`
	Slug    string   `kv:"unique"` // its address
	Title   string
	Body    string
	Author  string    // the id of a Member
	Trashed time.Time // zero while it is not in the trash
	Created time.Time `kv:"created"`
	Updated time.Time `kv:"updated"`
	Version int64     `kv:"version"`
}

// Live reports whether the page is not in the trash.
func (p *Page) Live() bool { return p.Trashed.IsZero() }
