package index_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

var ctx = context.Background()

type topic struct{ ID string }

type post struct{ ID, Topic string }

type forum struct {
	db      *kvmodel.DB
	topics  *kvmodel.Records[topic, string]
	posts   *kvmodel.Records[post, string]
	ByTopic *index.Lists[post, string, string]
}

func openForum(s kv.Store, opts ...kvmodel.Option) *forum {
	f := openTopics(s, opts...)
	f.posts = kvmodel.NewRecords(f.db, schemaOf("Post", func(p *post) *string { return &p.ID }))
	f.ByTopic = index.NewLists(f.posts, kvmodel.IndexSpec[post, string]{
		Name: "ByTopic", Def: "list Topic", Key: kvmodel.StringKey[string](),
		Values: func(p *post) []string { return []string{p.Topic} },
	})
	return f
}

func (f *forum) ends(t *testing.T) *forum {
	t.Cleanup(func() { _ = f.db.Close(context.Background()) })
	return f
}

func openTopics(s kv.Store, opts ...kvmodel.Option) *forum {
	db := openQuiet(s, opts...)
	return &forum{db: db, topics: kvmodel.NewRecords(db, schemaOf("Topic", func(t *topic) *string { return &t.ID }, func(s *kvmodel.Schema[topic, string]) {
		s.Children = []string{"Post.ByTopic"}
	}))}
}

func (f *forum) fill(t testing.TB, topicID string, n int) {
	t.Helper()
	must(t, f.topics.Create(ctx, &topic{topicID}))
	var posts []*post
	for i := range n {
		posts = append(posts, &post{fmt.Sprint(topicID, i), topicID})
	}
	must(t, f.posts.CreateMulti(ctx, posts))
}

func (f *forum) left(t testing.TB) (n int) {
	t.Helper()
	for _, err := range f.posts.All(ctx) {
		must(t, err)
		n++
	}
	return n
}

func TestRecords_Delete_TakesTheChildrenAlongAfterTheReply(t *testing.T) {
	for name, s := range map[string]kv.Store{"atomic": memkv.New(memkv.Options{}), "plain": still{memkv.New(memkv.Options{})}} {
		t.Run(name, func(t *testing.T) {
			f := openForum(s).ends(t)
			f.fill(t, "first", 1)
			must(t, f.topics.Delete(ctx, "first")) // opens the journal
			f.fill(t, "gone", 350)
			f.fill(t, "kept", 7)
			must(t, f.posts.Put(ctx, &post{"gone0", "kept"})) // has moved
			before := time.Now()
			ctx, meter := kvmodel.Metered(ctx)
			must(t, f.topics.Delete(ctx, "gone"))
			if trips := meter.Cost().Trips; trips > 2 {
				t.Errorf("Delete took %d trips before its reply, want 2 at most", trips)
			}
			must(t, f.db.Flush(ctx))
			proof.Equal(t, f.left(t), 8, "posts are left")
			if n, err := f.ByTopic.Of("gone").Count(ctx); n != 0 || err != nil {
				t.Errorf("the list of the topic that is gone has %d posts, %v", n, err)
			}
			if stats := f.db.Stats(); name == "atomic" && len(stats.Cascades) > 0 || stats.Failed > 0 {
				t.Errorf("after %v: %+v", time.Since(before), stats)
			}
		})
	}
}

func TestRecords_Delete_WhatBelongsToARecordThatIsMadeAgainStays(t *testing.T) {
	f := openForum(still{memkv.New(memkv.Options{})}).ends(t)
	f.fill(t, "again", 20)
	must(t, f.topics.Delete(ctx, "again"))
	must(t, f.topics.Create(ctx, &topic{"again"}))
	must(t, f.posts.Create(ctx, &post{"new", "again"}))
	must(t, f.db.Flush(ctx))
	proof.Ends(t, nil)(f.posts.Get(ctx, "new"))
	if n := len(f.db.Stats().Cascades); n > 1 {
		t.Errorf("%d cascades are under way", n)
	}
}

func TestRecords_Delete_AProcessWithoutTheChildrenSaysSoAndLeavesThemToAnother(t *testing.T) {
	s := memkv.New(memkv.Options{})
	first := openForum(still{s})
	first.fill(t, "gone", 20)
	must(t, first.db.Close(ctx))

	second := openTopics(still{s}).ends(t)
	must(t, second.topics.Delete(ctx, "gone"))
	err := second.db.Flush(ctx)
	if err == nil || !strings.Contains(err.Error(), "Post.ByTopic") || !strings.Contains(err.Error(), "does not have the model Post") {
		t.Errorf("Flush returned %v, want what says that Post is missing", err)
	}
}

func TestRecords_Delete_AChildThatWasBeingMadeGoesToo(t *testing.T) {
	clock, held, release := proof.NewClock(time.Now()), make(chan struct{}), make(chan struct{})
	s := answering(still{memkv.New(memkv.Options{})}, func(op *kv.Op) bool {
		if op.Kind == kv.Add && op.Key == "r:Post:late" {
			close(held)
			<-release
		}
		return false
	})
	f := openForum(s, kvmodel.Clock(clock.Now)).ends(t)
	f.fill(t, "gone", 3)
	made := make(chan error, 1)
	go func() { made <- f.posts.Create(ctx, &post{"late", "gone"}) }()
	<-held
	must(t, f.topics.Delete(ctx, "gone"))
	must(t, f.db.Flush(ctx))
	close(release)
	must(t, <-made)
	proof.Equal(t, f.left(t), 1, "posts are left")
	if all := f.db.Stats().Cascades; len(all) != 1 || all[0] != (kvmodel.Cascade{Model: "Topic", ID: "gone", Deleted: 3}) {
		t.Errorf("cascades: %+v, want one, of 3 posts so far", all)
	}
	clock.Advance(16 * time.Second)
	must(t, f.db.Flush(ctx))
	must(t, f.db.Flush(ctx))
	if n, all := f.left(t), f.db.Stats().Cascades; n != 0 || len(all) != 0 {
		t.Errorf("%d posts are left, and the cascades %+v", n, all)
	}
}

func TestRecords_Delete_ARecordThatHasMovedAwayStays(t *testing.T) {
	mem := still{memkv.New(memkv.Options{})}
	s := &refusing{Store: mem, which: func(op *kv.Op) bool { return entry(op) && strings.HasPrefix(op.Key, "l:Post:ByTopic:gone") }}
	f := openForum(s).ends(t)
	f.fill(t, "kept", 0)
	f.fill(t, "gone", 3)
	must(t, f.db.Flush(ctx))
	s.refuses.Store(true) // from now on no entry can be removed from the list
	must(t, f.posts.Put(ctx, &post{"gone0", "kept"}))
	other := openForum(mem).ends(t)
	must(t, other.topics.Delete(ctx, "gone"))
	must(t, other.db.Flush(ctx))
	proof.Ends(t, nil)(f.posts.Get(ctx, "gone0"))
	proof.Equal(t, f.left(t), 1, "posts are left")
}

func TestRecords_Purge_WaitsForTheChildren(t *testing.T) {
	for name, s := range map[string]kv.Store{"atomic": memkv.New(memkv.Options{}), "plain": still{memkv.New(memkv.Options{})}} {
		t.Run(name, func(t *testing.T) {
			clock := proof.NewClock(time.Now())
			f := openForum(s, kvmodel.Clock(clock.Now)).ends(t)
			f.fill(t, "gone", 30)
			err := f.topics.Purge(ctx, "gone")
			if name == "plain" {
				proof.Is(t, err, kvmodel.ErrNotYet)
				clock.Advance(16 * time.Second)
				err = f.topics.Purge(ctx, "gone")
			}
			if n := f.left(t); n != 0 || err != nil {
				t.Errorf("%d posts are left, %v", n, err)
			}
			proof.Ends(t, kv.ErrNotFound)(kv.One(ctx, f.db.Store(), kv.OpGet("r:Topic:gone")))
		})
	}
}

// A forumDiary records the times of posts.
type forumDiary struct {
	mu    sync.Mutex
	began map[string]time.Time // last Create of each post
	acked map[string]bool      // posts whose Create was acknowledged
	tried map[string]bool      // topics that a process tried to delete
}

func (d *forumDiary) note(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
}

// Two processes make and delete topics and posts; one is killed.
func TestSweep_Children_NoneIsLeftOfADeletedRecordAndNoneElseGoes(t *testing.T) {
	topicIDs := []string{"a", "b"}
	world := kvtest.Hostile(kvtest.NoPowers)
	world.Crash, world.Pause = 0, 0
	proof.Sweep(t, 150, world, func(sim *kvtest.Sim) {
		d := &forumDiary{began: map[string]time.Time{}, acked: map[string]bool{}, tried: map[string]bool{}}
		sim.CrashAt("p", 40+sim.Rand().IntN(200))
		for i, name := range []string{"p", "q"} {
			rng := rand.New(rand.NewPCG(sim.Seed(), uint64(i)))
			sim.Go(name, func(s kv.Store) {
				f := openForum(s)
				for n := range 7 {
					ctx, cancel := context.WithTimeout(context.Background(), 8*time.Second)
					id, topicID := fmt.Sprint(name, n), topicIDs[rng.IntN(2)]
					switch rng.IntN(7) {
					case 0:
						_ = f.topics.Create(ctx, &topic{topicID})
					case 1:
						d.note(func() { d.tried[topicID] = true })
						_ = f.topics.Delete(ctx, topicID)
					default:
						d.note(func() { d.began[topicID+id] = time.Now() })
						if f.posts.Create(ctx, &post{topicID + id, topicID}) == nil {
							d.note(func() { d.acked[topicID+id] = true })
						}
					}
					cancel()
					time.Sleep(time.Duration(rng.IntN(3000)) * time.Millisecond)
				}
				leave(f.db)
			})
		}
		sim.Wait()
		repairWith(sim, func(s kv.Store) *kvmodel.DB { return openForum(s).db })
		checkForum(sim.T(), openForum(sim.Still()), d)
	})
}

// checkForum asserts that no post begun before the deletion of its topic is left, and that no
// acknowledged post is gone whose topic no one tried to delete.
func checkForum(t testing.TB, f *forum, d *forumDiary) {
	defer func() { must(t, f.db.Close(ctx)) }()
	for id, began := range d.began {
		topicID := id[:1]
		deleted := f.deleted(t, topicID)
		switch _, err := f.posts.Get(ctx, id); {
		case err == nil && !deleted.Before(began):
			t.Errorf("the post %s, begun at %v, is there, and its topic was deleted at %v", id, began, deleted)
		case errors.Is(err, kvmodel.ErrNotFound) && d.acked[id] && !d.tried[topicID]:
			t.Errorf("the post %s is gone, and no one wanted to delete its topic", id)
		}
	}
}

// deleted returns the time of a topic's deletion, zero if it exists or was never deleted.
func (f *forum) deleted(t testing.TB, id string) time.Time {
	t.Helper()
	r, err := kv.One(ctx, f.db.Store(), kv.OpGet("r:Topic:"+id))
	if errors.Is(err, kv.ErrNotFound) {
		return time.Time{}
	}
	must(t, err)
	env, err := envelope.Decode(r.Value)
	must(t, err)
	ms, n := binary.Uvarint(env.Mark("children"))
	if env.Live() || n <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(ms))
}
