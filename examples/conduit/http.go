package conduit

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/ringtree/ringtree/kvmodel"
)

func Handler(a *App, tokens Tokens) http.Handler {
	s := server{a, tokens, http.NewServeMux()}
	s.users()
	s.articles()
	s.comments()
	return s.mux
}

type server struct {
	app    *App
	tokens Tokens
	mux    *http.ServeMux
}

// viewer is "" if the request is anonymous.
type request struct {
	*http.Request
	viewer string
}

type handler func(request) (any, error)

func (s server) users() {
	s.anyone("POST /api/users", 201, "user", with("user", func(r request, n NewUser) (any, error) {
		return s.signedIn(s.app.Register(r.Context(), n))
	}))
	s.anyone("POST /api/users/login", 200, "user", with("user", func(r request, n NewUser) (any, error) {
		return s.signedIn(s.app.Login(r.Context(), n.Email, n.Password))
	}))
	s.member("GET /api/user", 200, "user", func(r request) (any, error) {
		return s.signedIn(s.app.CurrentUser(r.Context(), r.viewer))
	})
	s.member("PUT /api/user", 200, "user", with("user", func(r request, c UserChange) (any, error) {
		return s.signedIn(s.app.UpdateUser(r.Context(), r.viewer, c))
	}))
	s.anyone("GET /api/profiles/{username}", 200, "profile", func(r request) (any, error) {
		return s.app.Profile(r.Context(), r.viewer, r.PathValue("username"))
	})
	s.member("POST /api/profiles/{username}/follow", 200, "profile", func(r request) (any, error) {
		return s.app.Follow(r.Context(), r.viewer, r.PathValue("username"))
	})
	s.member("DELETE /api/profiles/{username}/follow", 200, "profile", func(r request) (any, error) {
		return s.app.Unfollow(r.Context(), r.viewer, r.PathValue("username"))
	})
}

func (s server) articles() {
	s.anyone("GET /api/articles", 200, "", func(r request) (any, error) {
		f := Filter{Tag: r.FormValue("tag"), Author: r.FormValue("author"), Favorited: r.FormValue("favorited")}
		return s.app.List(r.Context(), r.viewer, f, r.part())
	})
	s.member("GET /api/articles/feed", 200, "", func(r request) (any, error) {
		return s.app.Feed(r.Context(), r.viewer, r.part())
	})
	s.anyone("GET /api/articles/{slug}", 200, "article", func(r request) (any, error) {
		return s.app.Article(r.Context(), r.viewer, r.slug())
	})
	s.member("POST /api/articles", 201, "article", with("article", func(r request, n NewArticle) (any, error) {
		return s.app.CreateArticle(r.Context(), r.viewer, n)
	}))
	s.member("PUT /api/articles/{slug}", 200, "article", with("article", func(r request, c ArticleChange) (any, error) {
		return s.app.UpdateArticle(r.Context(), r.viewer, r.slug(), c)
	}))
	s.member("DELETE /api/articles/{slug}", 204, "", func(r request) (any, error) {
		return nil, s.app.DeleteArticle(r.Context(), r.viewer, r.slug())
	})
	s.anyone("GET /api/tags", 200, "tags", func(r request) (any, error) {
		return s.app.Tags(r.Context())
	})
	s.member("POST /api/articles/{slug}/favorite", 200, "article", func(r request) (any, error) {
		return s.app.Favorite(r.Context(), r.viewer, r.slug())
	})
	s.member("DELETE /api/articles/{slug}/favorite", 200, "article", func(r request) (any, error) {
		return s.app.Unfavorite(r.Context(), r.viewer, r.slug())
	})
}

func (s server) comments() {
	s.anyone("GET /api/articles/{slug}/comments", 200, "comments", func(r request) (any, error) {
		return s.app.Comments(r.Context(), r.viewer, r.slug())
	})
	s.member("POST /api/articles/{slug}/comments", 201, "comment", with("comment", func(r request, n struct{ Body string }) (any, error) {
		return s.app.AddComment(r.Context(), r.viewer, r.slug(), n.Body)
	}))
	s.member("DELETE /api/articles/{slug}/comments/{id}", 204, "", func(r request) (any, error) {
		id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
		if err != nil {
			return nil, about("comment", kvmodel.ErrNotFound)
		}
		return nil, s.app.DeleteComment(r.Context(), r.viewer, r.slug(), id)
	})
}

func (r request) slug() string { return r.PathValue("slug") }

// part returns the requested range of a list: 20 articles, or the number in the request, at most
// 100.
func (r request) part() Part {
	number := func(name string, otherwise, most int) int {
		if n, err := strconv.Atoi(r.FormValue(name)); err == nil && n >= 0 {
			return min(n, most)
		}
		return otherwise
	}
	return Part{Limit: number("limit", 20, 100), Offset: number("offset", 0, 1<<30)}
}

func (s server) signedIn(u *Account, err error) (*Account, error) {
	if err == nil {
		u.Token = s.tokens.of(u.ID, s.app.db.Now())
	}
	return u, err
}

// with returns a handler that receives the request's value under name.
func with[T any](name string, h func(request, T) (any, error)) handler {
	return func(r request) (any, error) {
		var body map[string]*T
		if err := json.NewDecoder(http.MaxBytesReader(nil, r.Body, 1<<20)).Decode(&body); err != nil || body[name] == nil {
			return nil, about("body", errNotThat)
		}
		return h(r, *body[name])
	}
}

var errNotThat = errors.New("is not what the API expects")

// anyone serves pattern to everyone. On success it replies with status and, under name, the result
// of h.
func (s server) anyone(pattern string, status int, name string, h handler) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		viewer, err := s.viewer(r)
		var value any
		if err == nil {
			value, err = h(request{r, viewer})
		}
		switch {
		case err != nil:
			status, errs := failure(err)
			reply(w, status, "errors", errs)
		default:
			reply(w, status, name, value)
		}
	})
}

func (s server) member(pattern string, status int, name string, h handler) {
	s.anyone(pattern, status, name, func(r request) (any, error) {
		if r.viewer == "" {
			return nil, about("token", ErrNotSignedIn)
		}
		return h(r)
	})
}

func (s server) viewer(r *http.Request) (string, error) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Token ")
	if !ok {
		return "", nil
	}
	user, err := s.tokens.user(token, s.app.db.Now())
	return user, about("token", err)
}

// reply sends value as JSON: under name, or alone if that is empty.
func reply(w http.ResponseWriter, status int, name string, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if status == http.StatusNoContent {
		return
	}
	if name != "" {
		value = map[string]any{name: value}
	}
	if err := json.NewEncoder(w).Encode(value); err != nil {
		slog.Warn("conduit: an answer was not sent", "err", err)
	}
}

func failure(err error) (int, map[string][]string) {
	status, errs := kvmodel.HTTPStatus(err), map[string][]string{}
	for field, problem := range kvmodel.ProblemsOf(err) {
		errs[field] = []string{problem}
	}
	if taken, ok := errors.AsType[*kvmodel.TakenError](err); ok {
		errs[strings.ToLower(taken.Fields[0])] = []string{"has already been taken"}
	}
	if e, ok := errors.AsType[*Error](err); ok {
		var text string
		status, text = e.answer()
		errs[e.About] = []string{text}
	}
	if len(errs) == 0 {
		slog.Error("conduit: a request failed", "err", err)
		errs["server"] = []string{http.StatusText(status)}
	}
	return status, errs
}

func (e *Error) answer() (int, string) {
	switch {
	case errors.Is(e, ErrWrong), errors.Is(e, ErrNotSignedIn):
		return http.StatusUnauthorized, e.Err.Error()
	case errors.Is(e, ErrForbidden):
		return http.StatusForbidden, e.Err.Error()
	case errors.Is(e, errNotThat):
		return http.StatusBadRequest, e.Err.Error()
	case errors.Is(e, kvmodel.ErrNotFound):
		return http.StatusNotFound, "not found"
	}
	status := kvmodel.HTTPStatus(e)
	return status, http.StatusText(status)
}
