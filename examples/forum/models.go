package forum

import (
	"math"
	"time"
)

//go:generate go tool kvgen

// User is a member of the site.
type User struct {
	Name   string `kv:"id"`
	About  string
	Muted  []string  // tags
	Looked time.Time // at the replies
	Karma  int64     `kv:"counter; ranking"` // the sum of the votes for the user's stories and comments
}

// Story is a link, or a text if URL is empty.
type Story struct {
	ID       string `kv:"id"`
	URL      string `kv:"unique"`
	Title    string
	Text     string
	Author   string // the name of a User, who may have left
	Tags     []string
	Made     time.Time `kv:"created; timeline; timeline,by=Author; timeline,by=Tags; timeline,name=Found,by=Starts"`
	Comments int64     `kv:"counter"`
	Votes    int64     `kv:"counter"`
	Score    int64     `kv:"counter"`
}

// Heat is the order of the front page. A story of 12.5 hours ago needs ten times the score of a new
// one.
//
//kv:ranking,name=Front,of=Score
func (s *Story) Heat() float64 {
	return math.Copysign(math.Log10(max(math.Abs(float64(s.Score)), 1)), float64(s.Score)) + float64(s.Made.UnixMilli())/45_000_000
}

// Comment is an answer to a story or, if Parent is set, to another comment. One that is removed
// keeps its place in the tree, without author and text.
type Comment struct {
	ID     string `kv:"id"`
	Story  string `kv:"list,with=Story; count=Story.Comments"`
	Parent string
	Author string `kv:"timeline; timeline,by=Author"`
	To     string // the author of the story or comment it answers, if another
	Text   string
	Made   time.Time `kv:"created; ranking,name=Replies,by=To"`
	Votes  int64     `kv:"counter"`
	Score  int64     `kv:"counter"`
}

// Vote is a vote of User for a story or a comment, or against it.
type Vote struct {
	User    string `kv:"id; list,with=User"`
	Item    string `kv:"id"` // the id of the Story or of the Comment, one of which is set
	Story   string `kv:"list,with=Story; count=Story.Votes; sum=Story.Score,of=Value"`
	Comment string `kv:"list,with=Comment; count=Comment.Votes; sum=Comment.Score,of=Value"`
	Author  string `kv:"list; sum=User.Karma,of=Value"`
	Value   int64  // 1 or -1
}

// Save means that User keeps Story in a list.
type Save struct {
	User  string    `kv:"id; list,with=User"`
	Story string    `kv:"id; list,with=Story"`
	Made  time.Time `kv:"created; ranking,by=User"`
}

// Hide means that User does not want to see Story in lists.
type Hide struct {
	User  string `kv:"id; list,with=User"`
	Story string `kv:"id; list,with=Story"`
}
