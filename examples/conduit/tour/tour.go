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
	Endpoint string // as the API writes it
	With     string // the special condition of the call

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
	ids map[string]string // of the members, by their names
	n   int               // number of generated texts

	first *conduit.ArticleView // by ann; bob likes it
	other *conduit.ArticleView // another
	note  *conduit.CommentView // by bob on the first
	guest *conduit.Account
}

var members = []string{"ann", "bob", "cid", "dot", "eve", "fay", "gus", "hal"}

// each is the number of articles by each member.
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

// fresh returns a text that is new.
func (s *site) fresh(text string) string {
	s.n++
	return fmt.Sprintf("%s %04d", text, s.n)
}

// article returns a new article.
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

// arrive sets s.guest to a new user whom the process has read before.
func (s *site) arrive(ctx context.Context) (err error) {
	if s.guest, err = s.app.Register(ctx, person(s.fresh("guest"))); err != nil {
		return err
	}
	return last(s.app.Profile(ctx, "", s.guest.Username))
}

// comment makes s.note.
func (s *site) comment(ctx context.Context) (err error) {
	s.note, err = s.app.AddComment(ctx, s.ids["bob"], s.first.Slug, s.fresh("Nice."))
	return err
}

func (s *site) calls() []Call {
	ann, bob, app := s.ids["ann"], s.ids["bob"], s.app
	published := func(ctx context.Context) error { return s.publish(ctx, "ann") }
	liked := func(ctx context.Context) error {
		return errors.Join(s.publish(ctx, "ann"), last(app.Favorite(ctx, s.ids["cid"], s.other.Slug)))
	}
	part := conduit.Part{Limit: 20}
	return []Call{{
		Endpoint: "POST /api/users", Most: 2,
		Do: func(ctx context.Context) error { return last(app.Register(ctx, person(s.fresh("guest")))) },
	}, {
		Endpoint: "POST /api/users/login", Most: 1, Reads: true,
		Do: func(ctx context.Context) error { return last(app.Login(ctx, "ann@example.com", "secret")) },
	}, {
		Endpoint: "GET /api/user", Most: 1, Reads: true,
		Do: func(ctx context.Context) error { return last(app.CurrentUser(ctx, ann)) },
	}, {
		Endpoint: "PUT /api/user", Most: 2,
		Do: func(ctx context.Context) error {
			bio := s.fresh("Reads a lot.")
			return last(app.UpdateUser(ctx, ann, conduit.UserChange{Bio: &bio}))
		},
	}, {
		Endpoint: "PUT /api/user", With: "another email", Most: 3,
		Do: func(ctx context.Context) error {
			email := s.fresh("hal@example.com")
			return last(app.UpdateUser(ctx, s.ids["hal"], conduit.UserChange{Email: &email}))
		},
	}, {
		Endpoint: "GET /api/profiles/{username}", Most: 2, Reads: true,
		Do: func(ctx context.Context) error { return last(app.Profile(ctx, bob, "ann")) },
	}, {
		Endpoint: "POST /api/profiles/{username}/follow", Most: 3, Before: s.arrive,
		Do: func(ctx context.Context) error { return last(app.Follow(ctx, bob, s.guest.Username)) },
	}, {
		Endpoint: "DELETE /api/profiles/{username}/follow", Most: 3,
		Before: func(ctx context.Context) error {
			return errors.Join(s.arrive(ctx), last(app.Follow(ctx, bob, s.guest.Username)))
		},
		Do: func(ctx context.Context) error { return last(app.Unfollow(ctx, bob, s.guest.Username)) },
	}, {
		Endpoint: "GET /api/articles", Most: 2, New: 3, Reads: true, Before: published,
		Do: func(ctx context.Context) error { return last(app.List(ctx, bob, conduit.Filter{}, part)) },
	}, {
		Endpoint: "GET /api/articles", With: "offset=40", Most: 2, New: 3, Reads: true, Before: published,
		Do: func(ctx context.Context) error {
			return last(app.List(ctx, bob, conduit.Filter{}, conduit.Part{Limit: 20, Offset: 40}))
		},
	}, {
		Endpoint: "GET /api/articles", With: "tag=", Most: 2, New: 3, Reads: true, Before: published,
		Do: func(ctx context.Context) error { return last(app.List(ctx, bob, conduit.Filter{Tag: "go"}, part)) },
	}, {
		Endpoint: "GET /api/articles", With: "author=", Most: 3, New: 4, Reads: true, Before: published,
		Do: func(ctx context.Context) error { return last(app.List(ctx, bob, conduit.Filter{Author: "ann"}, part)) },
	}, {
		Endpoint: "GET /api/articles", With: "favorited=", Most: 3, Reads: true,
		Before: func(ctx context.Context) error {
			return errors.Join(published(ctx), last(app.Favorite(ctx, bob, s.other.Slug)))
		},
		Do: func(ctx context.Context) error {
			return last(app.List(ctx, ann, conduit.Filter{Favorited: "bob"}, part))
		},
	}, {
		Endpoint: "GET /api/articles/feed", Most: 3, New: 4, Reads: true, Before: published,
		Do: func(ctx context.Context) error { return last(app.Feed(ctx, bob, part)) },
	}, {
		Endpoint: "GET /api/articles/{slug}", Most: 2, Reads: true,
		Do: func(ctx context.Context) error { return last(app.Article(ctx, bob, s.first.Slug)) },
	}, {
		Endpoint: "POST /api/articles", With: "two tags", Most: 4,
		Do: func(ctx context.Context) error { return last(app.CreateArticle(ctx, ann, s.article("go", "store"))) },
	}, {
		Endpoint: "POST /api/articles", With: "two tags that nobody has used", Most: 7,
		Do: func(ctx context.Context) error {
			return last(app.CreateArticle(ctx, ann, s.article(s.fresh("go"), s.fresh("store"))))
		},
	}, {
		Endpoint: "PUT /api/articles/{slug}", Most: 4,
		Do: func(ctx context.Context) error {
			body := s.fresh("A ring forgets.")
			return last(app.UpdateArticle(ctx, ann, s.first.Slug, conduit.ArticleChange{Body: &body}))
		},
	}, {
		Endpoint: "PUT /api/articles/{slug}", With: "another title", Most: 5, Before: published,
		Do: func(ctx context.Context) error {
			title := s.fresh("Trees")
			return last(app.UpdateArticle(ctx, ann, s.other.Slug, conduit.ArticleChange{Title: &title}))
		},
	}, {
		Endpoint: "PUT /api/articles/{slug}", With: "another tag", Most: 6, Before: published,
		Do: func(ctx context.Context) error {
			tags := []string{"go", "rings"}
			return last(app.UpdateArticle(ctx, ann, s.other.Slug, conduit.ArticleChange{TagList: &tags}))
		},
	}, {
		Endpoint: "DELETE /api/articles/{slug}", Most: 3, Before: published,
		Do: func(ctx context.Context) error { return app.DeleteArticle(ctx, ann, s.other.Slug) },
	}, {
		Endpoint: "GET /api/tags", Most: 1, New: 2, Reads: true, Before: published,
		Do: func(ctx context.Context) error { return last(app.Tags(ctx)) },
	}, {
		Endpoint: "GET /api/articles/{slug}/comments", Most: 3, New: 4, Reads: true, Before: s.comment,
		Do: func(ctx context.Context) error { return last(app.Comments(ctx, ann, s.first.Slug)) },
	}, {
		Endpoint: "POST /api/articles/{slug}/comments", Most: 3,
		Do: func(ctx context.Context) error { return last(app.AddComment(ctx, bob, s.first.Slug, "Indeed.")) },
	}, {
		Endpoint: "DELETE /api/articles/{slug}/comments/{id}", Most: 2, Before: s.comment,
		Do: func(ctx context.Context) error { return app.DeleteComment(ctx, bob, s.first.Slug, s.note.ID) },
	}, {
		Endpoint: "POST /api/articles/{slug}/favorite", Most: 3, Before: liked,
		Do: func(ctx context.Context) error { return last(app.Favorite(ctx, bob, s.other.Slug)) },
	}, {
		Endpoint: "POST /api/articles/{slug}/favorite", With: "the first", Most: 4, Before: published,
		Do: func(ctx context.Context) error { return last(app.Favorite(ctx, bob, s.other.Slug)) },
	}, {
		Endpoint: "DELETE /api/articles/{slug}/favorite", Most: 3,
		Before: func(ctx context.Context) error {
			return errors.Join(liked(ctx), last(app.Favorite(ctx, bob, s.other.Slug)))
		},
		Do: func(ctx context.Context) error { return last(app.Unfavorite(ctx, bob, s.other.Slug)) },
	}}
}

// last returns the error of a call.
func last[T any](_ T, err error) error { return err }
