package boltkv

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"
)

// tree is the file's tree within a transaction. It keeps the index of expiries and the
// census in step with the items.
type tree struct {
	*Store
	tx      *bolt.Tx
	items   *bolt.Bucket
	all     census // what the transaction has added to all items
	checked census // and to those that the scrub has passed
	swept   int    // expired items removed
}

// census is how many items of the tree have sums of their own, and these added up. It
// finds items that have vanished with the page that held them.
type census struct {
	count, sum uint64
	vague      bool // the sums of items that were damaged are, or are not, in sum
}

// enter counts the item it, which buf encodes.
func (c *census) enter(buf []byte, it item) { c.change(buf, it, 1) }

// leave counts it no more.
func (c *census) leave(buf []byte, it item) { c.change(buf, it, -1) }

func (c *census) change(buf []byte, it item, by int64) {
	switch {
	case it.damaged != nil:
		c.count += uint64(by)
		c.vague = true
	default:
		c.count += uint64(by)
		c.sum += uint64(by) * uint64(binary.BigEndian.Uint32(buf[17:]))
	}
}

// add adds what a transaction has done.
func (c *census) add(more census) {
	c.count += more.count
	c.sum += more.sum
	c.vague = c.vague || more.vague
}

func (s *Store) tree(tx *bolt.Tx) *tree {
	return &tree{Store: s, tx: tx, items: tx.Bucket(itemsBucket)}
}

// get returns the item that key holds, nil if it holds none, or a damaged one where the
// tree cannot tell.
func (t *tree) get(key []byte) (it item, ok bool) {
	if broken := onPage(func() { it, ok = t.find(key) }); broken != nil {
		return damagedItem(key, nil, broken.Error()), true
	}
	return it, ok
}

func (t *tree) find(key []byte) (item, bool) {
	if aside := t.tx.Bucket(asideBucket); aside != nil {
		switch buf := aside.Get(key); {
		case bytes.Equal(buf, dropped):
			return item{}, false
		case buf != nil:
			return decode(key, buf), true
		}
	}
	c := t.items.Cursor()
	found, buf := c.Seek(key)
	if bytes.Equal(found, key) && found != nil {
		return decode(key, buf), true
	}
	if what := t.misplaced(c, key, found, buf); what != "" {
		return damagedItem(key, nil, what), true
	}
	return item{}, false
}

// misplaced says what is wrong with the items before and behind where key would be, so
// that key may be there all the same: "" if nothing is. The cursor c is at next, the one
// behind.
func (t *tree) misplaced(c *bolt.Cursor, key, next, buf []byte) string {
	for _, step := range []func() ([]byte, []byte){nil, c.Prev} {
		at, order := next, 1
		if step != nil {
			if next == nil {
				at, buf = c.Last()
			} else {
				at, buf = step()
			}
			order = -1
		}
		switch {
		case at == nil:
		case bytes.Compare(at, key) != order:
			return fmt.Sprintf("%q is not where it belongs, beside it", at)
		case decode(at, buf).damaged != nil:
			return fmt.Sprintf("%q, beside it, is damaged", at)
		}
	}
	return ""
}

// onPage runs f, which reads or changes pages of the file. Where a page is damaged, bbolt
// or the memory map panics; onPage returns that as an error.
func onPage(f func()) (broken error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			broken = fmt.Errorf("a page is damaged: %v", p)
		}
	}()
	f()
	return nil
}

// place stores under key the encoded item buf.
func (t *tree) place(key, buf []byte) {
	t.unlist(key)
	must(t.items.Put(key, buf))
	it := decode(key, buf)
	t.count(key, buf, it, (*census).enter)
	if it.expires != 0 {
		must(t.expiry().Put(expiryKey(it.expires, key), nil))
	}
}

func (t *tree) remove(key []byte) {
	t.unlist(key)
	must(t.items.Delete(key))
}

// set makes key hold the encoded item buf, or nothing if that is nil.
func (t *tree) set(key, buf []byte) {
	switch {
	case t.isAside(key):
		t.setAside(key, buf)
	case buf == nil:
		t.remove(key)
	default:
		t.place(key, buf)
	}
}

// isAside reports whether what key holds was set aside.
func (t *tree) isAside(key []byte) bool {
	aside := t.tx.Bucket(asideBucket)
	return aside != nil && aside.Get(key) != nil
}

// dropped stands for no item, among those that were set aside.
var dropped = []byte{0}

// setAside is set for a key whose page is damaged. What is aside counts, whatever stands
// on the page.
func (t *tree) setAside(key, buf []byte) {
	aside, err := t.tx.CreateBucketIfNotExists(asideBucket)
	must(err)
	if buf == nil {
		buf = dropped
	}
	must(aside.Put(key, buf))
}

// unlist takes note that what key holds is about to go.
func (t *tree) unlist(key []byte) {
	buf := t.items.Get(key)
	if buf == nil {
		return
	}
	it := decode(key, buf)
	t.count(key, buf, it, (*census).leave)
	if it.expires != 0 {
		must(t.expiry().Delete(expiryKey(it.expires, key)))
	}
}

// count has an item enter or leave the census.
func (t *tree) count(key, buf []byte, it item, change func(*census, []byte, item)) {
	change(&t.all, buf, it)
	if t.scrub.hasPassed(key) {
		change(&t.checked, buf, it)
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
		t.remove(key)
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

// must panics if err is not nil. bbolt returns such an error only if a bucket
// is not as this package made it, which is damage.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
