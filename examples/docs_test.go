package examples_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	. "github.com/ringtree/ringtree/examples"
	"github.com/ringtree/ringtree/examples/wiki"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
	"github.com/ringtree/ringtree/kvmodel/kvsession"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/timeline"
)

// The pages of docs show parts of this file, as they stand here: a test at the root looks for
// them. So they stay what compiles.

var _ = []any{
	ofReadme, ofSideBySide, ofProblems, (*app).session, ofOnChange, publish, ofJobs,
	ofPeriods, ofArchive, ofSessions, keepAlive,
}

func ofReadme(ctx context.Context) error {
	db, err := kvopen.Open(ctx, "bolt:wiki.db") // a file; or redis://, memcached://

	if err != nil {
		return err
	}

	pages := wiki.New(db).Pages

	err = pages.Create(ctx, &wiki.Page{Slug: "home", Title: "Welcome", Author: "ann", Tags: []string{"go"}})

	if err != nil {
		return err
	}

	home, err := pages.BySlug.Find(ctx, "home")

	if err != nil {
		return err
	}

	views, err := pages.Views.Hit(ctx, home.ID) // counts a view

	if err != nil {
		return err
	}

	newest, err := pages.Newest.Page(ctx, "", 20) // and newest.Next, for the page after it

	if err != nil {
		return err
	}

	byAnn, err := pages.NewestByAuthor.Of("ann").Page(ctx, "", 20)

	if err != nil {
		return err
	}

	tagged, err := pages.ByTags.Of("go").Page(ctx, "", 20)

	if err != nil {
		return err
	}

	top, err := pages.TopViews.Page(ctx, "", 20)

	if err != nil {
		return err
	}

	standing, err := pages.TopViews.Standing(ctx, home.ID) // its rank among all pages

	_, _, _, _, _, _ = views, newest, byAnn, tagged, top, standing
	return err
}

func ofSideBySide(ctx context.Context, db *kvmodel.DB, m *wiki.Models) error {
	var newest, top kvmodel.Listing[wiki.Page]

	err := db.SideBySide(ctx,
		func(ctx context.Context) (err error) { newest, err = m.Pages.Newest.Page(ctx, "", 20); return err },
		func(ctx context.Context) (err error) { top, err = m.Pages.TopViews.Page(ctx, "", 10); return err },
	)

	_, _ = newest, top
	return err
}

type writer func(w http.ResponseWriter, page *wiki.Page, problems kvmodel.Problems) error

func ofProblems(ctx context.Context, m *wiki.Models, w http.ResponseWriter, page *wiki.Page, writeForm writer) error {
	err := m.Pages.Create(ctx, page)
	if problems := kvmodel.ProblemsOf(err); len(problems) > 0 {
		w.WriteHeader(kvmodel.HTTPStatus(err)) // 422, or 409 if something is taken
		return writeForm(w, page, problems)    // each beside its field: problems["title"]
	}

	return err
}

type app struct{ *Models }

const idle = time.Hour

func (a *app) session(ctx context.Context, token string) (*Session, error) {
	session, err := a.Sessions.Get(ctx, token)
	if err != nil {
		return nil, err
	}
	if time.Until(session.Until) < idle/2 {
		err = a.Sessions.Touch(ctx, token, time.Now().Add(idle))
	}
	return session, err
}

var m *Models

func ofOnChange(subscribe func(context.Context, *User) error, unsubscribe func(context.Context, string) error) {
	m.Users.OnChange(func(ctx context.Context, c kvmodel.Change[User, string]) error {
		if c.Record == nil {
			return unsubscribe(ctx, c.ID) // it was deleted
		}
		return subscribe(ctx, c.Record)
	})
}

func publish(ctx context.Context, p *Page) error {
	if err := m.Pages.Create(ctx, p); err != nil {
		return err
	}
	return noteLatest(ctx, p) // OnChange calls it, too.
}

func noteLatest(ctx context.Context, p *Page) error {
	_, err := m.Users.Update(ctx, p.Author, func(u *User) error {
		if u.Latest.Before(p.Created) {
			u.Latest = p.Created
		}
		return nil
	})
	return err
}

func ofJobs(ctx context.Context, place string, note func(to string, done, left int64), send func(context.Context, *User) error) error {
	err := m.Users.Each(ctx, kvmodel.Walk{From: place, Rate: 500, Report: note}, func(u *User) error {
		return send(ctx, u)
	})

	return err
}

func ofPeriods(ctx context.Context) error {
	today, err := m.Photos.TopViewsByCategoryPerDay.Of("sea").Page(ctx, "", 20)
	yesterday := m.Photos.TopViewsByCategoryPerDay.On(time.Now().AddDate(0, 0, -1)).Of("sea")

	_, _ = today, yesterday
	return err
}

func ofArchive(ctx context.Context, cursor string) error {
	all := timeline.WithArchive(m.Memos.Newest,
		func(memo *Memo) time.Time { return memo.Made },
		func(t time.Time) kvmodel.Lister[Memo] { return m.Memos.Archive.Between(time.Time{}, t) })
	page, err := all.Page(ctx, cursor, 20)

	_ = page
	return err
}

func trash(ctx context.Context, m *Models, id string) error {
	_, err := m.Memos.Update(ctx, id, func(memo *Memo) error { memo.Trashed = time.Now(); return nil })
	return err
}

func restore(ctx context.Context, m *Models, id string) error {
	_, err := m.Memos.Update(ctx, id, func(memo *Memo) error { memo.Trashed = time.Time{}; return nil })
	return err
}

func trashed(ctx context.Context, m *Models, cursor string) (kvmodel.Listing[Memo], error) {
	return m.Memos.Trash.Page(ctx, cursor, 20) // the last one first
}

func ofSessions(kv kv.Store, key []byte, user *User, w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()

	store, err := kvsession.New(kv, kvsession.Options{Keys: [][]byte{key}}) // key: 32 random bytes, from the environment

	if err != nil {
		return err
	}

	session, err := store.Get(r, "app") // err: the store is down: answer 503, and the visitor stays signed in

	if err != nil {
		return err
	}

	session.Values["theme"] = "dark"
	err = session.Save(r, w) // before the response is written

	if err != nil {
		return err
	}

	err = store.SignIn(r, w, session, user.ID) // a new user: a new cookie

	if err != nil {
		return err
	}

	g, err := store.Generation(ctx, user.ID) // before the password is read

	if err != nil {
		return err
	}

	err = store.SignInIf(r, w, session, g) // after it was checked; ErrRevoked: RevokeAll came in between

	name := store.User(session) // "" if nobody is signed in

	if err != nil || name == "" {
		return err
	}

	infos, err := store.List(ctx, user.ID) // for the page of settings

	if err != nil {
		return err
	}

	err = store.Revoke(ctx, user.ID, infos[0].ID) // one of the user's own

	if err != nil {
		return err
	}

	err = store.RevokeAll(ctx, user.ID, session.ID) // all others; without session.ID: everywhere

	if err != nil {
		return err
	}

	err = store.SignOut(r, w, session)

	return err
}

func keepAlive(store *kvsession.Store, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		session, err := store.Get(r, "app")
		if err == nil {
			err = session.Save(r, w)
		}
		if err != nil && !errors.Is(err, kvsession.ErrEnded) {
			http.Error(w, "Please try again in a moment.", http.StatusServiceUnavailable)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// balanced says that the two accounts of a store have as much as they had.
func balanced(s kv.Store) error {
	for _, key := range []string{"ann", "bob"} {
		if _, err := kv.One(context.Background(), s, kv.OpAdd(key, nil)); kv.Failed(err) {
			return err
		}
	}
	return nil
}

func work(s kv.Store) { _, _ = kv.One(context.Background(), s, kv.OpAdd("ann", nil)) }

func checkAll(t *testing.T, s kv.Store) {
	proof.Is(t, balanced(s), nil)
}

func TestTransfer_LosesNothing(t *testing.T) {
	kvtest.SimulateMany(t, 100, kvtest.Hostile(kvtest.NoPowers), func(sim *kvtest.Sim) {
		sim.Go("a", func(s kv.Store) { work(s) })
		sim.Go("b", func(s kv.Store) { work(s) })
		sim.Wait()
		checkAll(t, sim.Store())
	})
}
