package boltkv

import (
	"encoding/binary"
	"errors"
	"time"
)

type table struct {
	items map[string][]byte // encoded; nil: deleted
	bytes int

	point
}

func newTable(room int) *table { return &table{items: make(map[string][]byte, room)} }

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

// get returns a nil item if it was deleted, and false if the table, which may be nil, lacks the
// key.
func (t *table) get(key string) (buf []byte, ok bool) {
	if t == nil {
		return nil, false
	}
	buf, ok = t.items[key]
	return buf, ok
}

func (t *table) has(key string) bool {
	_, ok := t.get(key)
	return ok
}

func (t *table) add(changes map[string][]byte, p point) {
	for key, buf := range changes {
		t.set(key, buf)
	}
	t.point = p
}

// If the clock was set back, present has the time of the last commit. The caller holds mu.
func (t *table) present() point {
	p := t.point
	p.time = max(p.time, time.Now().UnixNano())
	return p
}

// encodeChanges writes for each key its length, the length of its item plus one or 0 if it was
// deleted, and both.
func encodeChanges(buf []byte, changes map[string][]byte) []byte {
	for key, it := range changes {
		buf = encodeChange(buf, key, it)
	}
	return buf
}

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
