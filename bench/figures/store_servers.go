package main

import (
	"context"
	"fmt"
	"os/exec"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/redis/rueidis"

	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memcachekv"
	"github.com/ringtree/ringtree/kvmodel/rediskv"
)

// pair is a store and the raw client beneath it, on the same server.
type pair struct {
	name       string
	store      kvmodel.Store
	rawGet     func(key string) error
	rawGetMany func(keys []string) error
}

func memcachedSpeed(b *bench) error {
	if err := need("memcached"); err != nil {
		return err
	}
	server, err := servers.Memcached()
	if err != nil {
		return err
	}
	defer server.Stop()
	store, err := memcachekv.OpenVolatile([]string{server.Addr}, memcachekv.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	raw := memcache.New(server.Addr)
	raw.MaxIdleConns = 64
	defer raw.Close()
	return b.comparePair(pair{
		name:  "memcachekv",
		store: store,
		rawGet: func(key string) error {
			_, err := raw.Get(key)
			return err
		},
		rawGetMany: func(keys []string) error {
			_, err := raw.GetMulti(keys)
			return err
		},
	})
}

func redisSpeed(b *bench) error {
	if err := need("redis-server"); err != nil {
		return err
	}
	server, err := servers.Redis()
	if err != nil {
		return err
	}
	defer server.Stop()
	store, err := rediskv.Open(b.ctx, rediskv.Options{Addrs: []string{server.Addr}})
	if err != nil {
		return err
	}
	defer store.Close()
	raw, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{server.Addr}, DisableCache: true})
	if err != nil {
		return err
	}
	defer raw.Close()
	return b.comparePair(pair{
		name:  "rediskv",
		store: store,
		rawGet: func(key string) error {
			_, err := raw.Do(b.ctx, raw.B().Get().Key(key).Build()).AsBytes()
			return err
		},
		rawGetMany: func(keys []string) error {
			values, err := raw.Do(b.ctx, raw.B().Mget().Key(keys...).Build()).ToArray()
			for i := 0; i < len(values) && err == nil; i++ {
				_, err = values[i].AsBytes()
			}
			return err
		},
	})
}

// need returns an error that says what to install if program is not there.
func need(program string) error {
	if _, err := exec.LookPath(program); err != nil {
		return fmt.Errorf("%s is not installed: run make setup", program)
	}
	return nil
}

// comparePair reports how the store's reads compare with the raw client's.
func (b *bench) comparePair(p pair) error {
	keys, err := fill(b.ctx, p.store, 20)
	if err != nil {
		return err
	}
	get := func(key string) error {
		_, err := kv.One(b.ctx, p.store, kv.OpGet(key))
		return err
	}
	getMany := func(keys []string) error {
		_, err := kv.GetAll(b.ctx, p.store, keys...)
		return err
	}
	for _, clients := range []int{1, 32} {
		ratio, err := compare(
			func() error { return together(clients, 4000, func(_, call int) error { return get(keys[call%20]) }) },
			func() error {
				return together(clients, 4000, func(_, call int) error { return p.rawGet(keys[call%20]) })
			})
		if err != nil {
			return err
		}
		b.report(fmt.Sprintf("%s: get, %d at once, speed to the raw client's", p.name, clients), ratio, atLeast(0.9).ratio())
		ratio, err = compare(
			func() error { return together(clients, 1000, func(int, int) error { return getMany(keys) }) },
			func() error { return together(clients, 1000, func(int, int) error { return p.rawGetMany(keys) }) })
		if err != nil {
			return err
		}
		b.report(fmt.Sprintf("%s: get of 20, %d at once, speed to the raw client's", p.name, clients), ratio, atLeast(0.9).ratio())
	}
	ours, err := allocs(func() error { return get(keys[0]) })
	if err != nil {
		return err
	}
	theirs, err := allocs(func() error { return p.rawGet(keys[0]) })
	if err != nil {
		return err
	}
	b.report(p.name+": get, allocations more than the raw client's", ours-theirs, atMost(4))
	return nil
}

// fill stores n items of 1 KiB and returns their keys.
func fill(ctx context.Context, s kvmodel.Store, n int) ([]string, error) {
	keys := make([]string, n)
	ops := make([]kv.Op, n)
	for i := range ops {
		keys[i] = fmt.Sprint("page:", i)
		ops[i] = kv.OpSet(keys[i], make([]byte, 1024))
	}
	return keys, s.Do(ctx, ops)
}
