package peers

import (
	"context"
	"database/sql"
	"path/filepath"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"

	"github.com/ringtree/ringtree/bench/compare/peers/entmodel"
	entfollower "github.com/ringtree/ringtree/bench/compare/peers/entmodel/follower"
	entfootprint "github.com/ringtree/ringtree/bench/compare/peers/entmodel/footprint"
	entpage "github.com/ringtree/ringtree/bench/compare/peers/entmodel/page"
	"github.com/ringtree/ringtree/bench/internal/sqlite"
)

// entPeer is ent on a file of SQLite, set up as GORM's is.
type entPeer struct {
	offsetLink
	*entmodel.Client
}

func openEnt(_ context.Context, at Place) (Peer, error) {
	pool, err := sql.Open(sqlite.Driver, sqlite.DSN(filepath.Join(at.Dir, "ent.db"), "NORMAL"))
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(Clients)
	pool.SetMaxIdleConns(Clients)
	return entPeer{Client: entmodel.NewClient(entmodel.Driver(entsql.OpenDB(dialect.SQLite, pool)))}, nil
}

func (e entPeer) Load(ctx context.Context, n int) error {
	if err := e.Schema.Create(ctx); err != nil {
		return err
	}
	return e.together(ctx, func(tx *entmodel.Tx) error {
		err := eachBatch(n, 100, func(ps []Page) error {
			return tx.Page.MapCreateBulk(ps, func(c *entmodel.PageCreate, i int) { set(c, &ps[i]).SetID(ps[i].ID) }).Exec(ctx)
		})
		if err != nil {
			return err
		}
		err = eachOwner(func(owner int64, vs []Visit) error {
			return tx.Footprint.MapCreateBulk(vs, func(c *entmodel.FootprintCreate, i int) {
				c.SetOwner(owner).SetVisitor(vs[i].Visitor).SetAt(vs[i].At)
			}).Exec(ctx)
		})
		if err != nil {
			return err
		}
		return eachFollower(func(user int64) error { return tx.Follower.Create().SetTopic(Topic).SetUser(user).Exec(ctx) })
	})
}

// together calls f with a transaction, which it commits unless f fails.
func (e entPeer) together(ctx context.Context, f func(*entmodel.Tx) error) error {
	tx, err := e.Tx(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback() // which does nothing after the commit
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

func set(c *entmodel.PageCreate, p *Page) *entmodel.PageCreate {
	return c.SetSlug(p.Slug).SetTitle(p.Title).SetBody(p.Body).SetAuthor(p.Author).SetTags(p.Tags).SetUpdatedAt(p.UpdatedAt).SetViews(p.Views)
}

// entRow is a page as ent gives it.
type entRow struct{ p *entmodel.Page }

func (r entRow) Page() *Page {
	p := r.p
	return &Page{p.ID, p.Slug, p.Title, p.Body, p.Author, p.Tags, p.UpdatedAt, p.Views}
}

func entRows(ps []*entmodel.Page, err error) ([]Row, error) {
	all := make([]Row, len(ps))
	for i, p := range ps {
		all[i] = entRow{p}
	}
	return all, err
}

func (e entPeer) Get(ctx context.Context, id int64) (Row, error) {
	p, err := e.Client.Page.Get(ctx, id)
	return entRow{p}, err
}

func (e entPeer) Newest(ctx context.Context, at string, limit int) ([]Row, error) {
	return entRows(e.Client.Page.Query().Order(entpage.ByUpdatedAt(entsql.OrderDesc())).Offset(e.offset(at)).Limit(limit).All(ctx))
}

// After returns the pages that are older than one that the caller has.
func (e entPeer) After(ctx context.Context, last *Page, limit int) ([]Row, error) {
	return entRows(e.Client.Page.Query().Where(entpage.UpdatedAtLT(last.UpdatedAt)).Order(entpage.ByUpdatedAt(entsql.OrderDesc())).Limit(limit).All(ctx))
}

func (e entPeer) Top(ctx context.Context, limit int) ([]Row, error) {
	return entRows(e.Client.Page.Query().Order(entpage.ByViews(entsql.OrderDesc())).Limit(limit).All(ctx))
}

func (e entPeer) Rank(ctx context.Context, id int64) (int, error) {
	p, err := e.Client.Page.Query().Where(entpage.ID(id)).Select(entpage.FieldViews).Only(ctx)
	if err != nil {
		return 0, err
	}
	above, err := e.Client.Page.Query().Where(entpage.ViewsGT(p.Views)).Count(ctx)
	return above + 1, err
}

func (e entPeer) Update(ctx context.Context, id int64, body string) error {
	return e.Client.Page.Update().Where(entpage.ID(id)).SetBody(body).SetUpdatedAt(time.Now().UTC()).Exec(ctx)
}

func (e entPeer) View(ctx context.Context, id int64) error {
	return e.Client.Page.Update().Where(entpage.ID(id)).AddViews(1).Exec(ctx)
}

func (e entPeer) Insert(ctx context.Context, p *Page) error {
	err := set(e.Client.Page.Create(), p).Exec(ctx)
	if entmodel.IsConstraintError(err) {
		return ErrTaken
	}
	return err
}

func (e entPeer) Visit(ctx context.Context, owner int64, v Visit) error {
	return e.together(ctx, func(tx *entmodel.Tx) error {
		err := tx.Footprint.Create().SetOwner(owner).SetVisitor(v.Visitor).SetAt(v.At).
			OnConflictColumns(entfootprint.FieldOwner, entfootprint.FieldVisitor).UpdateAt().Exec(ctx)
		if err != nil {
			return err
		}
		oldest, err := tx.Footprint.Query().Where(entfootprint.Owner(owner)).Order(entfootprint.ByAt(entsql.OrderDesc())).
			Offset(Kept - 1).Limit(1).All(ctx)
		if err != nil || len(oldest) == 0 {
			return err
		}
		_, err = tx.Footprint.Delete().Where(entfootprint.Owner(owner), entfootprint.AtLT(oldest[0].At)).Exec(ctx)
		return err
	})
}

func (e entPeer) Visits(ctx context.Context, owner int64, limit int) ([]Visit, error) {
	found, err := e.Footprint.Query().Where(entfootprint.Owner(owner)).Order(entfootprint.ByAt(entsql.OrderDesc())).Limit(limit).All(ctx)
	all := make([]Visit, len(found))
	for i, f := range found {
		all[i] = Visit{f.Visitor, f.At}
	}
	return all, err
}

func (e entPeer) Follow(ctx context.Context, topic, user int64) error {
	return e.Follower.Create().SetTopic(topic).SetUser(user).
		OnConflictColumns(entfollower.FieldTopic, entfollower.FieldUser).Ignore().Exec(ctx)
}

func (e entPeer) Unfollow(ctx context.Context, topic, user int64) error {
	_, err := e.Follower.Delete().Where(entfollower.Topic(topic), entfollower.User(user)).Exec(ctx)
	return err
}

func (e entPeer) Followers(ctx context.Context, topic int64, limit int) ([]int64, error) {
	var users []int64
	err := e.Follower.Query().Where(entfollower.Topic(topic)).Limit(limit).Select(entfollower.FieldUser).Scan(ctx, &users)
	return users, err
}

func (e entPeer) Flush(context.Context) error { return nil }
