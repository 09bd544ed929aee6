package peers

import (
	"bytes"
	"context"
	"encoding/binary"
	"path/filepath"
	"time"

	"github.com/vmihailenco/msgpack/v5"
	"go.etcd.io/bbolt"

	"github.com/ringtree/ringtree/bench/compare/place"
)

// An order is a bucket with keys of a number and an id.
var (
	bktPages     = []byte("pages")
	bktSlugs     = []byte("slugs")
	bktUpdated   = []byte("updated")
	bktViews     = []byte("views")
	bktVisits    = []byte("visits")  // owner, visitor -> at
	bktLatest    = []byte("latest")  // owner, at, visitor
	bktFollowers = []byte("follows") // topic, user
)

type bboltPeer struct{ db *bbolt.DB }

func openBbolt(_ context.Context, at place.Place) (Peer, error) {
	db, err := bbolt.Open(filepath.Join(at.Dir, "bbolt.db"), 0o600, &bbolt.Options{FreelistType: bbolt.FreelistMapType})
	return bboltPeer{db}, err
}

// key returns a key that sorts by the numbers.
func key(numbers ...int64) []byte {
	var k []byte
	for _, n := range numbers {
		k = binary.BigEndian.AppendUint64(k, uint64(n))
	}
	return k
}

func part(k []byte, n int) int64 { return int64(binary.BigEndian.Uint64(k[8*n:])) }

func (b bboltPeer) Load(_ context.Context, n int) error {
	b.db.NoSync = true
	defer func() { b.db.NoSync = false }()
	err := b.db.Update(func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{bktPages, bktSlugs, bktUpdated, bktViews, bktVisits, bktLatest, bktFollowers} {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		for owner, visits := range owners() {
			for _, v := range visits {
				if err := visit(tx, owner, v); err != nil {
					return err
				}
			}
		}
		for user := range followers() {
			if err := tx.Bucket(bktFollowers).Put(key(Topic, user), []byte{}); err != nil {
				return err
			}
		}
		return tx.Bucket(bktPages).SetSequence(uint64(n))
	})
	if err != nil {
		return err
	}
	for ps := range batches(n, 1000) {
		err := b.db.Update(func(tx *bbolt.Tx) error {
			for i := range ps {
				if err := put(tx, nil, &ps[i]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return b.db.Sync()
}

func (b bboltPeer) Close() error { return b.db.Close() }

func put(tx *bbolt.Tx, old, p *Page) error {
	data, err := msgpack.Marshal(p)
	if err != nil {
		return err
	}
	if err := tx.Bucket(bktPages).Put(key(p.ID), data); err != nil {
		return err
	}
	if old == nil {
		if err := tx.Bucket(bktSlugs).Put([]byte(p.Slug), key(p.ID)); err != nil {
			return err
		}
	}
	for _, order := range []struct {
		bucket []byte
		by     func(*Page) int64
	}{
		{bktUpdated, func(p *Page) int64 { return p.UpdatedAt.UnixMicro() }},
		{bktViews, func(p *Page) int64 { return p.Views }},
	} {
		at := key(order.by(p), p.ID)
		if old != nil {
			was := key(order.by(old), p.ID)
			if bytes.Equal(was, at) {
				continue
			}
			if err := tx.Bucket(order.bucket).Delete(was); err != nil {
				return err
			}
		}
		if err := tx.Bucket(order.bucket).Put(at, []byte{}); err != nil {
			return err
		}
	}
	return nil
}

func get(tx *bbolt.Tx, id []byte) (*Page, error) {
	p := new(Page)
	return p, msgpack.Unmarshal(tx.Bucket(bktPages).Get(id), p)
}

func (b bboltPeer) Get(_ context.Context, id int64) (row Row, err error) {
	err = b.db.View(func(tx *bbolt.Tx) error {
		row, err = get(tx, key(id))
		return err
	})
	return row, err
}

// last returns the pages at the end of an order, below a key if there is one.
func (b bboltPeer) last(order, below []byte, limit int) (all []Row, err error) {
	err = b.db.View(func(tx *bbolt.Tx) error {
		c := tx.Bucket(order).Cursor()
		var k []byte
		if below == nil {
			k, _ = c.Last()
		} else {
			c.Seek(below)
			k, _ = c.Prev()
		}
		for ; k != nil && len(all) < limit; k, _ = c.Prev() {
			p, err := get(tx, k[8:])
			if err != nil {
				return err
			}
			all = append(all, p)
		}
		return nil
	})
	return all, err
}

func (b bboltPeer) Newest(_ context.Context, at string, limit int) ([]Row, error) {
	if at == "" {
		return b.last(bktUpdated, nil, limit)
	}
	before, err := momentOf(at)
	if err != nil {
		return nil, err
	}
	return b.last(bktUpdated, key(before.UnixMicro()), limit)
}

func (b bboltPeer) Link(_ context.Context, offset int) (at string, err error) {
	rows, err := b.last(bktUpdated, nil, offset)
	if err != nil {
		return "", err
	}
	return momentLink(rows[offset-1].Page().UpdatedAt), nil
}

func (b bboltPeer) Top(_ context.Context, limit int) ([]Row, error) {
	return b.last(bktViews, nil, limit)
}

func (b bboltPeer) Rank(_ context.Context, id int64) (rank int, err error) {
	err = b.db.View(func(tx *bbolt.Tx) error {
		p, err := get(tx, key(id))
		if err != nil {
			return err
		}
		c := tx.Bucket(bktViews).Cursor()
		for k, _ := c.Seek(key(p.Views+1, 0)); k != nil; k, _ = c.Next() {
			rank++
		}
		rank++
		return nil
	})
	return rank, err
}

func (b bboltPeer) change(id int64, f func(*Page)) error {
	return b.db.Update(func(tx *bbolt.Tx) error {
		old, err := get(tx, key(id))
		if err != nil {
			return err
		}
		p := *old
		f(&p)
		return put(tx, old, &p)
	})
}

func (b bboltPeer) Update(_ context.Context, id int64, body string) error {
	return b.change(id, func(p *Page) { p.Body, p.UpdatedAt = body, time.Now().UTC() })
}

func (b bboltPeer) View(_ context.Context, id int64) error {
	return b.change(id, func(p *Page) { p.Views++ })
}

func (b bboltPeer) Insert(_ context.Context, p *Page) error {
	return b.db.Update(func(tx *bbolt.Tx) error {
		if tx.Bucket(bktSlugs).Get([]byte(p.Slug)) != nil {
			return ErrTaken
		}
		id, err := tx.Bucket(bktPages).NextSequence()
		if err != nil {
			return err
		}
		p.ID = int64(id)
		return put(tx, nil, p)
	})
}

func visit(tx *bbolt.Tx, owner int64, v Visit) error {
	visits, latest := tx.Bucket(bktVisits), tx.Bucket(bktLatest)
	if was := visits.Get(key(owner, v.Visitor)); was != nil {
		if err := latest.Delete(key(owner, part(was, 0), v.Visitor)); err != nil {
			return err
		}
	}
	if err := visits.Put(key(owner, v.Visitor), key(v.At)); err != nil {
		return err
	}
	if err := latest.Put(key(owner, v.At, v.Visitor), []byte{}); err != nil {
		return err
	}
	var keys [][]byte
	c := latest.Cursor()
	for k, _ := c.Seek(key(owner)); bytes.HasPrefix(k, key(owner)); k, _ = c.Next() {
		keys = append(keys, bytes.Clone(k))
	}
	for ; len(keys) > Kept; keys = keys[1:] {
		if err := latest.Delete(keys[0]); err != nil {
			return err
		}
		if err := visits.Delete(key(owner, part(keys[0], 2))); err != nil {
			return err
		}
	}
	return nil
}

func (b bboltPeer) Visit(_ context.Context, owner int64, v Visit) error {
	return b.db.Update(func(tx *bbolt.Tx) error { return visit(tx, owner, v) })
}

func (b bboltPeer) Visits(_ context.Context, owner int64, limit int) (all []Visit, err error) {
	err = b.db.View(func(tx *bbolt.Tx) error {
		c := tx.Bucket(bktLatest).Cursor()
		k, _ := c.Seek(key(owner + 1))
		if k == nil {
			k, _ = c.Last()
		} else {
			k, _ = c.Prev()
		}
		for ; bytes.HasPrefix(k, key(owner)) && len(all) < limit; k, _ = c.Prev() {
			all = append(all, Visit{Visitor: part(k, 2), At: part(k, 1)})
		}
		return nil
	})
	return all, err
}

func (b bboltPeer) Follow(_ context.Context, topic, user int64) error {
	return b.db.Update(func(tx *bbolt.Tx) error {
		return tx.Bucket(bktFollowers).Put(key(topic, user), []byte{})
	})
}

func (b bboltPeer) Unfollow(_ context.Context, topic, user int64) error {
	return b.db.Update(func(tx *bbolt.Tx) error {
		return tx.Bucket(bktFollowers).Delete(key(topic, user))
	})
}

func (b bboltPeer) Followers(_ context.Context, topic int64, limit int) (users []int64, err error) {
	err = b.db.View(func(tx *bbolt.Tx) error {
		c := tx.Bucket(bktFollowers).Cursor()
		for k, _ := c.Seek(key(topic)); bytes.HasPrefix(k, key(topic)) && len(users) < limit; k, _ = c.Next() {
			users = append(users, part(k, 1))
		}
		return nil
	})
	return users, err
}

func (b bboltPeer) Flush(context.Context) error { return nil }
