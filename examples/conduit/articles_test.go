package conduit_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/examples/conduit"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
)

var ten = conduit.Part{Limit: 10}

func TestArticle_OneWithATitleThatAnotherHasGetsASlugOfItsOwn(t *testing.T) {
	onStores(t, func(t *testing.T, s *site) {
		slugs := map[string]string{}
		for _, name := range []string{"ann", "bob", "cid"} {
			for _, title := range []string{"Tea", "!?"} {
				slugs[s.publish(name, title)] = title + " by " + name
			}
		}
		if len(slugs) != 6 || slugs["tea"] != "Tea by ann" {
			t.Fatalf("slugs: %v", slugs)
		}
		for slug, want := range slugs {
			x, err := s.Article(t.Context(), "", slug)
			must(t, err)
			proof.Equal(t, x.Title+" by "+x.Author.Username, want, "%s", slug)
		}
	})
}

func TestUpdateArticle_ANewTitleMovesTheSlug(t *testing.T) {
	onStores(t, func(t *testing.T, s *site) {
		ctx, ann := t.Context(), s.ids["ann"]
		s.publish("ann", "Tea")
		title := "Green Tea"
		x, err := s.UpdateArticle(ctx, ann, "tea", conduit.ArticleChange{Title: &title})
		if err != nil || x.Slug != "green-tea" || x.Title != title || !x.UpdatedAt.After(x.CreatedAt) {
			t.Fatalf("%+v, %v", x, err)
		}
		proof.Is(t, done(s.Article(ctx, ann, "tea")), kvmodel.ErrNotFound)
		same, err := s.UpdateArticle(ctx, ann, "green-tea", conduit.ArticleChange{Title: &title})
		if err != nil || same.Slug != "green-tea" {
			t.Errorf("with the same title: %+v, %v", same, err)
		}
		s.flush()
		proof.Equal(t, s.publish("bob", "Tea"), "tea", "the old slug is not free")
		title = "Tea"
		x, err = s.UpdateArticle(ctx, ann, "green-tea", conduit.ArticleChange{Title: &title})
		if err != nil || x.Slug == "tea" || x.Title != "Tea" {
			t.Fatalf("%+v, %v", x, err)
		}
		must(t, done(s.Article(ctx, ann, x.Slug)))
	})
}

func TestDeleteArticle_TakesCommentsAndFavoritesAlong(t *testing.T) {
	onStores(t, func(t *testing.T, s *site) {
		ctx := t.Context()
		s.publish("ann", "Coffee", "drinks")
		s.publish("ann", "Tea", "drinks")
		for _, name := range []string{"bob", "cid"} {
			for _, slug := range []string{"tea", "coffee"} {
				must(t, done(s.Favorite(ctx, s.ids[name], slug)))
				must(t, done(s.AddComment(ctx, s.ids[name], slug, "Nice.")))
			}
		}
		must(t, s.DeleteArticle(ctx, s.ids["ann"], "tea"))
		for _, f := range []conduit.Filter{{}, {Tag: "drinks"}, {Author: "ann"}, {Favorited: "bob"}} {
			s.lists("bob", f, ten, 1, "Coffee")
		}
		proof.NoDiff(t, cmp.Diff(map[string]int{"comments": 2, "favorites": 2}, s.left()), "left")
		proof.Equal(t, s.publish("bob", "Tea"), "tea", "the slug is not free")
		if all, err := s.Comments(ctx, "", "tea"); err != nil || len(all) != 0 {
			t.Errorf("a new article at the slug has comments: %v, %v", all, err)
		}
	})
}

func TestList_HasTheNewestFirstAndHowManyThereAre(t *testing.T) {
	onStores(t, func(t *testing.T, s *site) {
		var all, odd, anns []string
		for i := range 25 {
			name, tags := "ann", []string(nil)
			if i%5 == 0 {
				name = "bob"
			}
			if i%2 == 1 {
				tags = []string{"odd"}
			}
			title := fmt.Sprint("Part ", i)
			s.publish(name, title, tags...)
			all = append([]string{title}, all...)
			if i%2 == 1 {
				odd = append([]string{title}, odd...)
			}
			if name == "ann" {
				anns = append([]string{title}, anns...)
			}
		}
		for _, test := range []struct {
			filter conduit.Filter
			of     []string
		}{
			{conduit.Filter{}, all},
			{conduit.Filter{Tag: "odd"}, odd},
			{conduit.Filter{Author: "ann"}, anns},
			{conduit.Filter{Author: "cid"}, nil},
			{conduit.Filter{Author: "nobody"}, nil},
			{conduit.Filter{Favorited: "nobody"}, nil},
		} {
			for _, part := range []conduit.Part{{Limit: 10}, {Limit: 10, Offset: 7}, {Limit: 10, Offset: 20}, {Limit: 10, Offset: 25}, {Limit: 10, Offset: 1000}, {Offset: 3}} {
				want := test.of[min(part.Offset, len(test.of)):min(part.Offset+part.Limit, len(test.of))]
				s.lists("cid", test.filter, part, len(test.of), want...)
			}
		}
	})
}

func TestFeed_IsOfThoseWhomTheReaderFollows(t *testing.T) {
	onStores(t, func(t *testing.T, s *site) {
		ctx, cid := t.Context(), s.ids["cid"]
		feed := func(part conduit.Part, total int, want ...string) {
			t.Helper()
			s.flush()
			p, err := s.Feed(ctx, cid, part)
			must(t, err)
			hasTitles(t, p, total, want...)
			for _, x := range p.Articles {
				if !x.Author.Following {
					t.Errorf("%s is by %+v", x.Title, x.Author)
				}
			}
		}
		feed(ten, 0)
		must(t, done(s.Follow(ctx, cid, "ann")))
		feed(ten, 0)
		s.publish("ann", "One")
		s.publish("bob", "Two")
		s.publish("ann", "Three")
		feed(ten, 2, "Three", "One")
		must(t, done(s.Follow(ctx, cid, "bob")))
		feed(ten, 3, "Three", "Two", "One")
		feed(conduit.Part{Limit: 1, Offset: 1}, 3, "Two")
		feed(conduit.Part{Limit: 5, Offset: 2}, 3, "One")
		feed(conduit.Part{Limit: 5, Offset: 3}, 3)
		feed(conduit.Part{Limit: 5, Offset: 5000}, 3)
		must(t, s.DeleteArticle(ctx, s.ids["ann"], "three"))
		feed(ten, 2, "Two", "One")
		must(t, done(s.Unfollow(ctx, cid, "ann")))
		feed(ten, 1, "Two")
	})
}

func TestTags_AreThoseThatArticlesHaveTheCommonestFirst(t *testing.T) {
	onStores(t, func(t *testing.T, s *site) {
		wantTags := func(want ...string) {
			t.Helper()
			must(t, s.db.Flush(t.Context()))
			got, err := s.Tags(t.Context())
			proof.Is(t, err, nil)
			proof.NoDiff(t, cmp.Diff(want, got), "tags")
		}
		s.publish("ann", "One", "go")
		two := s.publish("ann", "Two", "go", "tea")
		wantTags("go", "tea")
		tags := []string{"rings"}
		must(t, done(s.UpdateArticle(t.Context(), s.ids["ann"], two, conduit.ArticleChange{TagList: &tags})))
		s.publish("ann", "Three", "rings")
		s.publish("ann", "Four", "rings")
		wantTags("rings", "go")
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

func TestUpdateUser_ChangesWhatIsGiven(t *testing.T) {
	onStores(t, func(t *testing.T, s *site) {
		ctx := t.Context()
		name, bio, password := "anna", "Likes rings.", "another secret"
		u, err := s.UpdateUser(ctx, s.ids["ann"], conduit.UserChange{Username: &name, Bio: &bio, Password: &password})
		must(t, err)
		want := &conduit.Account{ID: s.ids["ann"], Email: "ann@example.com", Username: "anna", Bio: &bio}
		proof.NoDiff(t, cmp.Diff(want, u), "account")
		proof.Is(t, done(s.Login(ctx, "ann@example.com", "ann's secret")), conduit.ErrWrong)
		must(t, done(s.Login(ctx, "ann@example.com", password)))
		proof.Is(t, done(s.Profile(ctx, "", "ann")), kvmodel.ErrNotFound)
		must(t, done(s.Profile(ctx, "", "anna")))
		s.flush()
		must(t, done(s.Register(ctx, conduit.NewUser{Username: "ann", Email: "free@example.com", Password: "secret"})))
	})
}
