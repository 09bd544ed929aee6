package boltkv

import (
	"bytes"

	bolt "go.etcd.io/bbolt"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// live is the space of the items in the file, within one transaction. It keeps
// the index of expiries in step with the items.
type live struct {
	*Store
	tx      *bolt.Tx
	items   *bolt.Bucket
	changed bool
	bytes   int // of values put
	swept   int // expired items removed
}

func (s *Store) live(tx *bolt.Tx) *live {
	return &live{Store: s, tx: tx, items: tx.Bucket(itemsBucket)}
}

// expiry returns the index of expiries. Reads do not need it.
func (l *live) expiry() *bolt.Bucket { return l.tx.Bucket(expiryBucket) }

func (l *live) now() int64 { return l.opts.Now().UnixNano() }

func (l *live) get(key string) (item, bool) {
	it, ok := l.stored([]byte(key))
	if !ok || it.expires != 0 && it.expires <= l.now() {
		return item{}, false
	}
	return it, true
}

// stored returns what key holds, even if it has expired.
func (l *live) stored(key []byte) (item, bool) {
	buf := l.items.Get(key)
	if buf == nil {
		return item{}, false
	}
	return decode(buf), true
}

func (l *live) put(key string, it item) {
	it.version = l.nextVersion()
	l.place(key, it)
}

func (l *live) nextVersion() kv.Version {
	l.version++
	return kv.Version(l.version)
}

// place stores it under key as it is.
func (l *live) place(key string, it item) {
	k := []byte(key)
	l.unlist(k)
	must(l.items.Put(k, it.encode()))
	if it.expires != 0 {
		must(l.expiry().Put(expiryKey(it.expires, k), nil))
	}
	l.changed = true
	l.bytes += len(it.value)
}

func (l *live) drop(key string) { l.remove([]byte(key)) }

func (l *live) remove(key []byte) {
	l.unlist(key)
	must(l.items.Delete(key))
	l.changed = true
}

// unlist removes the entry for key from the index of expiries.
func (l *live) unlist(key []byte) {
	if it, ok := l.stored(key); ok && it.expires != 0 {
		must(l.expiry().Delete(expiryKey(it.expires, key)))
	}
}

// sweep removes at most limit expired items.
func (l *live) sweep(limit int) {
	for range limit {
		entry := l.due()
		if entry == nil {
			return
		}
		l.removeListed(bytes.Clone(entry))
		l.swept++
	}
}

// removeListed removes the item of an entry in the index of expiries.
func (l *live) removeListed(entry []byte) {
	expires, key := splitExpiryKey(entry)
	if it, ok := l.stored(key); ok && it.expires == expires {
		l.remove(key)
		return
	}
	// An entry without its item is damage: remove the entry, not the item.
	must(l.expiry().Delete(entry))
	l.changed = true
}

// due returns the first entry of the index of expiries if its item has expired.
func (l *live) due() []byte {
	entry, _ := l.expiry().Cursor().First()
	if entry == nil {
		return nil
	}
	if expires, _ := splitExpiryKey(entry); expires > l.now() {
		return nil
	}
	return entry
}

// must panics if err is not nil. bbolt returns such an error only if a bucket
// is not as this package made it, which is damage.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
