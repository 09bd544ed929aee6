package examples

import "time"

// Page is a page of a wiki. It has one address and can be put into the trash.
type Page struct {
	_       struct{} `kv:"model,if=Live"`
	ID      string   `kv:"id"`
	Slug    string   `kv:"unique"`
	Title   string
	Author  string    // the id of a User
	Trashed time.Time // zero while it is not in the trash
	Created time.Time `kv:"created"`
	Edited  time.Time `kv:"updated"`
	Version int64     `kv:"version"`
}

// Live reports whether the page can be found by its address. A page in the trash frees its address
// for others.
func (p *Page) Live() bool { return p.Trashed.IsZero() }
