package conduit

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/kvmodel"
)

// favorited reads the ids of all articles that user likes in one trip, and the records of the part,
// newest first, in another.
func (a *App) favorited(ctx context.Context, viewer, user string, part Part) (*ArticlePage, error) {
	var all []byline
	for id, err := range a.m.Favorites.ByUser.Of(user).IDs(ctx) {
		if err != nil {
			return nil, err
		}
		all = append(all, byline{id.Article, id.Author})
	}
	// Ids of articles sort by creation time.
	slices.SortFunc(all, func(a, b byline) int { return strings.Compare(b.article, a.article) })
	shown := part.of(all)

	var articles map[string]*Article
	var s seen
	err := a.db.SideBySide(ctx,
		func(ctx context.Context) (err error) {
			articles, err = kvmodel.Load(ctx, a.m.Articles.Records, shown, func(b byline) string { return b.article })
			return err
		},
		func(ctx context.Context) (err error) { s, err = a.see(ctx, viewer, shown); return err },
	)
	if err != nil {
		return nil, err
	}
	var inOrder []*Article
	for _, b := range shown {
		if x := articles[b.article]; x != nil {
			inOrder = append(inOrder, x)
		}
	}
	return s.page(inOrder, len(all)), nil
}

// Favorite is POST /api/articles/{slug}/favorite. Repeating it has no effect.
func (a *App) Favorite(ctx context.Context, viewer, slug string) (*ArticleView, error) {
	return a.like(ctx, viewer, slug, true, func(ctx context.Context, id FavoriteID) (int64, error) {
		err := a.m.Favorites.Create(ctx, &Favorite{User: id.User, Article: id.Article, Author: id.Author})
		if errors.Is(err, kvmodel.ErrExists) {
			return 0, nil
		}
		return 1, err
	})
}

// Unfavorite is DELETE /api/articles/{slug}/favorite.
func (a *App) Unfavorite(ctx context.Context, viewer, slug string) (*ArticleView, error) {
	return a.like(ctx, viewer, slug, false, func(ctx context.Context, id FavoriteID) (int64, error) {
		err := a.m.Favorites.Delete(ctx, id)
		if errors.Is(err, kvmodel.ErrNotFound) {
			return 0, nil
		}
		return -1, err
	})
}

// like changes whether viewer likes the article at slug, and returns the new view. change returns
// the change in the number of favorites; it runs in parallel with the reads.
func (a *App) like(ctx context.Context, viewer, slug string, likes bool, change func(context.Context, FavoriteID) (int64, error)) (*ArticleView, error) {
	x, err := a.article(ctx, slug)
	if err != nil {
		return nil, err
	}
	var more int64
	var authors map[string]Profile
	err = a.db.SideBySide(ctx,
		func(ctx context.Context) (err error) {
			more, err = change(ctx, FavoriteID{User: viewer, Article: x.ID, Author: x.Author})
			return err
		},
		func(ctx context.Context) (err error) { authors, err = a.profiles(ctx, viewer, bylines(x)); return err },
	)
	if err != nil {
		return nil, err
	}
	x.Favorites += more
	v := viewOf(x, authors[x.Author], likes)
	return &v, nil
}
