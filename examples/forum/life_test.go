package forum_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/examples/forum"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
)

func TestLong_ForumPagesAreThoseOfAPlainReference(t *testing.T) {
	changes := 400
	if proof.Long() {
		changes = 3000
	}
	onEngines(t, func(s *site) {
		l := newLife(s, 12)
		for i := range changes {
			l.change()
			if i == changes/2 || i == changes-1 {
				l.compare()
			}
			if t.Failed() {
				t.Fatalf("after %d changes", i+1)
			}
		}
	})
}

type life struct {
	*site
	ref *reference
	r   *rand.Rand

	members           []string
	stories, comments []string
}

var (
	tags  = []string{"go", "databases", "trees", "rings", "web", "tea"}
	vocab = strings.Fields("Theory of the Rings and Trees their Theorems Go tea Store stores a stored Story Über überall 東京 木 reading read ready")
)

func newLife(s *site, members int) *life {
	l := &life{site: s, ref: newReference(), r: rand.New(rand.NewPCG(53, 1))}
	for i := range members {
		l.members = append(l.members, fmt.Sprint("user", i))
		l.joins(l.members[i])
	}
	return l
}

func (l *life) joins(name string) {
	l.t.Helper()
	must(l.t, l.Join(l.t.Context(), name, "About "+name))
	l.ref.users[name] = &forum.User{Name: name, About: "About " + name}
}

// one prefers the last ten every other time.
func (l *life) one(all []string) string {
	if l.r.IntN(2) == 0 {
		all = all[max(0, len(all)-10):]
	}
	if len(all) == 0 {
		return "none"
	}
	return all[l.r.IntN(len(all))]
}

func (l *life) change() {
	l.t.Helper()
	l.clock.pass(time.Duration(1+l.r.IntN(300)) * time.Second)
	name, story, comment := l.members[l.r.IntN(len(l.members))], l.one(l.stories), l.one(l.comments)
	if l.ref.users[name] == nil {
		l.joins(name)
	}
	switch n := l.r.IntN(1000); {
	case n < 160:
		l.submits(name)
	case n < 440:
		l.says(name, story, comment)
	case n < 630:
		l.votesForStory(name, story)
	case n < 820:
		l.votesForComment(name, comment)
	case n < 870:
		l.saves(name, story)
	case n < 910:
		l.hides(name, story)
	case n < 945:
		l.looks(name)
	case n < 955:
		l.mutes(name)
	case n < 980:
		l.removes(name, comment)
	case n < 994:
		l.deletes(name, story)
	default:
		l.leaves(name)
	}
}

// wants reports whether a change took place: err must be the first of the reasons that hold.
func (l *life) wants(err error, reasons ...error) bool {
	l.t.Helper()
	want := cmp.Or(reasons...)
	if !errors.Is(err, want) {
		l.t.Fatalf("want the error %v, got %v", want, err)
	}
	return want == nil
}

func when(holds bool, err error) error {
	if holds {
		return err
	}
	return nil
}

func (l *life) submits(name string) {
	n := forum.NewStory{Text: "Some text."}
	words := make([]string, 2+l.r.IntN(5))
	for i := range words {
		words[i] = vocab[l.r.IntN(len(vocab))]
	}
	n.Title = strings.Join(words, " ")
	for _, i := range l.r.Perm(len(tags))[:l.r.IntN(3)] {
		n.Tags = append(n.Tags, tags[i])
	}
	if l.r.IntN(3) > 0 {
		n.URL = fmt.Sprintf("https://example.com/%d", l.r.IntN(100))
	}
	holder := ""
	for id, s := range l.ref.stories {
		if n.URL != "" && s.URL == n.URL {
			holder = id
		}
	}
	s, err := l.Submit(l.t.Context(), name, n)
	if !l.wants(err, when(holder != "", kvmodel.ErrExists)) {
		if taken, ok := errors.AsType[*kvmodel.TakenError](err); !ok || taken.ID != holder {
			l.t.Errorf("want %s to hold the URL, got %v", holder, err)
		}
		return
	}
	l.stories = append(l.stories, s.ID)
	l.ref.stories[s.ID] = &forum.Story{ID: s.ID, URL: n.URL, Title: n.Title, Text: n.Text, Author: name, Tags: n.Tags, Made: s.Made}
}

func (l *life) says(name, story, parent string) {
	on := l.ref.comments[parent]
	if on == nil || l.r.IntN(2) == 0 {
		parent, on = "", nil
	}
	if on != nil && l.r.IntN(20) > 0 {
		story = on.Story
	}
	s := l.ref.stories[story]
	text := fmt.Sprint("Comment ", len(l.comments))
	c, err := l.Comment(l.t.Context(), name, story, parent, text)
	if !l.wants(err, when(s == nil || on != nil && on.Story != story, kvmodel.ErrNotFound)) {
		return
	}
	to := s.Author
	if on != nil {
		to = on.Author
	}
	if to == name {
		to = ""
	}
	l.comments = append(l.comments, c.ID)
	l.ref.comments[c.ID] = &forum.Comment{ID: c.ID, Story: story, Parent: parent, Author: name, To: to, Text: text, Made: c.Made}
}

func (l *life) value() int64 { return int64([]int{1, 1, -1, 0}[l.r.IntN(4)]) }

func (l *life) votes(v forum.Vote) {
	key := [2]string{v.User, v.Item}
	if v.Value == 0 {
		delete(l.ref.votes, key)
	} else {
		l.ref.votes[key] = v
	}
}

func (l *life) votesForStory(name, story string) {
	value := l.value()
	err := l.VoteStory(l.t.Context(), name, story, value)
	s := l.ref.stories[story]
	if l.wants(err, when(s == nil, kvmodel.ErrNotFound), when(s != nil && s.Author == name, forum.ErrOwn)) {
		l.votes(forum.Vote{User: name, Item: story, Story: story, Author: s.Author, Value: value})
	}
}

func (l *life) votesForComment(name, comment string) {
	value := l.value()
	err := l.VoteComment(l.t.Context(), name, comment, value)
	c := l.ref.comments[comment]
	if l.wants(err, when(c == nil, kvmodel.ErrNotFound), when(c != nil && c.Author == name, forum.ErrOwn)) {
		l.votes(forum.Vote{User: name, Item: comment, Comment: comment, Author: c.Author, Value: value})
	}
}

func (l *life) saves(name, story string) {
	if l.ref.stories[story] == nil {
		return
	}
	key, saved := [2]string{name, story}, l.r.IntN(3) > 0
	must(l.t, l.Save(l.t.Context(), name, story, saved))
	if _, before := l.ref.saves[key]; !saved {
		delete(l.ref.saves, key)
	} else if !before {
		l.ref.saves[key] = l.clock.Now()
	}
}

func (l *life) hides(name, story string) {
	if l.ref.stories[story] == nil {
		return
	}
	key, hidden := [2]string{name, story}, l.r.IntN(3) > 0
	must(l.t, l.Hide(l.t.Context(), name, story, hidden))
	delete(l.ref.hides, key)
	if hidden {
		l.ref.hides[key] = true
	}
}

func (l *life) looks(name string) {
	must(l.t, l.Look(l.t.Context(), name))
	u, err := l.Models().Users.Get(l.t.Context(), name)
	must(l.t, err)
	l.ref.users[name].Looked = u.Looked
}

func (l *life) mutes(name string) {
	muted := tags[:l.r.IntN(2)]
	must(l.t, l.Mute(l.t.Context(), name, muted))
	l.ref.users[name].Muted = muted
}

func (l *life) removes(name, comment string) {
	c := l.ref.comments[comment]
	if c != nil && c.Author != "" && l.ref.users[c.Author] != nil && l.r.IntN(4) > 0 {
		name = c.Author
	}
	err := l.Remove(l.t.Context(), name, comment)
	if l.wants(err, when(c == nil, kvmodel.ErrNotFound), when(c != nil && c.Author != name, forum.ErrForbidden)) {
		c.Author, c.To, c.Text = "", "", ""
	}
}

func (l *life) deletes(name, story string) {
	s := l.ref.stories[story]
	if s != nil && l.ref.users[s.Author] != nil && l.r.IntN(4) > 0 {
		name = s.Author
	}
	err := l.Delete(l.t.Context(), name, story)
	if l.wants(err, when(s == nil, kvmodel.ErrNotFound), when(s != nil && s.Author != name, forum.ErrForbidden)) {
		l.ref.deleteStory(story)
		l.flush()
	}
}

func (l *life) leaves(name string) {
	must(l.t, l.Leave(l.t.Context(), name))
	l.ref.deleteUser(name)
	l.flush()
	l.wants(l.Leave(l.t.Context(), name), kvmodel.ErrNotFound)
	_, err := l.Front(l.t.Context(), name, "")
	l.wants(err, kvmodel.ErrNotFound)
}

// compare compares the pages of some readers, and the number of records that belong to others.
func (l *life) compare() {
	l.t.Helper()
	l.flush()
	l.ref.count()
	l.best()
	m := l.Models()
	same(l.t, "numbers of comments, votes, saves and hides",
		[]int{len(l.ref.comments), len(l.ref.votes), len(l.ref.saves), len(l.ref.hides)},
		[]int{number(l, m.Comments.Records), number(l, m.Votes.Records), number(l, m.Saves.Records), number(l, m.Hides.Records)})
	for _, name := range append([]string{""}, l.members[:3]...) {
		if name != "" && l.ref.users[name] == nil {
			continue
		}
		l.lists(name)
		for _, of := range l.members {
			l.profile(name, of)
		}
		for _, id := range l.stories[max(0, len(l.stories)-40):] {
			l.reading(name, id)
		}
	}
}

func number[T any, K comparable](l *life, records *kvmodel.Records[T, K]) (n int) {
	l.t.Helper()
	for _, err := range records.All(l.t.Context()) {
		must(l.t, err)
		n++
	}
	return n
}

func (l *life) lists(name string) {
	l.t.Helper()
	every := func(*forum.Story) bool { return true }
	l.joined(name, "front", l.Front, l.ref.list(name, hottest, every))
	l.joined(name, "newest", l.Newest, l.ref.list(name, newest, every))
	for _, tag := range append(tags, "none") {
		l.joined(name, "tag "+tag, func(ctx context.Context, name, cursor string) (*forum.Page, error) {
			return l.Tagged(ctx, name, tag, cursor)
		}, l.ref.list(name, newest, func(s *forum.Story) bool { return slices.Contains(s.Tags, tag) }))
	}
	for _, typed := range []string{"t", "th", "the", "theo", "theor", "theore", "STORE", "stored", "ü", "über", "東", "a", "the tree", "tree the", "read ri", "none"} {
		l.joined(name, "search "+typed, func(ctx context.Context, name, cursor string) (*forum.Page, error) {
			return l.Search(ctx, name, typed, cursor)
		}, l.ref.list(name, newest, func(s *forum.Story) bool { return hasPrefixes(s.Title, typed) }))
	}
	p := l.ref.page(name)
	p.Comments = l.ref.remarks(name, func(c *forum.Comment) bool { return c.Author != "" })
	l.joined(name, "newest comments", l.NewestComments, p)
	if name == "" {
		return
	}
	p = l.ref.page(name)
	p.Comments = l.ref.remarks(name, func(c *forum.Comment) bool { return c.To == name })
	l.joined(name, "replies", l.Replies, p)
	l.joined(name, "saved", l.Saved, l.ref.saved(name))
}

func hasPrefixes(title, typed string) bool {
	text := " " + strings.ToLower(title)
	for word := range strings.FieldsSeq(strings.ToLower(typed)) {
		if !strings.Contains(text, " "+word) {
			return false
		}
	}
	return true
}

// joined compares the pages of a list, put together.
func (l *life) joined(name, what string, get func(ctx context.Context, name, cursor string) (*forum.Page, error), want *forum.Page) {
	l.t.Helper()
	got := new(forum.Page)
	for cursor := ""; ; {
		p, err := get(l.t.Context(), name, cursor)
		must(l.t, err)
		n := len(p.Stories) + len(p.Comments)
		if left := len(want.Stories) + len(want.Comments) - len(got.Stories) - len(got.Comments); n != min(left, forum.Shown) {
			l.t.Errorf("%s for %q: a page of %d, with %d left", what, name, n, left)
		}
		got.Stories, got.Comments, got.Unread = append(got.Stories, p.Stories...), append(got.Comments, p.Comments...), p.Unread
		if cursor = p.Next; cursor == "" {
			break
		}
	}
	same(l.t, fmt.Sprintf("%s for %q", what, name), want, got)
}

func (l *life) profile(name, of string) {
	l.t.Helper()
	got, err := l.User(l.t.Context(), name, of)
	if !l.wants(err, when(l.ref.users[of] == nil, kvmodel.ErrNotFound)) {
		return
	}
	want := l.ref.page(name)
	want.User = l.ref.users[of]
	for _, s := range l.ref.list("", newest, func(s *forum.Story) bool { return s.Author == of }).Stories {
		want.Stories = append(want.Stories, l.ref.viewOf(name, s.Story))
	}
	want.Comments = l.ref.remarks(name, func(c *forum.Comment) bool { return c.Author == of })
	want.Stories, want.Comments = want.Stories[:min(len(want.Stories), forum.Shown)], want.Comments[:min(len(want.Comments), forum.Shown)]
	same(l.t, fmt.Sprintf("the page of %s for %q", of, name), want, got)
}

func (l *life) reading(name, id string) {
	l.t.Helper()
	got, err := l.Story(l.t.Context(), name, id)
	if !l.wants(err, when(l.ref.stories[id] == nil, kvmodel.ErrNotFound)) {
		return
	}
	want := l.ref.page(name)
	want.Stories = []forum.StoryView{l.ref.viewOf(name, l.ref.stories[id])}
	want.Comments = l.ref.below(name, id, "", 0, nil)
	same(l.t, fmt.Sprintf("the page of %s for %q", id, name), want, got)
}

func (l *life) best() {
	l.t.Helper()
	table, err := l.Best(l.t.Context())
	must(l.t, err)
	got, want := map[string]int64{}, map[string]int64{}
	for i, p := range table.Places {
		if got[p.Item.Name] = p.Score; p.Rank != i+1 || i > 0 && p.Score > table.Places[i-1].Score {
			l.t.Errorf("place %d: %+v", i, p)
		}
	}
	for name, u := range l.ref.users {
		// A user for whom nobody has voted yet is not there.
		if _, ok := got[name]; ok || u.Karma != 0 {
			want[name] = u.Karma
		}
	}
	same(l.t, "karma", want, got)
}
