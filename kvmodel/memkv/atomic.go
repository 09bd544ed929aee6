package memkv

import (
	"context"
	"fmt"
	"slices"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

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
	v.note(key, &it)
	return nil
}

func (v *view) recall(*kv.Op) (kv.Result, bool) { return kv.Result{}, false }

func (v *view) drop(key string) { v.note(key, nil) }

func (v *view) note(key string, it *item) {
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
