package whole_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

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
					var writes atomic.Int64
					near := distant(as(memkv.New(memkv.Options{})), time.Millisecond)
					p := openPosts(tap{Store: near, before: func(ops []kv.Op) error {
						for _, op := range ops {
							if op.Kind.Writes() && strings.HasPrefix(op.Key, "rank:Post:ByTags.Values:i:") {
								writes.Add(1)
							}
						}
						return nil
					}}, postsAs{})
					const many = 400
					var all []*post
					for i := range many {
						all = append(all, &post{ID: fmt.Sprint("p", i), Tags: []string{"go"}})
					}
					create(t, p, all)
					must(t, p.db.Flush(ctx))
					wantValues(t, p, used{"go": many})
					if n := writes.Load(); n > many/20 {
						t.Errorf("%d writes of the member's record for %d changes", n, many)
					}
					closePosts(t, p)
				})
			})
		}
	}
}
