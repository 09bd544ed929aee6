package boltkv

import (
	"encoding/binary"
	"errors"
	"time"
)

// table is what the commits of a log have done: for each key the item that it holds
// since, or that it holds none.
type table struct {
	items map[string][]byte // encoded; nil: the key was dropped
	bytes int               // of keys and items

	point // after the last commit
}

func newTable() *table { return &table{items: make(map[string][]byte)} }

// entrySize is about what an entry of a table takes besides its bytes.
const entrySize = 64

func (t *table) set(key string, buf []byte) {
	if old, ok := t.items[key]; ok {
		t.bytes -= len(old)
	} else {
		t.bytes += len(key) + entrySize
	}
	t.items[key] = buf
	t.bytes += len(buf)
}

// get returns the item that key holds, nil if it was dropped; not ok if the table does
// not say. A nil table says nothing.
func (t *table) get(key string) (buf []byte, ok bool) {
	if t == nil {
		return nil, false
	}
	buf, ok = t.items[key]
	return buf, ok
}

// has reports whether the table says what key holds.
func (t *table) has(key string) bool {
	_, ok := t.get(key)
	return ok
}

// add makes the changes of the commit at p.
func (t *table) add(changes map[string][]byte, p point) {
	for key, buf := range changes {
		t.set(key, buf)
	}
	t.point = p
}

// present returns the present moment, at which t has the last commit that can be seen. The
// caller holds mu. If the clock was put back, it is that of the commit.
func (t *table) present() point {
	p := t.point
	p.time = max(p.time, time.Now().UnixNano())
	return p
}

// encodeChanges appends changes to buf as the log keeps them: for each key its length,
// one more than the length of its item or 0 for none, and both.
func encodeChanges(buf []byte, changes map[string][]byte) []byte {
	for key, it := range changes {
		buf = encodeChange(buf, key, it)
	}
	return buf
}

// changeSize returns how many bytes encodeChange appends, at most.
func changeSize(key string, it []byte) int { return 2*binary.MaxVarintLen32 + len(key) + len(it) }

func encodeChange[K string | []byte](buf []byte, key K, it []byte) []byte {
	buf = binary.AppendUvarint(buf, uint64(len(key)))
	if it == nil {
		buf = binary.AppendUvarint(buf, 0)
	} else {
		buf = binary.AppendUvarint(buf, uint64(len(it))+1)
	}
	return append(append(buf, key...), it...)
}

var errBody = errors.New("the items in it cannot be read")

// decodeChanges calls f for each of the changes in buf. The items share buf's memory.
func decodeChanges(buf []byte, f func(key string, it []byte)) error {
	for len(buf) > 0 {
		keyLen, n := binary.Uvarint(buf)
		if n <= 0 {
			return errBody
		}
		itemLen, m := binary.Uvarint(buf[n:])
		if m <= 0 {
			return errBody
		}
		buf = buf[n+m:]
		if keyLen > uint64(len(buf)) || itemLen > uint64(len(buf))-keyLen+1 {
			return errBody
		}
		key := string(buf[:keyLen])
		buf = buf[keyLen:]
		if itemLen == 0 {
			f(key, nil)
			continue
		}
		f(key, buf[:itemLen-1:itemLen-1])
		buf = buf[itemLen-1:]
	}
	return nil
}
