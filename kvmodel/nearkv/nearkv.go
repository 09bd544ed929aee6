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

// Options say how much a [Store] keeps, and for how long.
type Options struct {
	// Bytes bounds what is kept: keys, values, and about 128 bytes for each.
	Bytes int

	// Age is how old an answer may be. 0: as old as it is right, on a store that tells
	// what has changed ([kv.Powers].Changes). A store that does not needs an age.
	Age time.Duration
}

// minBytes is the least that is worth keeping.
const minBytes = 1 << 20

// Store is a kv.Store that keeps what it has read of another.
type Store struct {
	kv.Store
	powers kv.Powers
	cache  *kept.Cache
	age    time.Duration
	began  time.Time
	closed atomic.Bool
}

// New returns a store that keeps what it has read of s. It takes over s: closing the one
// closes the other.
func New(s kv.Store, opts Options) (*Store, error) {
	powers := kv.PowersOf(s)
	switch {
	case opts.Bytes < minBytes:
		return nil, fmt.Errorf("nearkv: %d bytes are too few: at least %d", opts.Bytes, minBytes)
	case opts.Age < 0:
		return nil, errors.New("nearkv: Age must not be negative")
	case opts.Age == 0 && powers.Changes == nil:
		return nil, errors.New("nearkv: the store does not tell what has changed, so Age must say how old an answer may be")
	}
	n := &Store{Store: s, powers: powers, cache: kept.New(opts.Bytes), age: opts.Age, began: time.Now()}
	n.powers.Near = true
	if atomic := powers.Atomic; atomic != nil {
		n.powers.Atomic = func(ctx context.Context, f func(kv.Store) error) error { return n.atomic(ctx, atomic, f) }
	}
	if powers.Changes != nil {
		powers.Changes.Tell(n.told)
	}
	if powers.Losses != nil {
		powers.Losses.Watch(func([]string, error) { n.cache.Empty() })
	}
	return n, nil
}

// Powers returns what the store underneath can do, and Near.
func (n *Store) Powers() kv.Powers { return n.powers }

// Close closes the store underneath and forgets what is kept.
func (n *Store) Close() error {
	n.closed.Store(true)
	n.cache.Empty()
	return n.Store.Close()
}

// told drops what has changed.
func (n *Store) told(keys []string) {
	if keys == nil {
		n.cache.Empty()
		return
	}
	for _, key := range keys {
		n.cache.Drop(key)
	}
}

// Do answers ops from memory if all are gets that allow that and all are known, so that
// what they show was there at one time. Otherwise it carries them out in one trip.
func (n *Store) Do(ctx context.Context, ops []kv.Op) error {
	if n.answers(ctx) && n.recall(ops) {
		return nil
	}
	return n.ask(ctx, ops)
}

// answers reports whether a get may be answered from memory.
func (n *Store) answers(ctx context.Context) bool {
	return ctx.Err() == nil && !n.closed.Load() && (n.powers.Changes == nil || n.powers.Changes.Current())
}

// recall answers ops by what is kept, if it can answer all of them.
func (n *Store) recall(ops []kv.Op) bool {
	for i := range ops {
		if op := &ops[i]; !op.Near || op.Kind != kv.Get || op.TTL != 0 || len(op.Unless) > 0 {
			return false // Some are no gets, or bad ones.
		}
	}
	now := n.clock()
	for i := range ops {
		op := &ops[i]
		it := n.cache.Get(op.Key)
		if it == nil || n.age > 0 && now-it.Asked > int64(n.age) {
			return false
		}
		op.Result = n.cache.Decoded(op.Key, it, op.Decode).Result()
		op.Result.Near = true
	}
	return true
}

// clock returns the time since the store was made.
func (n *Store) clock() int64 { return int64(time.Since(n.began)) }

// ask has the store underneath carry out ops, and keeps what may be asked for again.
func (n *Store) ask(ctx context.Context, ops []kv.Op) error {
	began := n.clock()
	var stamps []kept.Stamp
	for i := range ops {
		if op := &ops[i]; op.Near && op.Kind == kv.Get {
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
			n.cache.Drop(op.Key)
		case !answered(op.Result):
		case op.Near:
			it := &kept.Item{Value: bytes.Clone(op.Result.Value), Version: op.Result.Version, Asked: began, Read: ended}
			n.cache.KeepAnswer(op, it, stamps[i])
		default:
			n.cache.DropOthers(op.Key, op.Result.Version)
		}
	}
	return err
}

// answered reports whether r says what is stored under a key: a value, or that there is
// none.
func answered(r kv.Result) bool { return r.Err == nil || errors.Is(r.Err, kv.ErrNotFound) }

// atomic drops what a transaction has written when it has ended.
func (n *Store) atomic(ctx context.Context, atomic func(context.Context, func(kv.Store) error) error, f func(kv.Store) error) error {
	var written []string
	defer func() {
		for _, key := range written {
			n.cache.Drop(key)
		}
	}()
	return atomic(ctx, func(s kv.Store) error { return f(&writing{s, &written}) })
}

// writing is the store of a transaction. It notes the keys that are written.
type writing struct {
	kv.Store
	keys *[]string
}

func (w *writing) Powers() kv.Powers { return kv.PowersOf(w.Store) }

func (w *writing) Do(ctx context.Context, ops []kv.Op) error {
	for i := range ops {
		if ops[i].Kind.Writes() {
			*w.keys = append(*w.keys, ops[i].Key)
		}
	}
	return w.Store.Do(ctx, ops)
}
