package boltkv

// A file of format 1 is brought to this format as it is opened, but for its items. They
// get their sums in the background, a few at a time, so that a large file opens at once.

const (
	upgradedAtOnce = 1000    // items in a transaction, at most
	upgradedBytes  = 1 << 20 // and bytes
)

// upgradeSome gives sums to the next items that have none. When there are no more, what
// has no sum is damaged.
func (s *Store) upgradeSome() error {
	if s.old.Load() == 0 {
		return nil
	}
	var next []byte
	ended := false
	err := s.update(func(t *tree) {
		var keys, items [][]byte
		next, keys, items = t.without(s.upgraded)
		for i, key := range keys {
			t.place(key, items[i])
		}
		if ended = next == nil; ended {
			t.setState(func(st *state) { st.old = 0 })
		}
	})
	if err == nil {
		s.upgraded = next
	}
	if err == nil && ended {
		s.old.Store(0)
	}
	return err
}

// without returns keys from from on whose items have no sums, these items with sums, and
// where to go on; nil at the end.
func (t *tree) without(from []byte) (next []byte, keys, items [][]byte) {
	c := t.items.Cursor()
	size := 0
	for key, buf := c.Seek(from); key != nil; key, buf = c.Next() {
		if len(keys) == upgradedAtOnce || size > upgradedBytes {
			return append([]byte{}, key...), keys, items
		}
		size += len(key) + len(buf)
		if isNew(buf) || !isOld(buf, t.old.Load()) {
			continue
		}
		it := decode(key, buf, t.old.Load())
		keys = append(keys, append([]byte{}, key...))
		items = append(items, it.encode(string(key)))
	}
	return nil, keys, items
}
