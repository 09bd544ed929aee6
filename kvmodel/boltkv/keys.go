package boltkv

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/kvmodel/codec"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

const keysAtOnce = 1000

// keys lists even expired items until they are swept. It continues after a damaged page, and then
// ends with an ErrCorrupt.
func (s *Store) keys(ctx context.Context, begin string, f func([]string) error) error {
	return s.walk(ctx, begin, "", f)
}

func (s *Store) walk(ctx context.Context, begin, after string, f func([]string) error) error {
	there, gone := s.inTables(begin)
	from := []byte(max(begin, after+"\x00"))
	skipped, _ := slices.BinarySearch(there, string(from))
	there = there[skipped:]
	var damaged *failure
	for from != nil {
		found, next, fail := s.keysFrom(ctx, from, []byte(begin))
		switch {
		case fail == nil:
		case fail.sentinel == codec.ErrCorrupt:
			damaged, next = fail, s.behind(next)
		default:
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
	if damaged != nil {
		return damaged
	}
	return nil
}

// behind returns a key after from, which is on a damaged page, where the tree is readable again, or
// nil. It searches byte by byte, and may skip several pages.
func (s *Store) behind(from []byte) (key []byte) {
	canRead := func(at []byte) bool {
		return bytes.Compare(at, from) >= 0 && s.view(func(t *tree) { t.items.Cursor().Seek(at) }) == nil
	}
	last := bytes.Repeat([]byte{0xff}, kv.MaxKey)
	for len(key) <= kv.MaxKey {
		next := 0
		for next < 256 && !canRead(slices.Concat(key, []byte{byte(next)}, last)) {
			next++
		}
		if next == 256 {
			return nil
		}
		if key = append(key, byte(next)); canRead(key) {
			return key
		}
	}
	return nil
}

// gone hides keys in the tree.
func (s *Store) inTables(begin string) (there []string, gone map[string]bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	held := make(map[string]bool)
	for _, t := range []*table{s.moving, s.filling} { // newer last
		if t == nil {
			continue
		}
		for key, buf := range t.items {
			if strings.HasPrefix(key, begin) {
				held[key] = buf != nil
			}
		}
	}
	gone = make(map[string]bool)
	for key, holds := range held {
		if holds {
			there = append(there, key)
		} else {
			gone[key] = true
		}
	}
	slices.Sort(there)
	return there, gone
}

func merge(a, b []string) []string {
	all := append(a, b...)
	slices.Sort(all)
	return slices.Compact(all)
}

// next is nil at the end.
func (s *Store) keysFrom(ctx context.Context, from, begin []byte) (found []string, next []byte, fail *failure) {
	if err := ctx.Err(); err != nil {
		return nil, nil, unavailable(err)
	}
	if fail := s.failed.Load(); fail != nil {
		return nil, nil, fail
	}
	next = from
	fail = s.view(func(t *tree) {
		c := t.items.Cursor()
		key, _ := c.Seek(from)
		for ; bytes.HasPrefix(key, begin) && key != nil; key, _ = c.Next() {
			found, next = append(found, string(key)), append(bytes.Clone(key), 0)
			if len(found) == keysAtOnce {
				return
			}
		}
		next = nil
	})
	return found, next, fail
}
