package forum_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/ringtree/ringtree/examples/forum"
	"github.com/ringtree/ringtree/kvmodel"
)

// The reference of the site does not refuse these.
func TestForum_RefusesABlankTitleAndAVoteOfTwo(t *testing.T) {
	onEngines(t, func(s *site) {
		ctx, t := s.t.Context(), s.t
		s.join("ann", "bob")
		if err := s.VoteStory(ctx, "bob", s.submit("ann", "Tea").ID, 2); !errors.Is(err, kvmodel.ErrInvalid) {
			t.Errorf("a vote of two: %v", err)
		}
		_, err := s.Submit(ctx, "bob", forum.NewStory{Title: " !"})
		if kvmodel.ProblemsOf(err)["title"] == "" {
			t.Errorf("a blank title: %v", err)
		}
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
				for _, story := range p.Stories {
					got = append(got, story.Title)
				}
				cursor = p.Next
			}
			same(t, name, want, got)
			if pages > 4 {
				t.Errorf("%s: %d pages for 40 stories of 400", name, pages)
			}
		}
	})
}
