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

// live is the space of the items themselves. The caller holds mu.
type live struct{ *Store }

func (l live) now() time.Time { return l.opts.Now() }

func (l live) get(key string) *item {
	it := l.items[key]
	if it == nil {
		return nil
	}
	if !it.expires.IsZero() && !l.now().Before(it.expires) {
		delete(l.items, key)
		return nil
	}
	l.clock++
	it.used = l.clock
	return it
}

func (l live) put(key string, it item) error {
	it.version = l.nextVersion()
	return l.place(key, &it)
}

func (l live) nextVersion() kv.Version {
	l.clock++
	return kv.Version(l.clock)
}

func (l live) place(key string, it *item) error {
	l.forget(key)
	if l.items[key] == nil && l.opts.MaxItems > 0 && len(l.items) >= l.opts.MaxItems {
		if l.opts.Strict {
			return errFull
		}
		l.evictOldest()
	}
	l.clock++
	it.used = l.clock
	l.items[key] = it
	return nil
}

func (l live) drop(key string) {
	l.forget(key)
	delete(l.items, key)
}

func (l live) evictOldest() {
	var oldest string
	var used uint64
	for key, it := range l.items {
		if oldest == "" || it.used < used {
			oldest, used = key, it.used
		}
	}
	l.drop(oldest)
}

func (l live) recall(op *kv.Op) (kv.Result, bool) {
	if l.cache == nil {
		return kv.Result{}, false
	}
	switch it := l.cache.Get(op.Key); {
	case it == nil:
	case it.HasEnded(l.now().UnixNano()):
		return get(nil), true
	default:
		return l.cache.Decoded(op.Key, it, op.Decode).Result(), true
	}
	stored := l.get(op.Key)
	if op.Result = get(stored); op.Result.Err != nil {
		return op.Result, true
	}
	it := &kept.Item{Value: op.Result.Value, Version: op.Result.Version}
	if !stored.expires.IsZero() {
		it.Ends = stored.expires.UnixNano()
	}
	l.cache.KeepAnswer(op, it, l.cache.Stamp(op.Key))
	return op.Result, true
}

// atomic holds the lock while f runs.
func (s *Store) atomic(ctx context.Context, f func(kv.Store) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("memkv: %w: %w", kv.ErrUnavailable, err)
	}
	v := &view{live: live{s}, changed: make(map[string]*item)}
	defer func() { v.done = true }()
	if err := f(v); err != nil {
		return err
	}
	return v.commit()
}

// view is the space of a transaction: it keeps changes until it commits them.
type view struct {
	live
	changed map[string]*item // nil: deleted
	order   []string         // of the first change of each key
	done    bool
}

func (v *view) Do(_ context.Context, ops []kv.Op) error {
	if kv.Check(ops, viewPowers) == 0 {
		return nil
	}
	if v.done {
		return kv.Fail(ops, fmt.Errorf("memkv: %w: the transaction is over", kv.ErrUnavailable))
	}
	run(ops, v)
	return kv.Unanswered(ops)
}

func (v *view) Close() error { return nil }

func (v *view) Powers() kv.Powers { return viewPowers }

var viewPowers = kv.Powers{Unless: true, Ordered: true, Inside: true}

func (v *view) get(key string) *item {
	if it, ok := v.changed[key]; ok {
		return it
	}
	it := v.live.get(key)
	if it == nil {
		return nil
	}
	mine := *it
	mine.value = slices.Clip(it.value)
	return &mine
}

func (v *view) put(key string, it item) error {
	it.version = v.nextVersion()
	v.set(key, &it)
	return nil
}

func (v *view) recall(*kv.Op) (kv.Result, bool) { return kv.Result{}, false }

func (v *view) drop(key string) { v.set(key, nil) }

func (v *view) set(key string, it *item) {
	if _, ok := v.changed[key]; !ok {
		v.order = append(v.order, key)
	}
	v.changed[key] = it
}

// commit makes the changes live, or none if a strict store lacks the room.
func (v *view) commit() error {
	if v.opts.Strict && v.opts.MaxItems > 0 && v.growth() > v.opts.MaxItems-len(v.items) {
		return errFull
	}
	// Deletions come first, to make room.
	for key, it := range v.changed {
		if it == nil {
			v.live.drop(key)
		}
	}
	for _, key := range v.order {
		if it := v.changed[key]; it != nil {
			if err := v.place(key, it); err != nil {
				return err
			}
		}
	}
	return nil
}

func (v *view) growth() int {
	n := 0
	for key, it := range v.changed {
		switch _, there := v.items[key]; {
		case it != nil && !there:
			n++
		case it == nil && there:
			n--
		}
	}
	return n
}
