package boltkv

import (
	"bytes"
	"context"
	"runtime"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/internal/kept"
	"github.com/ringtree/ringtree/kvmodel/codec"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

const defaultCache = 64 << 20

func newCache(bytes int) *kept.Cache {
	switch {
	case bytes < 0:
		return nil
	case bytes == 0:
		bytes = defaultCache
	}
	return kept.New(bytes)
}

// The caller of forget holds mu, so a reader that sees the commit finds no older value in the
// cache.
func (s *Store) forget(changes map[string][]byte) {
	if s.cache == nil {
		return
	}
	for key := range changes {
		s.cache.Drop(key)
	}
}

func (s *Store) Memory(ctx context.Context) (kv.Memory, string) {
	if s.cache == nil || s.failed.Load() != nil || ctx.Err() != nil {
		return nil, ""
	}
	s.giveWay()
	return s, ""
}

// Recall answers from the cache and the filter, as of one moment.
func (s *Store) Recall(gets []kv.NearGet, results []kv.Result) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.cache.GetEach(gets, func(i int, it *kept.Item) bool {
		get := &gets[i]
		switch {
		case it == nil && !s.lacks(get.Key):
			return false
		case it == nil, it.Ends != 0 && it.HasEnded(s.now()):
			results[i] = kv.Result{Err: kv.ErrNotFound}
		case get.Decode != nil && it.Decoded == nil:
			return false
		default:
			results[i] = it.Result()
		}
		return true
	})
}

func (s *Store) lacks(key string) bool {
	return s.filter.Load().Lacks(key) && !s.filling.has(key) && !s.moving.has(key) && kv.CheckKey(key) == nil
}

// giveWay lets the committer run. Reads never wait, so many readers would keep it from the
// processor.
func (s *Store) giveWay() {
	if s.writers.Load() > 0 {
		runtime.Gosched()
	}
}

type reading struct {
	*Store
	ops     []kv.Op
	missing []answer
	filling *table
	fresh   []answer
}

type answer struct {
	op    int
	stamp kept.Stamp
	ends  int64 // as in an item
	kept  *kept.Item
}

func (r *reading) do() error {
	for {
		r.readMemory()
		if len(r.missing) == 0 {
			return nil
		}
		if done, err := r.readTree(); done || err != nil {
			return err
		}
	}
}

func (r *reading) readMemory() {
	r.missing, r.fresh = r.missing[:0], r.fresh[:0]
	r.mu.RLock()
	defer r.mu.RUnlock()
	r.filling = r.Store.filling
	for i := range r.ops {
		op := &r.ops[i]
		if refused(op.Result.Err) || r.recall(i) {
			continue
		}
		a := answer{op: i}
		if r.keeps(op) {
			a.stamp = r.cache.Stamp(op.Key)
		}
		buf, ok := r.filling.get(op.Key)
		if !ok {
			buf, ok = r.moving.get(op.Key)
		}
		switch {
		case ok:
			it, ok := held(op.Key, buf)
			r.see(a, it, ok)
		case r.filter.Load().Lacks(op.Key):
			r.see(a, item{}, false)
		default:
			r.missing = append(r.missing, a)
		}
	}
}

func (r *reading) keeps(op *kv.Op) bool { return op.Near && r.cache != nil }

func (r *reading) recall(i int) bool {
	if r.cache == nil {
		return false
	}
	op := &r.ops[i]
	it := r.cache.Get(op.Key)
	switch {
	case it == nil:
		return false
	case it.HasEnded(r.now()):
		op.Result = kv.Result{Err: kv.ErrNotFound}
	case op.Near:
		op.Result = it.Result()
		if op.Decode != nil && it.Decoded == nil {
			r.fresh = append(r.fresh, answer{op: i, kept: it})
		}
	default:
		op.Result = kv.Result{Value: append([]byte{}, it.Value...), Version: it.Version}
	}
	return true
}

// readTree returns false if another table is filling by now: the tree may then have newer commits
// than the tables that were read.
func (r *reading) readTree() (done bool, err error) {
	// mu is not held: while the file grows, this waits for all readers.
	tx, err := r.beginRead()
	if err != nil {
		return false, err
	}
	if done = r.look().filling == r.filling; done {
		t := r.tree(tx)
		for _, a := range r.missing {
			it, ok := t.get([]byte(r.ops[a.op].Key))
			r.see(a, it, ok)
		}
	}
	return done, tx.Rollback()
}

func (r *reading) see(a answer, it item, ok bool) {
	op := &r.ops[a.op]
	op.Result = read(it, ok && !it.hasExpired(r.now()), false)
	if r.keeps(op) && op.Result.Err == nil {
		a.ends = it.expires
		r.fresh = append(r.fresh, a)
	}
}

// keep caches the fresh results. Decoders run with no lock held and no transaction open.
func (r *reading) keep() {
	for _, a := range r.fresh {
		op := &r.ops[a.op]
		if a.kept != nil {
			op.Result = r.cache.Decoded(op.Key, a.kept, op.Decode).Result()
			continue
		}
		r.cache.KeepAnswer(op, &kept.Item{Value: op.Result.Value, Version: op.Result.Version, Ends: a.ends}, a.stamp)
	}
}

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
		return bytes.Compare(at, from) >= 0 && s.view(func(t *tree) { t.find(at) }) == nil
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
	ended := false
	fail = s.view(func(t *tree) {
		var r blockReader
		c := t.items.Cursor()
		first, buf, _ := t.blockOf(c, from)
		for ; first != nil; first, buf = c.Next() {
			for r.must(first, buf); r.next(); {
				switch {
				case bytes.Compare(r.fullKey(), from) < 0:
					continue
				case !bytes.HasPrefix(r.fullKey(), begin):
					ended = true
					return
				case len(found) == keysAtOnce:
					return
				}
				found = append(found, string(r.fullKey()))
			}
		}
		ended = true
	})
	switch {
	case ended:
		return found, nil, fail
	case len(found) == 0:
		return nil, from, fail
	}
	return found, append([]byte(found[len(found)-1]), 0), fail
}
