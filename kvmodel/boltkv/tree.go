package boltkv

import (
	"bytes"
	"errors"
	"fmt"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"
)

// tree is the file's tree within a transaction. It keeps the index of expiries and the number of
// items up to date.
type tree struct {
	*Store
	tx     *bolt.Tx
	items  *bolt.Bucket
	added  int64 // items added by the transaction, minus items removed
	passed int64 // the same, in the part the scrub has read
	swept  int   // expired items removed
}

func (s *Store) tree(tx *bolt.Tx) *tree {
	t := &tree{Store: s, tx: tx, items: tx.Bucket(itemsBucket)}
	if s.fills {
		t.items.FillPercent = 1
	}
	return t
}

// get returns the item of key. It returns a damaged item if the tree is unreadable there.
func (t *tree) get(key []byte) (it item, ok bool) {
	if broken := onPage(func() { it, ok = t.find(key) }); broken != nil {
		return damagedItem(key, nil, broken.Error()), true
	}
	return it, ok
}

func (t *tree) find(key []byte) (item, bool) {
	buf := t.items.Get(key)
	if buf == nil {
		return item{}, false
	}
	return decode(key, buf), true
}

// eachFrom calls f for items from from on, in order, about most bytes of them. It returns the key
// to continue at, nil at the end.
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

// onPage runs f, which reads or changes pages of the file. If a page is damaged, bbolt or the
// memory map panics; onPage returns that as an error.
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

// set stores the encoded item buf under key, or deletes it if buf is nil or expired.
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
	must(t.items.Put(key, buf))
	t.count(key, 1)
	if it.expires != 0 {
		must(t.expiry().Put(expiryKey(it.expires, key), nil))
	}
}

// unlist updates the index and the counts before the item of key is removed.
func (t *tree) unlist(key []byte) {
	it, ok := t.find(key)
	if !ok {
		return
	}
	t.count(key, -1)
	if it.expires != 0 {
		must(t.expiry().Delete(expiryKey(it.expires, key)))
	}
}

// count adjusts the counts of items by a change of key.
func (t *tree) count(key []byte, by int64) {
	t.added += by
	if t.scrub.hasPassed(key) {
		t.passed += by
	}
}

// expiry returns the index of expiries. Reads do not need it.
func (t *tree) expiry() *bolt.Bucket { return t.tx.Bucket(expiryBucket) }

// sweep removes at most limit expired items.
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

// removeListed removes the item of an entry in the index of expiries.
func (t *tree) removeListed(entry []byte) {
	expires, key := splitExpiryKey(entry)
	if buf := t.items.Get(key); buf != nil && decode(key, buf).expires == expires {
		t.set(key, nil)
		return
	}
	// An entry without its item is damage: remove the entry, not the item.
	must(t.expiry().Delete(entry))
}

// due returns the first entry of the index of expiries if its item has expired.
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

// must panics if err is not nil. bbolt returns such an error only if a bucket is not as this
// package creates it, which is damage.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
