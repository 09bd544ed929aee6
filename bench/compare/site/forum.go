package site

import (
	"context"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/ringtree/ringtree/examples/forum"
)

// Forum is a link site, [forum], on a peer. It must be safe for concurrent use. A reader is the
// number of a user, -1 for a guest.
type Forum interface {
	Load(ctx context.Context, d *Threads) error
	Close() error

	Front(ctx context.Context, reader int) (*forum.Page, error)
	Story(ctx context.Context, reader, story int) (*forum.Page, error)
	User(ctx context.Context, reader, user int) (*forum.Page, error)
	NewestComments(ctx context.Context, reader int) (*forum.Page, error)

	// The votes return forum.ErrOwn for the reader's own.
	VoteStory(ctx context.Context, reader, story int, value int64) error
	VoteComment(ctx context.Context, reader, comment int, value int64) error
	Comment(ctx context.Context, reader, story, parent int, text string) error // parent -1: on the story
	Submit(ctx context.Context, reader int, n forum.NewStory) error

	Flush(ctx context.Context) error
}

// Threads is the content of a forum, numbered from 0 in the order of writing.
type Threads struct {
	Users    int
	Muted    []int // a tag, by user; -1: none
	Stories  []Post
	Comments []Remark
	Votes    []Ballot
	Saves    [][2]int // user, story
	Hides    [][2]int // user, story
}

type Post struct {
	Author int
	Tags   [2]int
}

// Remark is a comment, with Parent -1 if it is on the story.
type Remark struct{ Author, Story, Parent int }

// Ballot is a vote for a story, with Comment -1, or for a comment.
type Ballot struct {
	User, Story, Comment int
	Value                int64
}

// NewThreads returns a forum of about n records, the same each time.
func NewThreads(n int) *Threads {
	d := &Threads{Users: n / 50}
	rng := rand.New(rand.NewPCG(uint64(n), 2))
	for range d.Users {
		muted := -1
		if rng.IntN(4) == 0 {
			muted = Tags/2 + rng.IntN(Tags/2)
		}
		d.Muted = append(d.Muted, muted)
	}
	for range n / 20 {
		tag := popular(rng, Tags)
		d.Stories = append(d.Stories, Post{popular(rng, d.Users), [2]int{tag, (tag + 1 + popular(rng, Tags/2)) % Tags}})
	}
	latest := make([]int, len(d.Stories))
	for i := range latest {
		latest[i] = -1
	}
	for i := range n / 4 {
		c := Remark{rng.IntN(d.Users), d.Popular(rng), -1}
		if rng.IntN(3) > 0 {
			c.Parent = latest[c.Story]
		}
		if c.Parent < 0 || rng.IntN(2) == 0 {
			latest[c.Story] = i
		}
		d.Comments = append(d.Comments, c)
	}
	d.vote(rng, n*3/5)
	pair := func() [2]int { return [2]int{rng.IntN(d.Users), d.Popular(rng)} }
	d.Saves, d.Hides = pairs(n/20, pair), pairs(n*3/100, pair)
	return d
}

// vote adds n votes, none for the voter's own.
func (d *Threads) vote(rng *rand.Rand, n int) {
	seen := map[[3]int]bool{}
	for len(d.Votes) < n {
		v := Ballot{rng.IntN(d.Users), d.Popular(rng), -1, 1}
		author := d.Stories[v.Story].Author
		if rng.IntN(2) == 0 {
			v.Comment = rng.IntN(len(d.Comments))
			v.Story, author = -1, d.Comments[v.Comment].Author
		}
		if rng.IntN(6) == 0 {
			v.Value = -1
		}
		if key := [3]int{v.User, v.Story, v.Comment}; author != v.User && !seen[key] {
			seen[key] = true
			d.Votes = append(d.Votes, v)
		}
	}
}

// Popular prefers new stories.
func (d *Threads) Popular(rng *rand.Rand) int {
	return len(d.Stories) - 1 - popular(rng, len(d.Stories))
}

type numbers struct{ score, votes, comments int64 }

// count returns the numbers of stories and comments, and the karma of users.
func (d *Threads) count() (stories, comments []numbers, karma []int64) {
	stories, comments, karma = make([]numbers, len(d.Stories)), make([]numbers, len(d.Comments)), make([]int64, d.Users)
	for _, c := range d.Comments {
		stories[c.Story].comments++
	}
	for _, v := range d.Votes {
		var of *numbers
		var author int
		if v.Comment < 0 {
			of, author = &stories[v.Story], d.Stories[v.Story].Author
		} else {
			of, author = &comments[v.Comment], d.Comments[v.Comment].Author
		}
		of.votes, of.score = of.votes+1, of.score+v.Value
		karma[author] += v.Value
	}
	return stories, comments, karma
}

// to returns the author whom a comment answers, -1 if it is the same.
func (d *Threads) to(c Remark) int {
	to := d.Stories[c.Story].Author
	if c.Parent >= 0 {
		to = d.Comments[c.Parent].Author
	}
	if to == c.Author {
		return -1
	}
	return to
}

func headline(story int) string { return "Rings and trees of number " + strconv.Itoa(story) }
func link(story int) string     { return "https://example.com/stories/" + strconv.Itoa(story) }
func remark(n int) string {
	return strings.Repeat("I have read it twice, and shall again. ", 1+n%8) + strconv.Itoa(n)
}

func (p Post) tags() []string { return []string{Tag(p.Tags[0]), Tag(p.Tags[1])} }

// submitted is the time of a loaded story, and spoken of a comment: later than all stories.
func submitted(story int) time.Time { return made(100 * story) }
func spoken(comment int) time.Time  { return made(50_000_000 + comment) }
