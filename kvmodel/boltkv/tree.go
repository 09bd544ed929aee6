package boltkv

import (
	"bytes"
	"errors"
	"fmt"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"
)

// tree is the file's tree within a transaction. It maintains the index of expiries and the number
// of items.
type tree struct {
	*Store
	tx     *bolt.Tx
	items  *bolt.Bucket
	added  int64 // items added by the transaction, minus items removed
	passed int64 // the same, in the part the scrub has read
	grown  int   // bytes of items added by the transaction, minus those removed
	swept  int   // expired items removed
}

func (s *Store) tree(tx *bolt.Tx) *tree {
	return &tree{Store: s, tx: tx, items: tx.Bucket(itemsBucket)}
}

// get returns a damaged item if the tree is unreadable there.
func (t *tree) get(key []byte) (it item, ok bool) {
	if broken := onPage(func() { it, ok = t.find(key) }); broken != nil {
		return damagedItem(key, nil, broken.Error()), true
	}
	return it.unpack(key), ok
}

func (t *tree) find(key []byte) (item, bool) {
	buf := t.items.Get(key)
	if buf == nil {
		return item{}, false
	}
	return decode(key, buf), true
}

// eachFrom calls f for about most bytes of items, and returns the key to continue at, nil at the
// end.
func (t *tree) eachFrom(from []byte, most int, f func(key, buf []byte)) (next []byte) {
	c, size := t.items.Cursor(), 0
	for key, buf := c.Seek(from); key != nil; key, buf = c.Next() {
		if size > most {
			return bytes.Clone(key)
		}
		size += len(key) + len(buf)
		f(key, buf)
	}
	return nil
}

var errPage = errors.New("a page is damaged")

// onPage returns a panic of f, by bbolt or the memory map on a damaged page, as an error.
func onPage(f func()) (broken error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			broken = fmt.Errorf("%w: %v", errPage, p)
		}
	}()
	f()
	return nil
}

func (t *tree) set(key, buf []byte) {
	t.unlist(key)
	var it item
	if buf != nil {
		it = decode(key, buf)
	}
	if buf == nil || it.hasExpired(t.now()) {
		must(t.items.Delete(key))
		return
	}
	if it.pack(&t.packer, key) {
		buf = it.encode(string(key), nil)
	}
	must(t.items.Put(key, buf))
	t.grown += len(key) + len(buf)
	t.count(key, 1)
	if it.expires != 0 {
		must(t.expiry().Put(expiryKey(it.expires, key), nil))
	}
}

func (t *tree) unlist(key []byte) {
	buf := t.items.Get(key)
	if buf == nil {
		return
	}
	it := decode(key, buf)
	t.count(key, -1)
	t.grown -= len(key) + len(buf)
	if it.expires != 0 {
		must(t.expiry().Delete(expiryKey(it.expires, key)))
	}
}

func (t *tree) count(key []byte, by int64) {
	t.added += by
	if t.scrub.hasPassed(key) {
		t.passed += by
	}
}

// fill sets how full bbolt leaves the pages that it splits. A page that grows by a few items is
// halved, since more will come at random. One that grows by many is part of a run of keys in order,
// which leaves no room.
func (t *tree) fill() {
	stats := t.tx.Stats()
	grown := float64(max(t.grown, 0)) / float64(max(stats.GetNodeCount(), 1)) / float64(t.tx.DB().Info().PageSize)
	t.items.FillPercent = 1 - bolt.DefaultFillPercent/(1+grown)
}

func (t *tree) expiry() *bolt.Bucket { return t.tx.Bucket(expiryBucket) }

func (t *tree) sweep(limit int) {
	for range limit {
		entry := t.due()
		if entry == nil {
			return
		}
		t.removeListed(bytes.Clone(entry))
		t.swept++
	}
}

func (t *tree) removeListed(entry []byte) {
	expires, key := splitExpiryKey(entry)
	if buf := t.items.Get(key); buf != nil && decode(key, buf).expires == expires {
		t.set(key, nil)
		return
	}
	// The index is damaged, not the item.
	must(t.expiry().Delete(entry))
}

func (t *tree) due() []byte {
	entry, _ := t.expiry().Cursor().First()
	if entry == nil {
		return nil
	}
	if len(entry) < 8 {
		return entry
	}
	if expires, _ := splitExpiryKey(entry); expires > t.now() {
		return nil
	}
	return entry
}

// must panics on bbolt's errors: a bucket is not as this package creates it, which is damage.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
