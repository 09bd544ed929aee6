package forum_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ringtree/ringtree/examples/forum"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
	"github.com/ringtree/ringtree/kvmodel/kvopen/all"
)

// clock advances by a millisecond each time it is read, so that no two things have the same time.
type clock struct{ ms atomic.Int64 }

func (c *clock) Now() time.Time { return time.UnixMilli(1_800_000_000_000 + c.ms.Add(1)) }

func (c *clock) pass(d time.Duration) { c.ms.Add(d.Milliseconds()) }

type site struct {
	*forum.Forum
	t     *testing.T
	db    *kvmodel.DB
	clock *clock
}

func onEngines(t *testing.T, f func(s *site)) {
	servers.EachStore(t, func(t *testing.T, url string) {
		store, err := kvopen.Store(t.Context(), url, all.Engines)
		must(t, err)
		f(newSite(t, store, new(clock)))
	})
}

func newSite(t *testing.T, store kv.Store, c *clock) *site {
	t.Helper()
	db, err := kvmodel.Open(store, kvmodel.Clock(c.Now))
	must(t, err)
	t.Cleanup(func() { _ = db.Close(context.WithoutCancel(t.Context())) })
	return &site{forum.Open(db), t, db, c}
}

type serverLike struct{ kv.Store }

func (serverLike) Powers() kv.Powers { return kv.Powers{Unless: true, Ordered: true} }

func (s *site) flush() {
	s.t.Helper()
	must(s.t, s.db.Flush(s.t.Context()))
}

func (s *site) join(names ...string) {
	s.t.Helper()
	for _, name := range names {
		must(s.t, s.Join(s.t.Context(), name, "About "+name))
	}
}

func (s *site) submit(name, title string, tags ...string) *forum.Story {
	s.t.Helper()
	s.clock.pass(time.Second)
	story, err := s.Submit(s.t.Context(), name, forum.NewStory{Title: title, Text: "All about it.", Tags: tags})
	must(s.t, err)
	return story
}

func (s *site) comment(name, story, parent, text string) *forum.Comment {
	s.t.Helper()
	s.clock.pass(time.Second)
	c, err := s.Comment(s.t.Context(), name, story, parent, text)
	must(s.t, err)
	return c
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s mismatch (-want +got):\n%.3000s", what, diff)
	}
}

var must = proof.Must

func TestForum_RefusesABlankTitleAndAVoteOfTwo(t *testing.T) {
	onEngines(t, func(s *site) {
		ctx, t := s.t.Context(), s.t
		s.join("ann", "bob")
		proof.Is(t, s.VoteStory(ctx, "bob", s.submit("ann", "Tea").ID, 2), kvmodel.ErrInvalid)
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
