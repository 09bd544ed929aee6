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
	seeker *bolt.Cursor // of items; nil: not needed yet
	added  int64        // items added by the transaction, minus items removed
	passed int64        // the same, in the part the scrub has read
	grown  int          // bytes of items added by the transaction, minus those removed
	swept  int          // expired items removed
	block  *block       // being changed; nil in a transaction that reads
	empty  [][]byte     // blocks without items
}

func (s *Store) tree(tx *bolt.Tx) *tree {
	return &tree{Store: s, tx: tx, items: tx.Bucket(itemsBucket)}
}

// get returns a damaged item if the tree is unreadable there.
func (t *tree) get(key []byte) (it item, ok bool) {
	if broken := onPage(func() { it, ok = t.find(key) }); broken != nil {
		return damagedItem(key, nil, broken.Error()), true
	}
	return it, ok
}

func (t *tree) find(key []byte) (it item, ok bool) {
	var r blockReader
	first, buf, _ := t.blockOf(t.cursor(), key)
	if first == nil {
		return item{}, false
	}
	for r.must(first, buf); r.next(); {
		if order := bytes.Compare(r.fullKey(), key); order == 0 {
			return r.item(key), true
		} else if order > 0 {
			break
		}
	}
	return item{}, false
}

// cursor returns one for blockOf, which may have another position after any call.
func (t *tree) cursor() *bolt.Cursor {
	if t.seeker == nil {
		t.seeker = t.items.Cursor()
	}
	return t.seeker
}

// blockOf moves c to the block with the range of key, or to the first one if all are behind it. next
// is the key of the next block if c has read that.
func (t *tree) blockOf(c *bolt.Cursor, key []byte) (first, buf, next []byte) {
	first, buf = c.Seek(key)
	if !bytes.Equal(first, key) {
		next = first
		if first, buf = c.Prev(); first == nil {
			first, buf = c.First()
			next = nil
		}
	}
	return first, buf, next
}

// eachBlock calls f for about most bytes of blocks, and returns the key to continue at, nil at the
// end. The first block may also have items before from.
func (t *tree) eachBlock(from []byte, most int, f func(first, buf []byte)) (next []byte) {
	c, size := t.items.Cursor(), 0
	first, buf, _ := t.blockOf(c, from)
	for ; first != nil; first, buf = c.Next() {
		if size > most {
			return bytes.Clone(first)
		}
		size += len(first) + len(buf)
		f(first, buf)
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
	b := t.at(key)
	i, found := b.find(key)
	if found {
		t.count(key, -1)
		if old := b.entries[i].expires; old != 0 {
			must(t.expiry().Delete(expiryKey(old, key)))
		}
	}
	var it item
	if buf != nil {
		it = decode(key, buf)
	}
	if buf == nil || it.hasExpired(t.now()) {
		if found {
			b.remove(i)
		}
		return
	}
	b.put(newEntry(key, it))
	t.count(key, 1)
	if it.expires != 0 {
		must(t.expiry().Put(expiryKey(it.expires, key), nil))
	}
}

// at returns the block with the range of key, to be changed.
func (t *tree) at(key []byte) *block {
	b := t.block
	if b.covers(key) {
		return b
	}
	t.flush()
	first, buf, next := t.blockOf(t.cursor(), key)
	if bytes.Compare(first, key) <= 0 {
		b.from = first
	}
	if b.first = first; first != nil && next == nil {
		next, _ = t.seeker.Next()
	}
	b.end = next
	b.read(buf)
	return b
}

// flush writes the changed block. Blocks without items stay until the end of the transaction, since
// a cursor of bbolt does not go back over empty pages.
func (t *tree) flush() {
	b := t.block
	if b.changed {
		t.grown -= b.size
		if b.first != nil && (len(b.entries) == 0 || !bytes.Equal(b.first, b.entries[0].key)) {
			t.empty = append(t.empty, b.first)
			must(t.items.Put(b.first, encodeBlock(b.first, nil, nil)))
		}
		b.split(&t.packer, func(first, buf []byte) {
			must(t.items.Put(first, buf))
			t.grown += len(first) + len(buf)
		})
	}
	*b = block{entries: b.entries[:0], keys: b.keys, room: b.room[:0], dictionary: b.dictionary}
}

// end writes the last block, and removes those without items.
func (t *tree) end() {
	t.flush()
	for _, first := range t.empty {
		if len(t.items.Get(first)) == len(encodeBlock(nil, nil, nil)) {
			must(t.items.Delete(first))
		}
	}
	t.fill()
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
	t.items.FillPercent = 1 - .4/(1+grown) // Not .5, since bbolt rounds down to a block.
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
	b := t.at(key)
	if i, found := b.find(key); found && b.entries[i].expires == expires {
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
