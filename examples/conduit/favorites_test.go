package conduit_test

import (
	"testing"

	"github.com/ringtree/ringtree/examples/conduit"
)

func TestFavorite_CountsEachReaderOnce(t *testing.T) {
	onStores(t, func(t *testing.T, s *site) {
		s.publish("ann", "Tea")
		for _, step := range []struct {
			name  string
			likes bool
			count int64
		}{{"bob", true, 1}, {"bob", true, 1}, {"cid", true, 2}, {"bob", false, 1}, {"bob", false, 1}, {"cid", false, 0}, {"cid", true, 1}} {
			do := s.Unfavorite
			if step.likes {
				do = s.Favorite
			}
			x, err := do(t.Context(), s.ids[step.name], "tea")
			if err != nil || x.Favorited != step.likes || x.FavoritesCount != step.count || x.Author.Username != "ann" {
				t.Errorf("%+v: %+v, %v", step, x, err)
			}
			for _, viewer := range []string{step.name, "ann"} {
				x, err := s.Article(t.Context(), s.ids[viewer], "tea")
				if want := step.likes && viewer == step.name; err != nil || x.Favorited != want || x.FavoritesCount != step.count {
					t.Errorf("after %+v %s sees %+v, %v", step, viewer, x, err)
				}
			}
		}
	})
}

func TestFavorites_AreInTheOrderOfTheArticles(t *testing.T) {
	onStores(t, func(t *testing.T, s *site) {
		for _, title := range []string{"One", "Two", "Three", "Four"} {
			s.publish("ann", title)
		}
		for _, slug := range []string{"three", "one", "four"} {
			must(t, done(s.Favorite(t.Context(), s.ids["bob"], slug)))
		}
		must(t, done(s.Follow(t.Context(), s.ids["bob"], "ann")))
		p := s.lists("bob", conduit.Filter{Favorited: "bob"}, conduit.Part{Limit: 2, Offset: 1}, 3, "Three", "One")
		for _, x := range p.Articles {
			if !x.Favorited || x.FavoritesCount != 1 || !x.Author.Following {
				t.Errorf("%+v", x)
			}
		}
		s.lists("cid", conduit.Filter{Favorited: "cid"}, ten, 0)
	})
}
