package conduit

import (
	"context"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
)

// Account is a user as the user sees it.
type Account struct {
	ID       string  `json:"-"`
	Email    string  `json:"email"`
	Token    string  `json:"token"`
	Username string  `json:"username"`
	Bio      *string `json:"bio"`
	Image    *string `json:"image"`
}

// Profile is a user as others see it.
type Profile struct {
	Username  string  `json:"username"`
	Bio       *string `json:"bio"`
	Image     *string `json:"image"`
	Following bool    `json:"following"`
}

// ArticleView is an article as a viewer sees it. Lists leave out the body.
type ArticleView struct {
	Slug           string    `json:"slug"`
	Title          string    `json:"title"`
	Description    string    `json:"description"`
	Body           string    `json:"body,omitempty"`
	TagList        []string  `json:"tagList"`
	CreatedAt      time.Time `json:"createdAt"`
	UpdatedAt      time.Time `json:"updatedAt"`
	Favorited      bool      `json:"favorited"`
	FavoritesCount int64     `json:"favoritesCount"`
	Author         Profile   `json:"author"`
}

// ArticlePage is a page of articles, with their total number.
type ArticlePage struct {
	Articles      []ArticleView `json:"articles"`
	ArticlesCount int           `json:"articlesCount"`
}

// CommentView is a comment as a viewer sees it.
type CommentView struct {
	ID        int64     `json:"id"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
	Body      string    `json:"body"`
	Author    Profile   `json:"author"`
}

func accountOf(u *User) *Account {
	return &Account{ID: u.ID, Email: u.Email, Username: u.Username, Bio: orNull(&u.Bio), Image: orNull(&u.Image)}
}

// orNull returns nil, which is null in JSON, for an empty text.
func orNull(text *string) *string {
	if *text == "" {
		return nil
	}
	return text
}

func viewOf(x *Article, author Profile, favorited bool) ArticleView {
	return ArticleView{
		Slug: x.Slug, Title: x.Title, Description: x.Description, Body: x.Body,
		TagList: orEmpty(x.Tags), CreatedAt: x.Made, UpdatedAt: x.Edited,
		Favorited: favorited, FavoritesCount: x.Favorites, Author: author,
	}
}

// orEmpty returns an empty list, which is [] in JSON, for none.
func orEmpty(texts []string) []string {
	if texts == nil {
		return []string{}
	}
	return texts
}

type byline struct{ article, author string }

type seen struct {
	profiles  map[string]Profile
	favorites map[string]bool
}

// see loads the additional data for a viewer's page, each record once, in one trip.
func (a *App) see(ctx context.Context, viewer string, of []byline) (seen, error) {
	var favorites map[FavoriteID]*Favorite
	s := seen{favorites: map[string]bool{}}
	err := a.db.SideBySide(ctx,
		func(ctx context.Context) (err error) { s.profiles, err = a.profiles(ctx, viewer, of); return err },
		func(ctx context.Context) (err error) {
			favorites, err = kvmodel.Load(ctx, a.m.Favorites.Records, of, func(b byline) FavoriteID { return FavoriteID{viewer, b.article, b.author} })
			return err
		},
	)
	for id := range favorites {
		s.favorites[id.Article] = true
	}
	return s, err
}

func (a *App) profiles(ctx context.Context, viewer string, of []byline) (map[string]Profile, error) {
	var users map[string]*User
	var follows map[FollowID]*Follow
	err := a.db.SideBySide(ctx,
		func(ctx context.Context) (err error) {
			users, err = kvmodel.Load(ctx, a.m.Users.Records, of, func(b byline) string { return b.author })
			return err
		},
		func(ctx context.Context) (err error) {
			follows, err = kvmodel.Load(ctx, a.m.Follows.Records, of, func(b byline) FollowID { return FollowID{viewer, b.author} })
			return err
		},
	)
	profiles := make(map[string]Profile, len(users))
	for id, u := range users {
		profiles[id] = profileOf(u, follows[FollowID{viewer, id}] != nil)
	}
	return profiles, err
}

func profileOf(u *User, following bool) Profile {
	return Profile{Username: u.Username, Bio: orNull(&u.Bio), Image: orNull(&u.Image), Following: following}
}

func (a *App) view(ctx context.Context, viewer string, x *Article) (*ArticleView, error) {
	s, err := a.see(ctx, viewer, bylines(x))
	if err != nil {
		return nil, err
	}
	v := viewOf(x, s.profiles[x.Author], s.favorites[x.ID])
	return &v, nil
}

// page returns articles as viewer sees them, of total, in one trip.
func (a *App) page(ctx context.Context, viewer string, articles []*Article, total int) (*ArticlePage, error) {
	s, err := a.see(ctx, viewer, bylines(articles...))
	if err != nil {
		return nil, err
	}
	return s.page(articles, total), nil
}

func (s seen) page(articles []*Article, total int) *ArticlePage {
	p := &ArticlePage{Articles: make([]ArticleView, 0, len(articles)), ArticlesCount: total}
	for _, x := range articles {
		v := viewOf(x, s.profiles[x.Author], s.favorites[x.ID])
		v.Body = ""
		p.Articles = append(p.Articles, v)
	}
	return p
}

func bylines(articles ...*Article) []byline {
	all := make([]byline, len(articles))
	for i, x := range articles {
		all[i] = byline{x.ID, x.Author}
	}
	return all
}
