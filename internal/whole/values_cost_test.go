package whole_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// counting is a store that counts what is done under keys that begin with begin.
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

// costOf returns what work costs before it returns. What is left to do after that is done
// when it returns.
func costOf(t *testing.T, p *posts, work func(context.Context) error) kvmodel.Cost {
	t.Helper()
	metered, meter := kvmodel.Metered(ctx)
	must(t, work(metered))
	cost := meter.Cost()
	must(t, p.db.Flush(ctx))
	return cost
}

// A change costs the trips that it costs without values, and an op for each number: one
// beside its entries, unless this process has seen the number, and one beside the commit.
func TestValues_ChangeCostsNoTripMoreBeforeTheReply(t *testing.T) {
	for name, as := range serverKinds {
		if name == "embedded" {
			continue // A change is one commit.
		}
		t.Run(name, func(t *testing.T) {
			var costs [2][]kvmodel.Cost
			for i, as2 := range []postsAs{{unvalued: true}, {}} {
				p := openPosts(as(memkv.New(memkv.Options{})), as2)
				postTagged(t, p, "first", "go") // opens the journal
				must(t, p.db.Flush(ctx))
				for _, work := range []func(context.Context) error{
					func(ctx context.Context) error { return p.Create(ctx, &post{ID: "a", Tags: []string{"sea", "tex"}}) },
					func(ctx context.Context) error { return p.Create(ctx, &post{ID: "b", Tags: []string{"sea", "tex"}}) },
					func(ctx context.Context) error { return p.tag(ctx, "a", "sea", "go") },
					func(ctx context.Context) error { return p.Delete(ctx, "a") },
				} {
					costs[i] = append(costs[i], costOf(t, p, work))
				}
				closePosts(t, p)
			}
			// Numbers begun and added to. A deletion notes beside its commit what it counts.
			for i, want := range []int{4, 2, 2, 3} {
				without, with := costs[0][i], costs[1][i]
				if with.Trips != without.Trips || with.Ops != without.Ops+want {
					t.Errorf("change %d: %d trips and %d ops with values, %d and %d without; want as many trips and %d ops more",
						i, with.Trips, with.Ops, without.Trips, without.Ops, want)
				}
			}
			if trips := costs[1][1].Trips; trips > 3 {
				t.Errorf("a post with two tags takes %d trips", trips)
			}
		})
	}
}

// distant is a store whose trips take a millisecond.
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
