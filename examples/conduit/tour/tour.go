// Package tour calls the endpoints of the example, to measure their cost.
package tour

import (
	"context"
	"errors"
	"fmt"

	"github.com/ringtree/ringtree/examples/conduit"
)

// Call is a call of an endpoint. It can be repeated, one at a time.
type Call struct {
	Endpoint string
	With     string

	// Most is the maximum number of trips of the call on a server, in a process that has made it
	// seconds ago, and New the maximum with something new since; 0 means Most.
	Most, New int

	// Reads: the call changes nothing, and Before changes its result. Otherwise Before prepares the
	// next call. Before may be nil.
	Reads  bool
	Before func(context.Context) error

	Do func(context.Context) error
}

// Calls fills app, which is empty, and returns calls of its endpoints.
func Calls(ctx context.Context, app *conduit.App) ([]Call, error) {
	s := &site{app: app, ids: map[string]string{}}
	if err := s.fill(ctx); err != nil {
		return nil, err
	}
	return s.calls(), nil
}

// site is an app with some members; bob follows all of them.
type site struct {
	app *conduit.App
	ids map[string]string
	n   int

	first *conduit.ArticleView // by ann; bob likes it
	other *conduit.ArticleView
	note  *conduit.CommentView // by bob on the first
	guest *conduit.Account
}

var members = []string{"ann", "bob", "cid", "dot", "eve", "fay", "gus", "hal"}

const each = 20

func (s *site) fill(ctx context.Context) error {
	for _, name := range members {
		u, err := s.app.Register(ctx, person(name))
		if err != nil {
			return err
		}
		s.ids[name] = u.ID
	}
	for range each {
		for _, name := range members {
			if err := s.publish(ctx, name); err != nil {
				return err
			}
		}
	}
	for _, name := range members {
		if _, err := s.app.Follow(ctx, s.ids["bob"], name); err != nil {
			return err
		}
	}
	if err := s.publish(ctx, "ann"); err != nil {
		return err
	}
	s.first = s.other
	if err := s.publish(ctx, "ann"); err != nil {
		return err
	}
	if _, err := s.app.Favorite(ctx, s.ids["bob"], s.first.Slug); err != nil {
		return err
	}
	return s.comment(ctx)
}

func person(name string) conduit.NewUser {
	return conduit.NewUser{Username: name, Email: name + "@example.com", Password: "secret"}
}

func (s *site) fresh(text string) string {
	s.n++
	return fmt.Sprintf("%s %04d", text, s.n)
}

func (s *site) article(tags ...string) conduit.NewArticle {
	return conduit.NewArticle{Title: s.fresh("Rings"), Description: "What they are for", Body: "A ring keeps the newest.", TagList: tags}
}

// publish sets s.other to a new article by that member. Its tags are in use by others, and the
// process has read it before.
func (s *site) publish(ctx context.Context, name string) (err error) {
	if s.other, err = s.app.CreateArticle(ctx, s.ids[name], s.article("go", "store")); err != nil {
		return err
	}
	return last(s.app.Article(ctx, "", s.other.Slug))
}

func (s *site) arrive(ctx context.Context) (err error) {
	if s.guest, err = s.app.Register(ctx, person(s.fresh("guest"))); err != nil {
		return err
	}
	return last(s.app.Profile(ctx, "", s.guest.Username))
}

func (s *site) comment(ctx context.Context) (err error) {
	s.note, err = s.app.AddComment(ctx, s.ids["bob"], s.first.Slug, s.fresh("Nice."))
	return err
}

func (s *site) calls() []Call {
	ann, bob, app := s.ids["ann"], s.ids["bob"], s.app
	published := func(ctx context.Context) error { return s.publish(ctx, "ann") }
	liked := func(ctx context.Context) error {
		return errors.Join(published(ctx), last(app.Favorite(ctx, s.ids["cid"], s.other.Slug)))
	}
	likedByBoth := func(ctx context.Context) error {
		return errors.Join(liked(ctx), last(app.Favorite(ctx, bob, s.other.Slug)))
	}
	likedByBob := func(ctx context.Context) error {
		return errors.Join(published(ctx), last(app.Favorite(ctx, bob, s.other.Slug)))
	}
	followed := func(ctx context.Context) error {
		return errors.Join(s.arrive(ctx), last(app.Follow(ctx, bob, s.guest.Username)))
	}
	part := conduit.Part{Limit: 20}
	const reads, changes = true, false
	return []Call{
		{"POST /api/users", "", 2, 0, changes, nil, func(ctx context.Context) error { return last(app.Register(ctx, person(s.fresh("guest")))) }},
		{"POST /api/users/login", "", 1, 0, reads, nil, func(ctx context.Context) error { return last(app.Login(ctx, "ann@example.com", "secret")) }},
		{"GET /api/user", "", 1, 0, reads, nil, func(ctx context.Context) error { return last(app.CurrentUser(ctx, ann)) }},
		{"PUT /api/user", "", 2, 0, changes, nil, func(ctx context.Context) error {
			bio := s.fresh("Reads a lot.")
			return last(app.UpdateUser(ctx, ann, conduit.UserChange{Bio: &bio}))
		}},
		{"PUT /api/user", "another email", 3, 0, changes, nil, func(ctx context.Context) error {
			email := s.fresh("hal@example.com")
			return last(app.UpdateUser(ctx, s.ids["hal"], conduit.UserChange{Email: &email}))
		}},
		{"GET /api/profiles/{username}", "", 2, 0, reads, nil, func(ctx context.Context) error { return last(app.Profile(ctx, bob, "ann")) }},
		{"POST /api/profiles/{username}/follow", "", 3, 0, changes, s.arrive, func(ctx context.Context) error { return last(app.Follow(ctx, bob, s.guest.Username)) }},
		{"DELETE /api/profiles/{username}/follow", "", 3, 0, changes, followed, func(ctx context.Context) error { return last(app.Unfollow(ctx, bob, s.guest.Username)) }},
		{"GET /api/articles", "", 2, 3, reads, published, func(ctx context.Context) error { return last(app.List(ctx, bob, conduit.Filter{}, part)) }},
		{"GET /api/articles", "offset=40", 2, 3, reads, published, func(ctx context.Context) error {
			return last(app.List(ctx, bob, conduit.Filter{}, conduit.Part{Limit: 20, Offset: 40}))
		}},
		{"GET /api/articles", "tag=", 2, 3, reads, published, func(ctx context.Context) error { return last(app.List(ctx, bob, conduit.Filter{Tag: "go"}, part)) }},
		{"GET /api/articles", "author=", 3, 4, reads, published, func(ctx context.Context) error { return last(app.List(ctx, bob, conduit.Filter{Author: "ann"}, part)) }},
		{"GET /api/articles", "favorited=", 3, 0, reads, likedByBob, func(ctx context.Context) error {
			return last(app.List(ctx, ann, conduit.Filter{Favorited: "bob"}, part))
		}},
		{"GET /api/articles/feed", "", 3, 4, reads, published, func(ctx context.Context) error { return last(app.Feed(ctx, bob, part)) }},
		{"GET /api/articles/{slug}", "", 2, 0, reads, nil, func(ctx context.Context) error { return last(app.Article(ctx, bob, s.first.Slug)) }},
		{"POST /api/articles", "two tags", 4, 0, changes, nil, func(ctx context.Context) error { return last(app.CreateArticle(ctx, ann, s.article("go", "store"))) }},
		{"POST /api/articles", "two tags that nobody has used", 7, 0, changes, nil, func(ctx context.Context) error {
			return last(app.CreateArticle(ctx, ann, s.article(s.fresh("go"), s.fresh("store"))))
		}},
		{"PUT /api/articles/{slug}", "", 4, 0, changes, nil, func(ctx context.Context) error {
			body := s.fresh("A ring forgets.")
			return last(app.UpdateArticle(ctx, ann, s.first.Slug, conduit.ArticleChange{Body: &body}))
		}},
		{"PUT /api/articles/{slug}", "another title", 5, 0, changes, published, func(ctx context.Context) error {
			title := s.fresh("Trees")
			return last(app.UpdateArticle(ctx, ann, s.other.Slug, conduit.ArticleChange{Title: &title}))
		}},
		{"PUT /api/articles/{slug}", "another tag", 6, 0, changes, published, func(ctx context.Context) error {
			tags := []string{"go", "rings"}
			return last(app.UpdateArticle(ctx, ann, s.other.Slug, conduit.ArticleChange{TagList: &tags}))
		}},
		{"DELETE /api/articles/{slug}", "", 3, 0, changes, published, func(ctx context.Context) error { return app.DeleteArticle(ctx, ann, s.other.Slug) }},
		{"GET /api/tags", "", 1, 2, reads, published, func(ctx context.Context) error { return last(app.Tags(ctx)) }},
		{"GET /api/articles/{slug}/comments", "", 3, 4, reads, s.comment, func(ctx context.Context) error { return last(app.Comments(ctx, ann, s.first.Slug)) }},
		{"POST /api/articles/{slug}/comments", "", 3, 0, changes, nil, func(ctx context.Context) error { return last(app.AddComment(ctx, bob, s.first.Slug, "Indeed.")) }},
		{"DELETE /api/articles/{slug}/comments/{id}", "", 2, 0, changes, s.comment, func(ctx context.Context) error { return app.DeleteComment(ctx, bob, s.first.Slug, s.note.ID) }},
		{"POST /api/articles/{slug}/favorite", "", 3, 0, changes, liked, func(ctx context.Context) error { return last(app.Favorite(ctx, bob, s.other.Slug)) }},
		{"POST /api/articles/{slug}/favorite", "the first", 4, 0, changes, published, func(ctx context.Context) error { return last(app.Favorite(ctx, bob, s.other.Slug)) }},
		{"DELETE /api/articles/{slug}/favorite", "", 3, 0, changes, likedByBoth, func(ctx context.Context) error { return last(app.Unfavorite(ctx, bob, s.other.Slug)) }},
	}
}

func last[T any](_ T, err error) error { return err }
