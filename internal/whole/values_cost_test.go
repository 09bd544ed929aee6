package whole_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

type counting struct {
	kv.Store
	begin string

	mu  sync.Mutex
	ops map[kv.Kind]int
}

func (c *counting) Powers() kv.Powers { return kv.PowersOf(c.Store) }

func (c *counting) Do(ctx context.Context, ops []kv.Op) error {
	c.mu.Lock()
	if c.ops == nil {
		c.ops = map[kv.Kind]int{}
	}
	for _, op := range ops {
		if strings.HasPrefix(op.Key, c.begin) {
			c.ops[op.Kind]++
		}
	}
	c.mu.Unlock()
	return c.Store.Do(ctx, ops)
}

func (c *counting) done(kinds ...kv.Kind) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, kind := range kinds {
		n += c.ops[kind]
	}
	return n
}

type distant struct{ kv.Store }

func (d distant) Powers() kv.Powers { return kv.PowersOf(d.Store) }

func (d distant) Do(ctx context.Context, ops []kv.Op) error {
	time.Sleep(time.Millisecond)
	return d.Store.Do(ctx, ops)
}

// A process that many changes with one value keep busy follows it once for many of them.
func TestValues_AHotValueIsFollowedOnceForManyChanges(t *testing.T) {
	for name, as := range serverKinds {
		if name == "embedded" {
			continue // It is followed in the transaction of each.
		}
		for how, create := range map[string]func(*testing.T, *posts, []*post){
			"together": func(t *testing.T, p *posts, all []*post) { must(t, p.CreateMulti(ctx, all)) },
			"at once": func(t *testing.T, p *posts, all []*post) {
				var works sync.WaitGroup
				for _, v := range all {
					works.Go(func() {
						if err := p.Create(ctx, v); err != nil {
							t.Error(err)
						}
					})
				}
				works.Wait()
			},
		} {
			t.Run(name+"/"+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &counting{Store: distant{as(memkv.New(memkv.Options{}))}, begin: "rank:Post:ByTags.Values:i:"}
					p := openPosts(s, postsAs{})
					const many = 400
					var all []*post
					for i := range many {
						all = append(all, &post{ID: fmt.Sprint("p", i), Tags: []string{"go"}})
					}
					create(t, p, all)
					must(t, p.db.Flush(ctx))
					wantValues(t, p, used{"go": many})
					if n := s.done(kv.Add, kv.CompareAndSwap, kv.Set); n > many/20 {
						t.Errorf("%d writes of the member's record for %d changes", n, many)
					} else {
						t.Logf("%d writes of the member's record for %d changes", n, many)
					}
					closePosts(t, p)
				})
			})
		}
	}
}
