// Package nearkv caches items that a process has read from a store, so that frequently viewed pages
// take no trip.
//
// It answers only gets that allow it ([kv.Op].Near): reads for display, and the first try of a
// change, which the store refuses if the record has changed. An answer may be out of date by a
// flight, but is never older than one this process has seen or written.
//
// If the store announces its keys, nearkv also recognizes absent ones, for gets that allow it
// ([kv.Op].Sparse): an item stored by another process a flight ago may be missing.
//
// With a store that does not report changes, an answer is valid for Options.Age.
package nearkv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/internal/kept"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

type Options struct {
	// Bytes bounds the cache: keys, values, and about 128 bytes for each.
	Bytes int

	// Age is the maximum age of an answer, required unless the store reports changes.
	Age time.Duration
}

const minBytes = 1 << 20

// Store is a kv.Store that caches items of another one.
type Store struct {
	kv.Store
	powers kv.Powers
	cache  *kept.Cache
	absent *absent // may be nil
	age    time.Duration
	began  time.Time
	closed atomic.Bool

	changes atomic.Uint64 // counts invalidations
}

// New returns a store that caches items of s. Closing it closes s.
func New(s kv.Store, opts Options) (*Store, error) {
	powers := kv.PowersOf(s)
	switch {
	case opts.Bytes < minBytes:
		return nil, fmt.Errorf("nearkv: %d bytes are too few: at least %d", opts.Bytes, minBytes)
	case opts.Age < 0:
		return nil, errors.New("nearkv: Age must not be negative")
	case opts.Age == 0 && powers.Changes == nil:
		return nil, errors.New("nearkv: the store does not announce changes, so Age must limit the age of answers")
	}
	n := &Store{Store: s, powers: powers, cache: kept.New(opts.Bytes), age: opts.Age, began: time.Now()}
	n.powers.Near = true
	if atomic := powers.Atomic; atomic != nil {
		n.powers.Atomic = func(ctx context.Context, f func(kv.Store) error) error { return n.atomic(ctx, atomic, f) }
	}
	if powers.Changes != nil {
		powers.Changes.Tell(n.told)
	}
	if opts.Age == 0 {
		n.absent = newAbsent(powers, opts.Bytes)
	}
	if powers.Losses != nil {
		powers.Losses.Watch(func([]string, error) { n.cache.Empty() })
	}
	return n, nil
}

func (n *Store) Powers() kv.Powers { return n.powers }

func (n *Store) Close() error {
	n.closed.Store(true)
	n.absent.close()
	n.cache.Empty()
	return n.Store.Close()
}

func (n *Store) told(keys []string) {
	n.changes.Add(1)
	if keys == nil {
		n.cache.Empty()
		return
	}
	for _, key := range keys {
		n.cache.Drop(key)
	}
}

// Memory returns the store, or nil if it cannot answer.
func (n *Store) Memory(ctx context.Context) (kv.Memory, string) {
	if !n.answers(ctx) {
		return nil, ""
	}
	return n, ""
}

func (n *Store) answers(ctx context.Context) bool {
	return ctx.Err() == nil && n.isCurrent()
}

// isCurrent reports whether the cache has received all changes.
func (n *Store) isCurrent() bool {
	return !n.closed.Load() && (n.powers.Changes == nil || n.powers.Changes.Current())
}

// Recall answers gets from memory, as of one moment.
func (n *Store) Recall(gets []kv.NearGet, results []kv.Result) bool {
	changes := n.changes.Load()
	return n.cache.GetEach(gets, func(i int, it *kept.Item) (ok bool) {
		results[i], _, ok = n.answer(gets[i], it)
		return ok
	}) && n.changes.Load() == changes
}

// answer answers get with found, the cache's item of the key. It returns a nil item if the key is
// known to be absent.
func (n *Store) answer(get kv.NearGet, found *kept.Item) (r kv.Result, it *kept.Item, ok bool) {
	if it = n.fresh(found); it == nil {
		return kv.Result{Near: true, Err: kv.ErrNotFound}, nil, get.Sparse && n.absent.has(get.Key)
	}
	r = n.cache.Decoded(get.Key, it, get.Decode).Result()
	r.Near = true
	return r, it, true
}

// fresh returns it, unless it is too old.
func (n *Store) fresh(it *kept.Item) *kept.Item {
	if it == nil || n.age > 0 && n.clock()-it.Asked > int64(n.age) {
		return nil
	}
	return it
}

// Do answers gets from memory if possible, and requests the other keys in one trip. If a value in
// memory has changed by then, it requests all keys, so that keys read together show one moment.
func (n *Store) Do(ctx context.Context, ops []kv.Op) error {
	if !n.answers(ctx) || !areShown(ops) {
		return n.ask(ctx, ops)
	}
	changes := n.changes.Load()
	missing, items := n.recall(ops)
	switch {
	case len(missing) == 0 && n.changes.Load() == changes:
		return nil
	case len(missing) == len(ops):
		return n.ask(ctx, ops)
	}
	if err := n.askFor(ctx, ops, missing); err != nil || n.stand(ops, items) {
		return err
	}
	return n.ask(ctx, ops)
}

func areShown(ops []kv.Op) (near bool) {
	for i := range ops {
		op := &ops[i]
		if op.Kind != kv.Get || op.TTL != 0 || len(op.Unless) > 0 {
			return false // or invalid
		}
		near = near || op.Near
	}
	return near
}

// recall answers ops from memory. It returns the indexes of the others, and the items of the
// answers.
func (n *Store) recall(ops []kv.Op) (missing []int, items []*kept.Item) {
	items = make([]*kept.Item, len(ops))
	for i := range ops {
		op := &ops[i]
		if op.Near {
			if r, it, ok := n.answer(kv.NearGet{Key: op.Key, Decode: op.Decode, Sparse: op.Sparse}, n.cache.Get(op.Key)); ok {
				op.Result, items[i] = r, it
				continue
			}
		}
		missing = append(missing, i)
	}
	return missing, items
}

func (n *Store) askFor(ctx context.Context, ops []kv.Op, missing []int) error {
	some := make([]kv.Op, len(missing))
	for k, i := range missing {
		some[k] = ops[i]
	}
	err := n.ask(ctx, some)
	for k, i := range missing {
		ops[i].Result = some[k].Result
	}
	return err
}

// stand reports whether the items are still in memory. A server reports all earlier changes before
// it answers, so they were then current at the time of its answer.
func (n *Store) stand(ops []kv.Op, items []*kept.Item) bool {
	for i, it := range items {
		if it == nil {
			continue
		}
		if now := n.fresh(n.cache.Get(ops[i].Key)); now == nil || now.Version != it.Version {
			return false
		}
	}
	return n.isCurrent()
}

func (n *Store) clock() int64 { return int64(time.Since(n.began)) }

// ask carries out ops on the underlying store, and caches results of near gets.
func (n *Store) ask(ctx context.Context, ops []kv.Op) error {
	began := n.clock()
	var stamps []kept.Stamp
	for i := range ops {
		op := &ops[i]
		if op.Kind.Writes() {
			n.absent.lose(op.Key)
		}
		if op.Near && op.Kind == kv.Get {
			if stamps == nil {
				stamps = make([]kept.Stamp, len(ops))
			}
			stamps[i] = n.cache.Stamp(op.Key)
		}
	}
	err := n.Store.Do(ctx, ops)
	ended := n.clock()
	for i := range ops {
		switch op := &ops[i]; {
		case op.Kind.Writes():
			n.changes.Add(1)
			n.cache.Drop(op.Key)
		case !answered(op.Result):
		case op.Near:
			it := &kept.Item{Value: bytes.Clone(op.Result.Value), Version: op.Result.Version, Asked: began, Read: ended}
			n.cache.KeepAnswer(op, it, stamps[i])
		default:
			n.cache.DropOthers(op.Key, op.Result.Version)
		}
		if ops[i].Result.Err == nil {
			n.absent.lose(ops[i].Key)
		}
	}
	return err
}

func answered(r kv.Result) bool { return r.Err == nil || errors.Is(r.Err, kv.ErrNotFound) }

// atomic drops the keys written by a transaction when it has ended.
func (n *Store) atomic(ctx context.Context, atomic func(context.Context, func(kv.Store) error) error, f func(kv.Store) error) error {
	written := []string{}
	defer func() { n.told(written) }()
	return atomic(ctx, func(s kv.Store) error { return f(&writing{s, n.absent, &written}) })
}

type writing struct {
	kv.Store
	absent *absent
	keys   *[]string
}

func (w *writing) Powers() kv.Powers { return kv.PowersOf(w.Store) }

func (w *writing) Do(ctx context.Context, ops []kv.Op) error {
	for i := range ops {
		if ops[i].Kind.Writes() {
			w.absent.lose(ops[i].Key)
			*w.keys = append(*w.keys, ops[i].Key)
		}
	}
	return w.Store.Do(ctx, ops)
}
