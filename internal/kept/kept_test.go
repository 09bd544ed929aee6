package kept

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

func text(value []byte) (any, int, error) { return string(value), 1 << 10, nil }

func newItem(value string, d kv.Decoder) *Item {
	it := &Item{Value: []byte(value), Version: 1}
	it.Decode(d)
	return it
}

func TestCache_HoldsNoMoreThanItIsGiven(t *testing.T) {
	const most, keys = 4 << 20, 50_000
	for name, decoder := range map[string]kv.Decoder{"values": nil, "decoded values": text} {
		c := New(most)
		for n := range keys {
			key := fmt.Sprint(n)
			c.Keep(key, newItem("value of "+key, decoder), c.Stamp(key))
		}
		bytes, kept := 0, 0
		for n := range keys {
			key := fmt.Sprint(n)
			s, hash := c.of(key)
			if at := s.find(key, hash); at != nil {
				bytes, kept = bytes+at.size(), kept+1
			}
		}
		if bytes > most || bytes < most/3 {
			t.Errorf("%s: %d items of %d bytes are kept, of %d", name, kept, bytes, most)
		}
	}
}

func TestCache_GetEach_IsGetForEachKey(t *testing.T) {
	c := New(1 << 20)
	for n := range 100 {
		key := fmt.Sprint("there ", n)
		c.Keep(key, newItem(key, nil), c.Stamp(key))
	}
	for _, n := range []int{0, 1, abreast, 3*abreast + 1} {
		gets, found := make([]kv.NearGet, n), make([]*Item, n)
		for i := range gets {
			gets[i].Key = fmt.Sprint([...]string{"there ", "absent "}[i%2], i%100)
		}
		if all := c.GetEach(gets, func(i int, it *Item) bool { found[i] = it; return true }); !all {
			t.Errorf("of %d keys some are left out", n)
		}
		for i, get := range gets {
			if want := c.Get(get.Key); found[i] != want || (want != nil) != (i%2 == 0) {
				t.Errorf("%s, one of %d keys: found %v, want %v", get.Key, n, found[i], want)
			}
		}
	}
}

func TestCache_WhatWasReadBeforeADropIsNotKept(t *testing.T) {
	for name, drop := range map[string]func(*Cache){
		"of the key": func(c *Cache) { c.Drop("k") },
		"of all":     func(c *Cache) { c.Empty() },
	} {
		c := New(1 << 20)
		before := c.Stamp("k")
		drop(c)
		if c.Keep("k", newItem("old", nil), before); c.Get("k") != nil {
			t.Errorf("a drop %s is forgotten", name)
		}
		if c.Keep("k", newItem("new", nil), c.Stamp("k")); c.Get("k") == nil {
			t.Errorf("after a drop %s nothing is kept", name)
		}
	}
}

func TestCache_Decoded_BringsNothingBackThatWasDropped(t *testing.T) {
	c := New(1 << 20)
	c.Keep("k", newItem("old", nil), c.Stamp("k"))
	it := c.Get("k")
	c.Drop("k")
	if got := c.Decoded("k", it, text); got.Decoded != "old" || c.Get("k") != nil {
		t.Errorf("decoded: want old, got %v; kept: %v", got.Decoded, c.Get("k"))
	}
}

func TestCache_Decoded_IsKept(t *testing.T) {
	c := New(1 << 20)
	c.Keep("k", newItem("value", nil), c.Stamp("k"))
	c.Decoded("k", c.Get("k"), text)
	if it := c.Get("k"); it.Decoded != "value" || it.Bytes != 1<<10 {
		t.Errorf("kept is %v of %d bytes", it.Decoded, it.Bytes)
	}
}

func TestCache_WhatIsAskedForStaysWhileOthersPassThrough(t *testing.T) {
	c := New(4 << 20)
	keep := func(key string) { c.Keep(key, newItem("value of "+key, nil), c.Stamp(key)) }
	const hot, cold = 1000, 100_000
	for n := range hot {
		keep(fmt.Sprint("hot", n))
	}
	lost := 0
	for n := range cold {
		keep(fmt.Sprint("cold", n))
		if key := fmt.Sprint("hot", n%hot); c.Get(key) == nil {
			lost++
			keep(key)
		}
	}
	if lost > cold/100 {
		t.Errorf("%d of %d gets of what is asked for again and again have found nothing", lost, cold)
	}
}

// The keys are so many that slots come, go and move at all times.
func TestCache_AGetThatBeganBehindADropFindsNothingOlder(t *testing.T) {
	const keys, rounds = 600, 20
	c := New(shards << 10)
	key := func(n int) string { return fmt.Sprintf("key %0*d", n%80, n) }
	var dropped [keys]atomic.Uint64
	var writers, readers sync.WaitGroup
	var done atomic.Bool
	found := 0
	for w := range 2 {
		writers.Go(func() {
			for version := uint64(1); version <= rounds; version++ {
				for n := w; n < keys; n += 2 {
					it := newItem(key(n), nil)
					it.Version = kv.Version(version)
					c.Keep(key(n), it, c.Stamp(key(n)))
					if n%3 > 0 {
						c.Drop(key(n))
						dropped[n].Store(version)
					}
				}
			}
		})
	}
	readers.Go(func() {
		for !done.Load() {
			for n := range keys {
				floor := dropped[n].Load()
				it := c.Get(key(n))
				if it == nil {
					continue
				}
				if found++; string(it.Value) != key(n) || uint64(it.Version) <= floor {
					t.Errorf("under %q is %q of version %d, and up to %d all were dropped", key(n), it.Value, it.Version, floor)
					return
				}
			}
		}
	})
	writers.Wait()
	done.Store(true)
	if readers.Wait(); found == 0 {
		t.Error("no get has found anything")
	}
}
