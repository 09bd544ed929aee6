package forum_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ringtree/ringtree/examples/forum"
	"github.com/ringtree/ringtree/kvmodel"
)

func TestVote_ChangesAndCanBeTakenBack(t *testing.T) {
	onEngines(t, func(s *site) {
		ctx, t := s.t.Context(), s.t
		s.join("ann", "bob", "cid")
		story := s.submit("ann", "Tea")
		c := s.comment("ann", story.ID, "", "Green or black?")
		type numbers struct{ Score, Votes, Vote, Karma int64 }
		for _, step := range []struct {
			name  string
			value int64
			want  numbers // for the story, or the comment; the karma is that of both
		}{
			{"bob", 1, numbers{1, 1, 1, 2}}, {"bob", 1, numbers{1, 1, 1, 2}}, {"bob", -1, numbers{-1, 1, -1, -2}},
			{"cid", -1, numbers{-2, 2, -1, -4}}, {"bob", 0, numbers{-1, 1, 0, -2}}, {"bob", 0, numbers{-1, 1, 0, -2}},
			{"cid", 1, numbers{1, 1, 1, 2}}, {"cid", 0, numbers{}}, {"bob", 1, numbers{1, 1, 1, 2}},
		} {
			must(t, s.VoteStory(ctx, step.name, story.ID, step.value))
			must(t, s.VoteComment(ctx, step.name, c.ID, step.value))
			p, karma := s.story(step.name, story.ID), s.user("", "ann").User.Karma
			same(t, "story", step.want, numbers{p.Stories[0].Score, p.Stories[0].Votes, p.Stories[0].Vote, karma})
			same(t, "comment", step.want, numbers{p.Comments[0].Score, p.Comments[0].Votes, p.Comments[0].Vote, karma})
		}
		for what, err := range map[error]error{
			forum.ErrOwn:        s.VoteStory(ctx, "ann", story.ID, 1),
			kvmodel.ErrInvalid:  s.VoteComment(ctx, "bob", c.ID, 2),
			kvmodel.ErrNotFound: s.VoteStory(ctx, "bob", "none", 1),
		} {
			if !errors.Is(err, what) {
				t.Errorf("want %v, got %v", what, err)
			}
		}
	})
}

func TestFront_StoriesAgeAndVotesLiftThem(t *testing.T) {
	onEngines(t, func(s *site) {
		s.join("ann", "bob")
		old := s.submit("ann", "Old")
		s.clock.pass(time.Hour)
		s.submit("ann", "New")
		same(s.t, "front page", []string{"New", "Old"}, titles(s.front("")))
		for _, name := range []string{"cid", "dot", "eve", "fay"} {
			must(s.t, s.VoteStory(s.t.Context(), name, old.ID, 1))
		}
		same(s.t, "after votes", []string{"Old", "New"}, titles(s.front("")))
		s.clock.pass(24 * time.Hour)
		s.submit("ann", "Newer")
		same(s.t, "a day later", []string{"Newer", "Old", "New"}, titles(s.front("")))
	})
}

func TestHide_LeavesAStoryOutOfTheListsOfOneReader(t *testing.T) {
	onEngines(t, func(s *site) {
		ctx, t := s.t.Context(), s.t
		s.join("ann", "bob")
		tea := s.submit("ann", "Tea", "drinks")
		s.submit("ann", "Rings", "trees")
		must(t, s.Hide(ctx, "bob", tea.ID, true))
		must(t, s.Hide(ctx, "bob", tea.ID, true))
		lists := func(name string) [4][]string {
			return [4][]string{
				titles(s.front(name)),
				titles(look(s, func(ctx context.Context) (*forum.Page, error) { return s.Newest(ctx, name, "") })),
				titles(look(s, func(ctx context.Context) (*forum.Page, error) { return s.Tagged(ctx, name, "drinks", "") })),
				titles(look(s, func(ctx context.Context) (*forum.Page, error) { return s.Search(ctx, name, "te", "") })),
			}
		}
		all := [4][]string{{"Rings", "Tea"}, {"Rings", "Tea"}, {"Tea"}, {"Tea"}}
		some := [4][]string{{"Rings"}, {"Rings"}, {}, {}}
		same(t, "for ann", all, lists("ann"))
		same(t, "for bob", some, lists("bob"))
		same(t, "the page of the story", []string{"Tea"}, titles(s.story("bob", tea.ID)))
		must(t, s.Hide(ctx, "bob", tea.ID, false))
		same(t, "for bob again", all, lists("bob"))
		must(t, s.Mute(ctx, "bob", []string{"drinks", "words"}))
		same(t, "for bob, who mutes drinks", some, lists("bob"))
		must(t, s.Mute(ctx, "bob", nil))
		same(t, "for bob, who mutes nothing", all, lists("bob"))
	})
}

func TestHide_PagesOfAReaderWhoHidesMuchAddUpToTheRest(t *testing.T) {
	onEngines(t, func(s *site) {
		ctx, t := s.t.Context(), s.t
		s.join("ann", "bob")
		var want []string
		for i := range 400 {
			story := s.submit("ann", fmt.Sprint("Story ", i))
			if i < 20 || i >= 380 {
				want = append([]string{story.Title}, want...)
			} else {
				must(t, s.Hide(ctx, "bob", story.ID, true))
			}
		}
		s.flush()
		for name, list := range map[string]func(ctx context.Context, name, cursor string) (*forum.Page, error){"front": s.Front, "newest": s.Newest} {
			var got []string
			pages := 0
			for cursor := ""; pages == 0 || cursor != ""; pages++ {
				p, err := list(ctx, "bob", cursor)
				must(t, err)
				got, cursor = append(got, titles(p)...), p.Next
			}
			same(t, name, want, got)
			if pages > 4 {
				t.Errorf("%s: %d pages for 40 stories of 400", name, pages)
			}
		}
	})
}

func TestDelete_TakesCommentsVotesAndKarmaAlong(t *testing.T) {
	onEngines(t, func(s *site) {
		ctx, t := s.t.Context(), s.t
		s.join("ann", "bob", "cid")
		tea, rings := s.submit("ann", "Tea", "drinks"), s.submit("ann", "Rings")
		for _, story := range []*forum.Story{tea, rings} {
			c := s.comment("bob", story.ID, "", "Nice.")
			s.comment("ann", story.ID, c.ID, "Thank you.")
			must(t, s.VoteComment(ctx, "ann", c.ID, 1))
			must(t, s.VoteStory(ctx, "bob", story.ID, 1))
			must(t, s.VoteStory(ctx, "cid", story.ID, 1))
			must(t, s.Save(ctx, "cid", story.ID, true))
			must(t, s.Hide(ctx, "bob", story.ID, true))
		}
		if err := s.Delete(ctx, "bob", tea.ID); !errors.Is(err, forum.ErrForbidden) {
			t.Errorf("bob deletes ann's story: %v", err)
		}
		must(t, s.Delete(ctx, "ann", tea.ID))
		s.flush()
		if _, err := s.Story(ctx, "", tea.ID); !errors.Is(err, kvmodel.ErrNotFound) {
			t.Errorf("the page of the story: %v", err)
		}
		same(t, "front page", []string{"Rings"}, titles(s.front("cid")))
		same(t, "saved", []string{"Rings"}, titles(look(s, func(ctx context.Context) (*forum.Page, error) { return s.Saved(ctx, "cid", "") })))
		for name, want := range map[string]int64{"ann": 2, "bob": 1, "cid": 0} {
			if got := s.user("", name).User.Karma; got != want {
				t.Errorf("the karma of %s is %d, want %d", name, got, want)
			}
		}
		p := s.user("ann", "bob")
		if len(p.Comments) != 1 || p.Comments[0].On.Title != "Rings" || p.Unread != 1 {
			t.Errorf("bob's comments: %v; %d for ann to read", p.Comments, p.Unread)
		}
		same(t, "what is left", map[string]int{"comments": 2, "votes": 3, "saves": 1, "hides": 1}, s.left())
	})
}

func TestLeave_TakesTheUsersVotesBack(t *testing.T) {
	onEngines(t, func(s *site) {
		ctx, t := s.t.Context(), s.t
		s.join("ann", "bob", "cid")
		tea := s.submit("ann", "Tea")
		c := s.comment("bob", tea.ID, "", "Nice.")
		for _, name := range []string{"bob", "cid"} {
			must(t, s.VoteStory(ctx, name, tea.ID, 1))
			must(t, s.Save(ctx, name, tea.ID, true))
		}
		must(t, s.VoteComment(ctx, "cid", c.ID, 1))
		must(t, s.Leave(ctx, "bob"))
		p := s.story("cid", tea.ID)
		if p.Stories[0].Score != 1 || len(p.Comments) != 1 || p.Comments[0].Author != "bob" || p.Comments[0].Score != 1 {
			t.Errorf("score %d, comments %+v", p.Stories[0].Score, p.Comments)
		}
		if got := s.user("", "ann").User.Karma; got != 1 {
			t.Errorf("ann's karma is %d, want 1", got)
		}
		for name, page := range map[string]func() error{
			"his page":        func() error { _, err := s.User(ctx, "", "bob"); return err },
			"a page for him":  func() error { _, err := s.Front(ctx, "bob", ""); return err },
			"his second exit": func() error { return s.Leave(ctx, "bob") },
		} {
			if err := page(); !errors.Is(err, kvmodel.ErrNotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
		same(t, "what is left", map[string]int{"comments": 1, "votes": 2, "saves": 1, "hides": 0}, s.left())
	})
}

func TestRemove_LeavesAnEmptyCommentInTheTree(t *testing.T) {
	onEngines(t, func(s *site) {
		ctx, t := s.t.Context(), s.t
		s.join("ann", "bob")
		tea := s.submit("ann", "Tea")
		c := s.comment("bob", tea.ID, "", "Nice.")
		s.comment("ann", tea.ID, c.ID, "Thank you.")
		if err := s.Remove(ctx, "ann", c.ID); !errors.Is(err, forum.ErrForbidden) {
			t.Errorf("ann removes bob's comment: %v", err)
		}
		must(t, s.Remove(ctx, "bob", c.ID))
		p := s.story("ann", tea.ID)
		if len(p.Comments) != 2 || p.Comments[0].Text+p.Comments[0].Author != "" || p.Comments[1].Depth != 1 || p.Stories[0].Comments != 2 || p.Unread != 0 {
			t.Errorf("%+v, %d to read", p.Comments, p.Unread)
		}
		newest := look(s, func(ctx context.Context) (*forum.Page, error) { return s.NewestComments(ctx, "", "") })
		if len(newest.Comments) != 1 || newest.Comments[0].Text != "Thank you." {
			t.Errorf("newest comments: %+v", newest.Comments)
		}
	})
}

func TestSubmit_AURLIsTakenAndABlankTitleIsRefused(t *testing.T) {
	onEngines(t, func(s *site) {
		ctx, t := s.t.Context(), s.t
		n := forum.NewStory{URL: "https://example.com/tea", Title: "Tea"}
		first, err := s.Submit(ctx, "ann", n)
		must(t, err)
		_, err = s.Submit(ctx, "bob", n)
		if taken, ok := errors.AsType[*kvmodel.TakenError](err); !ok || taken.ID != first.ID {
			t.Errorf("the same URL: %v", err)
		}
		_, err = s.Submit(ctx, "bob", forum.NewStory{Title: " !"})
		if problems := kvmodel.ProblemsOf(err); problems["title"] == "" {
			t.Errorf("a blank title: %v", err)
		}
		must(t, s.Delete(ctx, "ann", first.ID))
		s.flush()
		_, err = s.Submit(ctx, "bob", n)
		must(t, err)
	})
}

// left returns the number of records that belong to others.
func (s *site) left() map[string]int {
	s.t.Helper()
	m := s.Models()
	return map[string]int{
		"comments": number(s, m.Comments.Records), "votes": number(s, m.Votes.Records),
		"saves": number(s, m.Saves.Records), "hides": number(s, m.Hides.Records),
	}
}

func number[T any, K comparable](s *site, records *kvmodel.Records[T, K]) (n int) {
	s.t.Helper()
	s.flush()
	for _, err := range records.All(s.t.Context()) {
		must(s.t, err)
		n++
	}
	return n
}
