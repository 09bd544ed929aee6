package boltkv

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// base is what a batch sees besides its own changes: what the commits have done that the
// tree may lack, and the tree. It is the same however long the batch takes, though what is
// in moving comes to the tree meanwhile.
type base struct {
	*Store
	filling, moving *table
}

// look returns what can be seen now.
func (s *Store) look() base {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return base{s, s.filling, s.moving}
}

// get returns what key holds, also if it has expired.
func (b *base) get(key string) (item, bool) {
	for _, t := range []*table{b.filling, b.moving} {
		if buf, ok := t.get(key); ok {
			return held(key, buf)
		}
	}
	if b.filter.Load().Lacks(key) {
		return item{}, false
	}
	return b.fromTree(key)
}

// fromTree returns what the tree has under key. No transaction stays open: the mover waits
// for them when the file grows, and who has a turn may read the store besides.
func (s *Store) fromTree(key string) (it item, ok bool) {
	tx, err := s.beginRead()
	if err != nil {
		return item{damaged: err}, true
	}
	defer func() { _ = tx.Rollback() }()
	it, ok = s.tree(tx).get([]byte(key))
	it.value = bytes.Clone(it.value)
	return it, ok
}

// held returns the item that a table holds under key.
func held(key string, buf []byte) (item, bool) {
	if buf == nil {
		return item{}, false
	}
	return decode([]byte(key), buf), true
}

// live is the items as they will be when the batch under way is committed.
type live struct {
	base
	changes map[string][]byte // as in a table
	bytes   int               // that changes take in a record, at most

	// Of the turn under way.
	undo   []undone // takes its changes back, the last first
	before int      // bytes when it began
	most   int      // bytes that it has written at once
}

// undone is what changes held of a key before it was changed.
type undone struct {
	key  string
	buf  []byte
	held bool // changes had the key
}

// turn runs change. What that writes is taken back unless it succeeds and a commit has room
// for it, and when it panics.
func (l *live) turn(change func(*live) *failure) (fail *failure) {
	l.undo, l.before, l.most = l.undo[:0], l.bytes, 0
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

// takeBack takes back what the turn under way has written.
func (l *live) takeBack() {
	for _, u := range slices.Backward(l.undo) {
		if u.held {
			l.changes[u.key] = u.buf
		} else {
			delete(l.changes, u.key)
		}
	}
	l.undo, l.bytes, l.most = l.undo[:0], l.before, 0
}

// tooLarge returns an ErrTooLarge if the turn under way writes more than a commit has room
// for.
func (l *live) tooLarge() *failure {
	if l.most > l.limits.trip {
		return &failure{kv.ErrTooLarge, fmt.Errorf("the trip writes %d bytes, at most %d", l.most, l.limits.trip)}
	}
	return nil
}

// run carries out ops, as a part of the turn under way.
func (l *live) run(ops []kv.Op) *failure {
	l.tell(func(st *Stats) { st.Ops += uint64(len(ops)) })
	fail := l.guard(func() { run(ops, l) })
	if fail == nil {
		fail = l.tooLarge()
	}
	return fail
}

// get returns what key holds unless it has expired. The value may only be read, and only
// until the next call.
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

// put makes key hold it, with a new version.
func (l *live) put(key string, it item) {
	l.version++
	it.version = kv.Version(l.version)
	l.set(key, it.encode(key))
}

func (l *live) drop(key string) { l.set(key, nil) }

// set makes key hold the encoded item buf; nil: none. A turn that is too large to be
// committed is only counted from then on, so that it takes no more memory.
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
