package memkv

import (
	"time"

	"github.com/ringtree/ringtree/internal/kept"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

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
