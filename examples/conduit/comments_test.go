package conduit_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/examples/conduit"
	"github.com/ringtree/ringtree/kvmodel"
)

func TestComments_AreThoseOfTheArticleOldestFirst(t *testing.T) {
	onStores(t, func(t *testing.T, s *site) {
		ctx := t.Context()
		s.publish("ann", "Tea")
		s.publish("ann", "Coffee")
		if all, err := s.Comments(ctx, "", "tea"); err != nil || all == nil || len(all) != 0 {
			t.Errorf("before the first: %v, %v", all, err)
		}
		must(t, done(s.Follow(ctx, s.ids["ann"], "bob")))
		for _, c := range [][3]string{{"bob", "tea", "First!"}, {"cid", "coffee", "Elsewhere."}, {"cid", "tea", "Second."}, {"bob", "tea", "Third."}} {
			view, err := s.AddComment(ctx, s.ids[c[0]], c[1], c[2])
			if err != nil || view.Body != c[2] || view.Author.Username != c[0] || view.ID == 0 || view.CreatedAt.IsZero() {
				t.Errorf("%+v, %v", view, err)
			}
		}
		all, err := s.Comments(ctx, s.ids["ann"], "tea")
		must(t, err)
		var got []string
		for _, c := range all {
			if c.Author.Following != (c.Author.Username == "bob") {
				t.Errorf("ann sees %+v", c.Author)
			}
			got = append(got, c.Author.Username+": "+c.Body)
		}
		if diff := cmp.Diff([]string{"bob: First!", "cid: Second.", "bob: Third."}, got); diff != "" {
			t.Errorf("comments mismatch (-want +got):\n%s", diff)
		}
	})
}

func TestDeleteComment_IsForItsAuthorAndAtItsArticle(t *testing.T) {
	onStores(t, func(t *testing.T, s *site) {
		ctx := t.Context()
		s.publish("ann", "Tea")
		s.publish("ann", "Coffee")
		c, err := s.AddComment(ctx, s.ids["bob"], "tea", "Nice.")
		must(t, err)
		for _, test := range []struct {
			what, viewer, slug string
			id                 int64
			about              string
			want               error
		}{
			{"by another", "ann", "tea", c.ID, "comment", conduit.ErrForbidden},
			{"at another article", "bob", "coffee", c.ID, "comment", kvmodel.ErrNotFound},
			{"at none", "bob", "none", c.ID, "article", kvmodel.ErrNotFound},
			{"of no comment", "bob", "tea", c.ID + 1, "comment", kvmodel.ErrNotFound},
		} {
			err := s.DeleteComment(ctx, s.ids[test.viewer], test.slug, test.id)
			e, ok := errors.AsType[*conduit.Error](err)
			if !ok || e.About != test.about || !errors.Is(err, test.want) {
				t.Errorf("%s: %v; want about the %s %v", test.what, err, test.about, test.want)
			}
		}
		must(t, s.DeleteComment(ctx, s.ids["bob"], "tea", c.ID))
		if all, err := s.Comments(ctx, "", "tea"); err != nil || len(all) != 0 {
			t.Errorf("afterwards: %v, %v", all, err)
		}
		if err := s.DeleteComment(ctx, s.ids["bob"], "tea", c.ID); !errors.Is(err, kvmodel.ErrNotFound) {
			t.Errorf("again: %v", err)
		}
	})
}
