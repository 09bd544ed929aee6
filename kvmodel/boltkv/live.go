package boltkv

import (
	"fmt"
	"slices"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// base is the store below a batch. It does not change during the batch, even if the tree receives
// the items in moving.
type base struct {
	*Store
	filling, moving *table
	read            *tree // in the transaction of the current trip; nil: it has none yet
}

func (s *Store) look() base {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return base{s, s.filling, s.moving, nil}
}

func (b *base) get(key string) (item, bool) {
	for _, t := range []*table{b.filling, b.moving} {
		if buf, ok := t.get(key); ok {
			return held(key, buf)
		}
	}
	if b.filter.Load().Lacks(key) {
		return item{}, false
	}
	if b.cache != nil {
		// The cache has committed values, and nobody else commits before the turn ends.
		if it := b.cache.Get(key); it != nil {
			return item{value: it.Value, version: it.Version, expires: it.Ends, stays: true}, true
		}
	}
	return b.fromTree(key)
}

// fromTree returns the item of key in the tree. The value is valid until the trip ends.
func (b *base) fromTree(key string) (item, bool) {
	if b.read == nil {
		tx, err := b.beginRead()
		if err != nil {
			return item{damaged: err}, true
		}
		b.read = b.tree(tx)
	}
	return b.read.get(bytesOf(key))
}

// endTrip leaves no transaction open: the mover waits for open ones when the file grows.
func (b *base) endTrip() {
	if b.read != nil {
		_ = b.read.tx.Rollback()
		b.read = nil
	}
}

func held(key string, buf []byte) (item, bool) {
	if buf == nil {
		return item{}, false
	}
	it := decode(bytesOf(key), buf)
	it.stays = true
	return it, true
}

type live struct {
	base
	changes map[string][]byte // as in a table
	bytes   int               // maximum size of changes in a record

	// Of the current turn.
	undo   []undone
	before int
	most   int // most bytes written at one time
}

type undone struct {
	key  string
	buf  []byte
	held bool
}

// turn runs change, and undoes its writes if it fails, panics, or writes too much.
func (l *live) turn(change func(*live) *failure) (fail *failure) {
	l.forget()
	l.before, l.most = l.bytes, 0
	kept := false
	defer func() {
		if !kept {
			l.takeBack()
		}
	}()
	if fail = change(l); fail == nil {
		fail = l.tooLarge()
	}
	kept = fail == nil
	return fail
}

func (l *live) takeBack() {
	for _, u := range slices.Backward(l.undo) {
		if u.held {
			l.changes[u.key] = u.buf
		} else {
			delete(l.changes, u.key)
		}
	}
	l.forget()
	l.bytes, l.most = l.before, 0
}

func (l *live) forget() {
	clear(l.undo)
	l.undo = l.undo[:0]
}

func (l *live) tooLarge() *failure {
	if l.most > l.limits.trip {
		return &failure{kv.ErrTooLarge, fmt.Errorf("the trip writes %d bytes, at most %d", l.most, l.limits.trip)}
	}
	return nil
}

func (l *live) run(ops []kv.Op) *failure {
	l.tell(func(st *Stats) { st.Ops += uint64(len(ops)) })
	fail := l.guard(func() {
		defer l.endTrip()
		run(ops, l)
	})
	if fail == nil {
		fail = l.tooLarge()
	}
	return fail
}

// get returns the item of key unless it has expired. The value is valid until the trip ends.
func (l *live) get(key string) (item, bool) {
	it, ok := item{}, false
	if buf, changed := l.changes[key]; changed {
		it, ok = held(key, buf)
	} else {
		it, ok = l.base.get(key)
	}
	if it.hasExpired(l.now()) {
		return item{}, false
	}
	return it, ok
}

// put stores it under key, with more at the end of its value.
func (l *live) put(key string, it item, more ...byte) {
	l.version++
	it.version = kv.Version(l.version)
	l.set(key, it.encode(key, more))
}

func (l *live) drop(key string) { l.set(key, nil) }

// set stores buf, an encoded item or nil for a deletion. If a turn is too large, set only counts
// its bytes, to bound the memory.
func (l *live) set(key string, buf []byte) {
	old, held := l.changes[key]
	l.bytes += changeSize(key, buf)
	if held {
		l.bytes -= changeSize(key, old)
	}
	if l.most = max(l.most, l.bytes-l.before); l.most > l.limits.trip {
		return
	}
	l.undo = append(l.undo, undone{key, old, held})
	l.changes[key] = buf
}
