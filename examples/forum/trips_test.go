package forum_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/ringtree/ringtree/examples/forum"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// Each call is measured on a store like a server, in a process that has made it before, with
// something new since. The first four lists mostly take a trip less.
func TestTrips_OfEachCallAreWithinItsBudget(t *testing.T) {
	c := new(clock)
	s := newSite(t, serverLike{memkv.New(memkv.Options{Now: c.Now})}, c)
	ctx := t.Context()
	s.join("ann", "bob", "cid")
	var all []*forum.Story
	for i := range 100 {
		all = append(all, s.submit("ann", fmt.Sprintf("Theory of rings %d", i), "rings", "trees"))
		must(t, s.Save(ctx, "bob", all[i].ID, true))
	}
	for range 90 {
		s.comment("cid", all[99].ID, "", "Yes.")
	}
	for _, story := range all[:5] {
		must(t, s.Hide(ctx, "bob", story.ID, true))
	}
	must(t, s.Mute(ctx, "bob", []string{"tea"}))
	var read, liked *forum.Story
	var said *forum.Comment
	news := func() {
		liked = s.submit("ann", "More of the theory", "rings")
		must(t, s.VoteStory(ctx, "bob", liked.ID, 1))
		must(t, s.Save(ctx, "bob", liked.ID, true))
		read = s.submit("ann", "Even more of the theory", "rings")
		must(t, s.VoteStory(ctx, "cid", read.ID, 1))
		s.comment("ann", all[99].ID, s.comment("bob", all[99].ID, "", "Once more.").ID, "Thanks.")
		said = s.comment("cid", all[98].ID, "", "Well.")
	}
	value := int64(1)
	for _, call := range []struct {
		name  string
		guest int
		most  int
		do    func(ctx context.Context, name string) error
	}{
		{"front page", 3, 5, page(func(ctx context.Context, name string) (*forum.Page, error) { return s.Front(ctx, name, "") })},
		{"newest", 3, 5, page(func(ctx context.Context, name string) (*forum.Page, error) { return s.Newest(ctx, name, "") })},
		{"tag", 3, 5, page(func(ctx context.Context, name string) (*forum.Page, error) { return s.Tagged(ctx, name, "rings", "") })},
		{"search", 3, 5, page(func(ctx context.Context, name string) (*forum.Page, error) { return s.Search(ctx, name, "theo", "") })},
		{"story with 90 comments", 2, 3, page(func(ctx context.Context, name string) (*forum.Page, error) { return s.Story(ctx, name, all[99].ID) })},
		{"newest comments", 3, 3, page(func(ctx context.Context, name string) (*forum.Page, error) { return s.NewestComments(ctx, name, "") })},
		{"user", 3, 3, page(func(ctx context.Context, name string) (*forum.Page, error) { return s.User(ctx, name, "ann") })},
		{"replies", 0, 3, page(func(ctx context.Context, name string) (*forum.Page, error) { return s.Replies(ctx, name, "") })},
		{"saved", 0, 5, page(func(ctx context.Context, name string) (*forum.Page, error) { return s.Saved(ctx, name, "") })},
		{"best", 2, 2, func(ctx context.Context, _ string) error { _, err := s.Best(ctx); return err }},
		{"submission", 0, 2, func(ctx context.Context, name string) error {
			_, err := s.Submit(ctx, name, forum.NewStory{URL: fmt.Sprint("https://example.com/", s.clock.Now().UnixNano()), Title: "Theory of rings", Tags: []string{"rings"}})
			return err
		}},
		{"comment", 0, 4, func(ctx context.Context, name string) error {
			_, err := s.Comment(ctx, name, all[99].ID, "", "Yes.")
			return err
		}},
		{"answer", 0, 5, func(ctx context.Context, name string) error {
			_, err := s.Comment(ctx, name, said.Story, said.ID, "Yes.")
			return err
		}},
		{"vote", 0, 4, func(ctx context.Context, name string) error { return s.VoteStory(ctx, name, read.ID, 1) }},
		{"change of a vote", 0, 4, func(ctx context.Context, name string) error {
			value *= -1
			return s.VoteStory(ctx, name, all[50].ID, value)
		}},
		{"vote for a comment", 0, 5, func(ctx context.Context, name string) error { return s.VoteComment(ctx, name, said.ID, 1) }},
		{"undo of a vote", 0, 3, func(ctx context.Context, name string) error { return s.VoteStory(ctx, name, liked.ID, 0) }},
		{"look", 0, 2, func(ctx context.Context, name string) error { return s.Look(ctx, name) }},
	} {
		for _, by := range []struct {
			name string
			most int
		}{{"", call.guest}, {"bob", call.most}} {
			if by.most == 0 {
				continue
			}
			news()
			must(t, call.do(ctx, by.name))
			var cost kv.Cost
			for n := range 3 { // A page may have to replace entries that have just moved.
				news()
				s.flush()
				s.clock.pass(2 * time.Second) // A process keeps a record for an update for a second.
				metered, meter := kvmodel.Metered(ctx)
				must(t, call.do(metered, by.name))
				if n == 0 || meter.Cost().Trips < cost.Trips {
					cost = meter.Cost()
				}
			}
			t.Logf("%s for %q: %v", call.name, by.name, cost)
			if cost.Trips > by.most {
				t.Errorf("%s for %q: %d trips, want at most %d", call.name, by.name, cost.Trips, by.most)
			}
		}
	}
}

func page(get func(ctx context.Context, name string) (*forum.Page, error)) func(ctx context.Context, name string) error {
	return func(ctx context.Context, name string) error { _, err := get(ctx, name); return err }
}
