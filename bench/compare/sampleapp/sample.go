// Package sampleapp is the sample app's home page, its ranking and one of its pages, with the
// app's own templates, on ringtree and on SQL.
//
// The app's handlers know ringtree alone. So every Site, ringtree's too, says what a page
// shows, and this package fills the templates with it as the app does.
package sampleapp

import (
	"context"
	"time"
)

// Site is the data of the sample app in some database, as a guest sees it.
type Site interface {
	Home(ctx context.Context) (Home, error)
	Ranking(ctx context.Context) (Ranking, error) // of all time
	Article(ctx context.Context, slug string) (Article, error)
}

// Home is what the home page shows.
type Home struct {
	Newest []Listed // one more than is shown, if there is one
	Week   []Listed // with their views of this week

	Pages, Members int64 // how many there are
}

// Ranking is the first part of the ranking.
type Ranking struct {
	Top  []Listed
	Of   int64  // pages are ranked
	Next string // where the next part begins
}

// Listed is an article in a list. The sample app calls it a page.
type Listed struct {
	Slug, Title string
	Author      string // the handle
	Topics      []string
	Views       int64
	Published   time.Time
}

// Article is a page with all that is around it.
type Article struct {
	Listed
	Body      string
	About     string // the author
	Followers int64  // of the author
	Rank, Of  int64
	Comments  int64
	Remarks   []Remark // the newest comments
	More      []Listed // the newest others by the author
}

// Remark is a comment.
type Remark struct {
	Author, Text string
	At           time.Time
}

// How many rows there are of each kind, as in the app.
const (
	newest  = 10
	popular = 10
	top     = 20
	remarks = 20
	more    = 3
)
