package timeline

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

type segment struct {
	number  int64
	key     string
	version kv.Version // 0: absent
	bytes   int        // of the value
	entries []entry
	strange bool // it also has entries of another shape
}

type decoded struct {
	mu sync.Mutex
	of map[string]decodedKey
}

// decodedKey is immutable.
type decodedKey struct {
	value   []byte
	entries []entry
	strange bool
}

const (
	maxDecoded      = 128
	maxDecodedBytes = 16 << 10 // of a value
)

// entries leaves out entries that do not belong under key. Those it returns are shared.
func (d *decoded) entries(key string, r kv.Result, belongs func(entry) bool) (all []entry, strange bool, err error) {
	isStrange := func(e entry) bool { return !e.lost() && !belongs(e) }
	if kept, ok := r.Decoded.([]entry); ok {
		if slices.ContainsFunc(kept, isStrange) {
			return slices.DeleteFunc(slices.Clone(kept), isStrange), true, nil
		}
		return kept, false, nil
	}
	d.mu.Lock()
	seen, ok := d.of[key]
	d.mu.Unlock()
	if ok && r.Err == nil && bytes.Equal(seen.value, r.Value) {
		return seen.entries, seen.strange, nil
	}
	if all, err = entriesIn(r); err != nil {
		return nil, false, err
	}
	n := len(all)
	all = slices.DeleteFunc(all, isStrange)
	strange = len(all) < n
	if r.Err == nil && len(r.Value) <= maxDecodedBytes {
		d.keep(key, decodedKey{r.Value, all, strange})
	}
	return all, strange, nil
}

func decodeKept(value []byte) (any, int, error) {
	all := decodeEntries(value)
	return all, cap(all) * int(unsafe.Sizeof(entry{})), nil
}

func (d *decoded) keep(key string, k decodedKey) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.of == nil || len(d.of) >= maxDecoded {
		d.of = make(map[string]decodedKey)
	}
	d.of[strings.Clone(key)] = k
}
