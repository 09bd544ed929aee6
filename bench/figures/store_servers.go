package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/redis/rueidis"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// raw is the client beneath a store, on the same server.
type raw struct {
	get     func(key string) error
	getMany func(keys []string) error
}

func memcachedSpeed(b *bench) error {
	return b.eachOf([]opener{onMemcached}, func(on backend) error {
		client := memcache.New(on.addrs...)
		client.MaxIdleConns = 64
		defer client.Close()
		return b.besideRaw(on, raw{
			get:     func(key string) error { _, err := client.Get(key); return err },
			getMany: func(keys []string) error { _, err := client.GetMulti(keys); return err },
		})
	})
}

func redisSpeed(b *bench) error {
	return b.eachOf([]opener{onRedis}, func(on backend) error {
		client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: on.addrs, DisableCache: true})
		if err != nil {
			return err
		}
		defer client.Close()
		return b.besideRaw(on, raw{
			get: func(key string) error {
				_, err := client.Do(b.ctx, client.B().Get().Key(key).Build()).AsBytes()
				return err
			},
			getMany: func(keys []string) error {
				values, err := client.Do(b.ctx, client.B().Mget().Key(keys...).Build()).ToArray()
				for i := 0; i < len(values) && err == nil; i++ {
					_, err = values[i].AsBytes()
				}
				return err
			},
		})
	})
}

// besideRaw reports how the store's reads compare with the raw client's.
func (b *bench) besideRaw(on backend, theirs raw) error {
	keys, err := fill(b.ctx, on.store, 20)
	if err != nil {
		return err
	}
	ours := raw{
		get:     func(key string) error { _, err := kv.One(b.ctx, on.store, kv.OpGet(key)); return err },
		getMany: func(keys []string) error { _, err := kv.GetAll(b.ctx, on.store, keys...); return err },
	}
	for _, clients := range []int{1, 32} {
		one := func(by raw) func() error {
			return byClients(clients, 4000, func(_, call int) error { return by.get(keys[call%20]) })
		}
		many := func(by raw) func() error {
			return byClients(clients, 1000, func(int, int) error { return by.getMany(keys) })
		}
		if err := errors.Join(
			b.faster(fmt.Sprintf("%s: get, %d at once, speed to the raw client's", on.name, clients), atLeast(0.9), one(ours), one(theirs)),
			b.faster(fmt.Sprintf("%s: get of 20, %d at once, speed to the raw client's", on.name, clients), atLeast(0.9), many(ours), many(theirs)),
		); err != nil {
			return err
		}
	}
	n, err := allocs(func() error { return ours.get(keys[0]) })
	if err != nil {
		return err
	}
	least, err := allocs(func() error { return theirs.get(keys[0]) })
	b.report(on.name+": get, allocations more than the raw client's", n-least, atMost(4))
	return err
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
