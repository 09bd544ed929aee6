package memkv

import (
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// live is the space of the items themselves. Its user holds the store's lock.
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

// place stores it under key as it is, and evicts another item if it must.
func (l live) place(key string, it *item) error {
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

func (l live) drop(key string) { delete(l.items, key) }

func (l live) evictOldest() {
	var oldest string
	var used uint64
	for key, it := range l.items {
		if oldest == "" || it.used < used {
			oldest, used = key, it.used
		}
	}
	delete(l.items, oldest)
}
