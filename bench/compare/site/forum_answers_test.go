package site

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ringtree/ringtree/bench/compare/place"
	"github.com/ringtree/ringtree/examples/forum"
)

// The forum's own tests hold the answers of ringtree in memory.
func TestForums_AllGiveTheSameAnswers(t *testing.T) {
	wantSame(t, Forums, interviewForum, cmpopts.EquateEmpty())
}

func interviewForum(t *testing.T, kind place.Kind[Forum], at place.Place) (all []said) {
	t.Helper()
	ctx := t.Context()
	at.Dir = t.TempDir()
	f, err := kind.Open(ctx, at)
	must(t, err)
	defer func() { must(t, f.Close()) }()
	d := NewThreads(1000)
	must(t, f.Load(ctx, d))
	all = askForum(t, ctx, f, d)
	for reader := range 5 {
		for i := range 30 {
			for _, value := range [][]int64{{1}, {1, -1}, {-1, 0}, {0, 1, 1}}[(i+reader)%4] {
				story, comment := len(d.Stories)-1-i, len(d.Comments)-1-i
				if err := f.VoteStory(ctx, reader, story, value); !errors.Is(err, own(d.Stories[story].Author == reader)) {
					t.Errorf("%d votes for story %d: %v", reader, story, err)
				}
				if err := f.VoteComment(ctx, reader, comment, value); !errors.Is(err, own(d.Comments[comment].Author == reader)) {
					t.Errorf("%d votes for comment %d: %v", reader, comment, err)
				}
			}
		}
		for i := range 3 {
			nextMillisecond()
			comment := len(d.Comments) - 1 - i
			must(t, f.Comment(ctx, reader, d.Comments[comment].Story, comment, fmt.Sprint("An answer by ", reader)))
			nextMillisecond()
			must(t, f.Comment(ctx, reader, len(d.Stories)-1, -1, fmt.Sprint("A comment by ", reader)))
		}
		nextMillisecond()
		must(t, f.Submit(ctx, reader, forum.NewStory{URL: fmt.Sprint("https://example.com/new/", reader), Title: fmt.Sprint("New ", reader), Tags: []string{Tag(reader), Tag(30 + reader)}}))
	}
	must(t, f.Flush(ctx))
	return append(all, askForum(t, ctx, f, d)...)
}

// own returns the error of a vote.
func own(is bool) error {
	if is {
		return forum.ErrOwn
	}
	return nil
}

func askForum(t *testing.T, ctx context.Context, f Forum, d *Threads) (all []said) {
	t.Helper()
	say := func(question string, page *forum.Page, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", question, err)
		}
		all = append(all, said{question, plain(page)})
	}
	for reader := -1; reader < 6; reader++ {
		page, err := f.Front(ctx, reader)
		say(fmt.Sprint("front page for ", reader), page, err)
		page, err = f.NewestComments(ctx, reader)
		say(fmt.Sprint("newest comments for ", reader), page, err)
		for user := range d.Users {
			page, err := f.User(ctx, reader, user)
			say(fmt.Sprint("user ", user, " for ", reader), page, err)
		}
	}
	for story := range d.Stories {
		page, err := f.Story(ctx, story%d.Users-1, story)
		say(fmt.Sprint("story ", story), page, err)
	}
	return all
}

// plain returns a page without its ids, times and cursors, which differ between peers.
func plain(p *forum.Page) *forum.Page {
	p.Next = ""
	if p.User != nil {
		p.User.Muted, p.User.Looked = nil, time.Time{}
	}
	for _, s := range p.Stories {
		s.ID, s.Made = "", time.Time{}
	}
	for _, c := range p.Comments {
		c.ID, c.Story, c.Parent, c.To, c.Made = "", "", "", "", time.Time{}
		if c.On != nil {
			c.On.ID, c.On.Made = "", time.Time{}
		}
	}
	return p
}

func TestNewThreads_IsAForumOfSoManyRecordsAndTheSameEachTime(t *testing.T) {
	d := NewThreads(10_000)
	if n := d.Users + len(d.Stories) + len(d.Comments) + len(d.Votes) + len(d.Saves) + len(d.Hides); n != 10_000 {
		t.Errorf("%d records, want 10,000", n)
	}
	if diff := cmp.Diff(d, NewThreads(10_000)); diff != "" {
		t.Errorf("mismatch (-first +second):\n%s", diff)
	}
	deepest, depth := 0, make([]int, len(d.Comments))
	for i, c := range d.Comments {
		if c.Parent >= 0 {
			if d.Comments[c.Parent].Story != c.Story {
				t.Fatalf("comment %d answers one on another story", i)
			}
			depth[i] = depth[c.Parent] + 1
			deepest = max(deepest, depth[i])
		}
	}
	if deepest < 3 {
		t.Errorf("comments are %d deep", deepest)
	}
}
