package boltkv

import (
	"bytes"
	"context"
	"slices"
	"strings"
)

// keysAtOnce is how many keys are listed in one transaction.
const keysAtOnce = 1000

// keys is the power of that name. Expired items are among them until they are swept.
func (s *Store) keys(ctx context.Context, begin string, f func([]string) error) error {
	return s.walk(ctx, begin, "", f)
}

// walk is the power of that name.
func (s *Store) walk(ctx context.Context, begin, after string, f func([]string) error) error {
	there, gone, fail := s.outside(begin)
	if fail != nil {
		return fail
	}
	from := []byte(max(begin, after+"\x00"))
	skipped, _ := slices.BinarySearch(there, string(from))
	there = there[skipped:]
	for from != nil {
		found, next, fail := s.keysFrom(ctx, from, []byte(begin))
		if fail != nil {
			return fail
		}
		found = slices.DeleteFunc(found, func(key string) bool { return gone[key] })
		end := len(there)
		if next != nil {
			end, _ = slices.BinarySearch(there, string(next))
		}
		found = merge(found, there[:end])
		there, from = there[end:], next
		if len(found) == 0 {
			continue
		}
		if err := f(found); err != nil {
			return err
		}
	}
	return nil
}

// outside returns the keys that begin with begin and hold items in the tables or aside, in
// order, and those that hold none, whatever stands among the items of the tree.
func (s *Store) outside(begin string) (there []string, gone map[string]bool, fail *failure) {
	held := s.inTables(begin)
	fail = s.view(func(t *tree) {
		aside := t.tx.Bucket(asideBucket)
		if aside == nil {
			return
		}
		c := aside.Cursor()
		for key, buf := c.Seek([]byte(begin)); key != nil && bytes.HasPrefix(key, []byte(begin)); key, buf = c.Next() {
			if _, newer := held[string(key)]; !newer {
				held[string(key)] = !bytes.Equal(buf, dropped)
			}
		}
	})
	gone = make(map[string]bool)
	for key, holds := range held {
		if holds {
			there = append(there, key)
		} else {
			gone[key] = true
		}
	}
	slices.Sort(there)
	return there, gone, fail
}

// inTables returns the keys of the tables that begin with begin, and whether they hold
// items.
func (s *Store) inTables(begin string) map[string]bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	held := make(map[string]bool)
	for _, t := range []*table{s.moving, s.filling} { // The newer last.
		if t == nil {
			continue
		}
		for key, buf := range t.items {
			if strings.HasPrefix(key, begin) {
				held[key] = buf != nil
			}
		}
	}
	return held
}

// merge returns the keys of a and b, both in order, in order and once.
func merge(a, b []string) []string {
	all := append(a, b...)
	slices.Sort(all)
	return slices.Compact(all)
}

// keysFrom returns the first keys of the tree from from on that begin with begin, and
// where to go on; nil at the end.
func (s *Store) keysFrom(ctx context.Context, from, begin []byte) (found []string, next []byte, fail *failure) {
	if err := ctx.Err(); err != nil {
		return nil, nil, unavailable(err)
	}
	if fail := s.failed.Load(); fail != nil {
		return nil, nil, fail
	}
	fail = s.view(func(t *tree) {
		c := t.items.Cursor()
		key, _ := c.Seek(from)
		for ; bytes.HasPrefix(key, begin) && key != nil && len(found) < keysAtOnce; key, _ = c.Next() {
			found = append(found, string(key))
		}
		if len(found) == keysAtOnce {
			next = append([]byte(found[keysAtOnce-1]), 0)
		}
	})
	return found, next, fail
}
