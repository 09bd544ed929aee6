package peers

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/timshannon/badgerhold/v4"
)

// bhVisit and bhFollow are badgerhold's other records, by the key of their two ids.
type bhVisit struct {
	Owner   int64 `badgerhold:"index"`
	Visitor int64
	At      int64
}

type bhFollow struct {
	Topic int64 `badgerhold:"index"`
	User  int64
}

func pairKey(a, b int64) string { return fmt.Sprintf("%d/%d", a, b) }

// badgerholdPeer is badgerhold as it comes. It sorts what a query has found, so a
// listing reads all records.
type badgerholdPeer struct {
	offsetLink
	store *badgerhold.Store
}

func openBadgerhold(_ context.Context, at Place) (Peer, error) {
	opts := badgerhold.DefaultOptions
	opts.Dir = filepath.Join(at.Dir, "badgerhold")
	opts.ValueDir = opts.Dir
	opts.Logger = nil
	store, err := badgerhold.Open(opts)
	return badgerholdPeer{store: store}, err
}

func (b badgerholdPeer) Load(ctx context.Context, n int) error {
	err := eachBatch(n, 100, func(ps []Page) error {
		return b.store.Badger().Update(func(tx *badger.Txn) error {
			for i := range ps {
				if err := b.store.TxInsert(tx, ps[i].ID, &ps[i]); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	err = eachOwner(func(owner int64, vs []Visit) error {
		return b.store.Badger().Update(func(tx *badger.Txn) error {
			for _, v := range vs {
				if err := b.store.TxInsert(tx, pairKey(owner, v.Visitor), &bhVisit{owner, v.Visitor, v.At}); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	return eachFollower(func(user int64) error { return b.Follow(ctx, Topic, user) })
}

func (b badgerholdPeer) Close() error { return b.store.Close() }

func (b badgerholdPeer) Get(_ context.Context, id int64) (Row, error) {
	p := new(Page)
	return p, b.store.Get(id, p)
}

func (b badgerholdPeer) find(q *badgerhold.Query) ([]Row, error) {
	var ps []Page
	err := b.store.Find(&ps, q)
	return pages(ps), err
}

func (b badgerholdPeer) Newest(_ context.Context, at string, limit int) ([]Row, error) {
	return b.find(new(badgerhold.Query).SortBy("UpdatedAt").Reverse().Skip(b.offset(at)).Limit(limit))
}

func (b badgerholdPeer) Top(_ context.Context, limit int) ([]Row, error) {
	return b.find(new(badgerhold.Query).SortBy("Views").Reverse().Limit(limit))
}

func (b badgerholdPeer) Rank(_ context.Context, id int64) (int, error) {
	var p Page
	if err := b.store.Get(id, &p); err != nil {
		return 0, err
	}
	above, err := b.store.Count(&Page{}, badgerhold.Where("Views").Gt(p.Views))
	return int(above) + 1, err
}

// again calls f in a transaction until no other one was in its way.
func (b badgerholdPeer) again(f func(*badger.Txn) error) error {
	for {
		if err := b.store.Badger().Update(f); !errors.Is(err, badger.ErrConflict) {
			return err
		}
	}
}

func (b badgerholdPeer) change(id int64, f func(*Page)) error {
	return b.again(func(tx *badger.Txn) error {
		var p Page
		if err := b.store.TxGet(tx, id, &p); err != nil {
			return err
		}
		f(&p)
		return b.store.TxUpdate(tx, id, &p)
	})
}

func (b badgerholdPeer) Update(_ context.Context, id int64, body string) error {
	return b.change(id, func(p *Page) { p.Body, p.UpdatedAt = body, time.Now().UTC() })
}

func (b badgerholdPeer) View(_ context.Context, id int64) error {
	return b.change(id, func(p *Page) { p.Views++ })
}

func (b badgerholdPeer) Insert(_ context.Context, p *Page) error {
	p.ID = time.Now().UnixNano()
	err := b.again(func(tx *badger.Txn) error {
		err := b.store.TxInsert(tx, p.ID, p)
		for errors.Is(err, badgerhold.ErrKeyExists) {
			p.ID++
			err = b.store.TxInsert(tx, p.ID, p)
		}
		return err
	})
	if errors.Is(err, badgerhold.ErrUniqueExists) {
		return ErrTaken
	}
	return err
}

func (b badgerholdPeer) Visit(_ context.Context, owner int64, v Visit) error {
	return b.again(func(tx *badger.Txn) error {
		if err := b.store.TxUpsert(tx, pairKey(owner, v.Visitor), &bhVisit{owner, v.Visitor, v.At}); err != nil {
			return err
		}
		var old []bhVisit
		if err := b.store.TxFind(tx, &old, visitsOf(owner).Skip(Kept)); err != nil {
			return err
		}
		for _, v := range old {
			if err := b.store.TxDelete(tx, pairKey(owner, v.Visitor), &bhVisit{}); err != nil {
				return err
			}
		}
		return nil
	})
}

func visitsOf(owner int64) *badgerhold.Query {
	return badgerhold.Where("Owner").Eq(owner).Index("Owner").SortBy("At").Reverse()
}

func (b badgerholdPeer) Visits(_ context.Context, owner int64, limit int) ([]Visit, error) {
	var found []bhVisit
	err := b.store.Find(&found, visitsOf(owner).Limit(limit))
	all := make([]Visit, len(found))
	for i, v := range found {
		all[i] = Visit{v.Visitor, v.At}
	}
	return all, err
}

func (b badgerholdPeer) Follow(_ context.Context, topic, user int64) error {
	return b.again(func(tx *badger.Txn) error {
		return b.store.TxUpsert(tx, pairKey(topic, user), &bhFollow{topic, user})
	})
}

func (b badgerholdPeer) Unfollow(_ context.Context, topic, user int64) error {
	err := b.again(func(tx *badger.Txn) error {
		return b.store.TxDelete(tx, pairKey(topic, user), &bhFollow{})
	})
	if errors.Is(err, badgerhold.ErrNotFound) {
		return nil
	}
	return err
}

func (b badgerholdPeer) Followers(_ context.Context, topic int64, limit int) ([]int64, error) {
	var found []bhFollow
	err := b.store.Find(&found, badgerhold.Where("Topic").Eq(topic).Index("Topic").Limit(limit))
	users := make([]int64, len(found))
	for i, f := range found {
		users[i] = f.User
	}
	return users, err
}

func (b badgerholdPeer) Flush(context.Context) error { return nil }
