// Package memkv is a store in memory, and the specification: every other store is tested against
// it. It can behave like a memcached that is short of memory.
package memkv

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ringtree/ringtree/internal/kept"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Options configure a Store. The zero value keeps everything.
type Options struct {
	// Now is the clock for TTLs; nil means time.Now.
	Now func() time.Time

	// MaxItems, if not 0, bounds the number of items. A further one replaces the least recently
	// used or, with Strict, is rejected.
	MaxItems int
	Strict   bool

	// Local makes the store private to one DB, like a file. Otherwise several may share it, as on a
	// server.
	Local bool

	// Cache is the size in bytes of a cache for gets with [kv.Near]. 0 means none.
	Cache int
}

// Store is a kv.Store in memory.
type Store struct {
	opts   Options
	powers kv.Powers

	mu     sync.Mutex
	items  map[string]*item
	cache  *kept.Cache // may be nil
	clock  uint64      // counts versions and uses
	closed bool
}

type item struct {
	value   []byte
	version kv.Version
	expires time.Time // zero: never
	used    uint64
}

var _ kv.Store = (*Store)(nil)

func New(opts Options) *Store {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	s := &Store{opts: opts, items: make(map[string]*item)}
	if opts.Cache > 0 {
		s.cache = kept.New(opts.Cache)
	}
	s.powers = kv.Powers{Unless: true, Ordered: true, Alone: opts.Local, Local: opts.Local, Near: opts.Cache > 0, Atomic: s.atomic, Keys: s.keys, Walk: s.walk}
	return s
}

func (s *Store) Do(ctx context.Context, ops []kv.Op) error {
	if kv.Check(ops, s.powers) == 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return kv.Fail(ops, fmt.Errorf("memkv: %w: %w", kv.ErrUnavailable, err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return kv.Fail(ops, errClosed)
	}
	run(ops, live{s})
	return kv.Unanswered(ops)
}

func (s *Store) forget(key string) {
	if s.cache != nil {
		s.cache.Drop(key)
	}
}

func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

func (s *Store) Powers() kv.Powers { return s.powers }

// Len returns the number of items, including expired ones until an op finds them.
func (s *Store) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.items)
}

// Keys returns the sorted keys of all items, including expired ones until an op finds them.
func (s *Store) Keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.named("", "")
}

// The caller of named holds mu.
func (s *Store) named(begin, after string) (keys []string) {
	for key := range s.items {
		if strings.HasPrefix(key, begin) && key > after {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

func (s *Store) keys(ctx context.Context, begin string, f func([]string) error) error {
	return s.walk(ctx, begin, "", f)
}

func (s *Store) walk(ctx context.Context, begin, after string, f func([]string) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("memkv: %w: %w", kv.ErrUnavailable, err)
	}
	s.mu.Lock()
	closed, found := s.closed, s.named(begin, after)
	s.mu.Unlock()
	switch {
	case closed:
		return errClosed
	case len(found) == 0:
		return nil
	}
	return f(found)
}

// Evict drops items without a trace, like a server that is short of memory.
func (s *Store) Evict(keys ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		s.forget(key)
		delete(s.items, key)
	}
}

var (
	errClosed = fmt.Errorf("memkv: %w: the store is closed", kv.ErrUnavailable)
	errFull   = fmt.Errorf("memkv: %w: the store is full", kv.ErrUnavailable)
)

// space is the data that ops run on: the live items, or a transaction's view of them.
type space interface {
	get(key string) *item          // nil if absent or expired
	put(key string, it item) error // assigns a new version
	drop(key string)
	recall(op *kv.Op) (r kv.Result, ok bool) // answers a get with Near, if the space has a cache
	now() time.Time
}

func run(ops []kv.Op, sp space) {
	var chains kv.Chains
	for i := range ops {
		op := &ops[i]
		if op.Result.Err == nil && !chains.Skips(op) {
			op.Result = apply(op, sp)
		}
		chains.Note(op)
	}
}

func apply(op *kv.Op, sp space) kv.Result {
	if op.Kind == kv.Get && op.Near {
		if r, ok := sp.recall(op); ok {
			return r
		}
	}
	it := sp.get(op.Key)
	switch op.Kind {
	case kv.Get:
		return get(it)
	case kv.Increment:
		return increment(op, it, sp)
	default:
		return kv.Result{Err: write(op, it, sp)}
	}
}

func get(it *item) kv.Result {
	if it == nil {
		return kv.Result{Err: kv.ErrNotFound}
	}
	return kv.Result{Value: append([]byte{}, it.value...), Version: it.version}
}

func write(op *kv.Op, it *item, sp space) error {
	switch op.Kind {
	case kv.Set:
		return store(op, sp)
	case kv.Add:
		if it != nil {
			return kv.ErrExists
		}
		return store(op, sp)
	case kv.CompareAndSwap:
		if err := compare(op, it); err != nil {
			return err
		}
		return store(op, sp)
	case kv.Delete:
		if it == nil {
			return kv.ErrNotFound
		}
		sp.drop(op.Key)
	case kv.CompareAndDelete:
		if err := compare(op, it); err != nil {
			return err
		}
		sp.drop(op.Key)
	case kv.Append:
		return appendTo(op, it, sp)
	}
	return nil
}

func compare(op *kv.Op, it *item) error {
	if it == nil {
		return kv.ErrNotFound
	}
	if it.version != op.Version {
		return kv.ErrConflict
	}
	return nil
}

func store(op *kv.Op, sp space) error {
	it := item{value: bytes.Clone(op.Value)}
	if op.TTL > 0 {
		it.expires = sp.now().Add(op.TTL)
	}
	return sp.put(op.Key, it)
}

func appendTo(op *kv.Op, it *item, sp space) error {
	if it == nil || len(it.value)+len(op.Value) > kv.MaxValue {
		return kv.ErrNotStored
	}
	if len(op.Unless) > 0 && bytes.HasSuffix(it.value, op.Unless) {
		return kv.ErrSealed
	}
	// Readers hold copies, and a view clips the capacity, so growing in place is safe.
	return sp.put(op.Key, item{value: append(it.value, op.Value...), expires: it.expires})
}

func increment(op *kv.Op, it *item, sp space) kv.Result {
	if it == nil {
		return kv.Result{Err: kv.ErrNotFound}
	}
	n, err := kv.ParseNumber(it.value)
	if err != nil {
		return kv.Result{Err: err}
	}
	// The sum itself could overflow.
	if op.Delta > kv.MaxNumber-n {
		return kv.Result{Err: fmt.Errorf("%w: %d%+d is past the largest", kv.ErrNotNumber, n, op.Delta)}
	}
	n = max(n+op.Delta, 0)
	err = sp.put(op.Key, item{value: strconv.AppendInt(nil, n, 10), expires: it.expires})
	if err != nil {
		return kv.Result{Err: err}
	}
	return kv.Result{Number: n}
}
