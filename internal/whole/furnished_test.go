package whole_test

import (
	"fmt"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func (k kind) items(t *testing.T, f func(*testing.T, *whole.Library, *memkv.Store)) (items map[string][]byte) {
	synctest.Test(t, func(t *testing.T) {
		mem := memkv.New(memkv.Options{})
		f(t, k.open(t, mem), mem)
		items = contents(t, mem)
	})
	return items
}

func holding(t *testing.T, items map[string][]byte) *memkv.Store {
	t.Helper()
	mem := memkv.New(memkv.Options{})
	for key, value := range items {
		must(t, mem.Do(ctx, []kv.Op{kv.OpSet(key, value)}))
	}
	return mem
}

func contents(t *testing.T, mem *memkv.Store) map[string][]byte {
	t.Helper()
	items := map[string][]byte{}
	for _, key := range mem.Keys() {
		items[key] = valueOf(t, mem, key)
	}
	return items
}

func valueOf(t *testing.T, s kv.Store, key string) []byte {
	t.Helper()
	r, err := kv.One(ctx, s, kv.OpGet(key))
	must(t, err)
	return r.Value
}

// A furnished store has items of every class, and boards with several nodes.
func (k kind) furnished(t *testing.T) map[string][]byte {
	return furnishings.of(k, func() map[string][]byte {
		return k.items(t, func(t *testing.T, l *whole.Library, _ *memkv.Store) {
			furnishAll(t, l)
			must(t, l.DB.Close(ctx))
		})
	})
}

var furnishings onceByKind

type onceByKind struct {
	mu   sync.Mutex
	made map[string]map[string][]byte // by the name of the kind
}

func (o *onceByKind) of(k kind, items func() map[string][]byte) map[string][]byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.made == nil {
		o.made = map[string]map[string][]byte{}
	}
	if o.made[k.name] == nil {
		o.made[k.name] = items()
	}
	return maps.Clone(o.made[k.name])
}

func furnishAll(t *testing.T, l *whole.Library) {
	t.Helper()
	for i, id := range whole.WorkIDs {
		furnish(t, l, i, id)
	}
	var offers []*whole.Offer
	var bids []*whole.Bid
	for i := range 150 {
		offers = append(offers, &whole.Offer{ID: fmt.Sprint("f", i), Code: fmt.Sprint("c", i), Kind: whole.Kinds[i%2], Until: time.Now().Add(72 * time.Hour)})
		bids = append(bids, &whole.Bid{ID: fmt.Sprint("f", i), Kind: whole.Kinds[i%2], Price: int64(i % 50)})
	}
	must(t, l.Offers.CreateMulti(ctx, offers), l.Bids.CreateMulti(ctx, bids))
	rest(t, l)
	l.Look(ctx)
	rest(t, l)
}

func furnish(t *testing.T, l *whole.Library, i int, id string) {
	t.Helper()
	must(t, l.Works.Create(ctx, &whole.Work{
		ID: id, Slug: "slug-" + id, Author: whole.Authors[i%3], Tags: whole.Tags[:i%3], Room: whole.Rooms[i%2], Shelf: i % whole.Shelves,
		Title: fmt.Sprint("title ", i), Note: fmt.Sprint("note ", i), Price: int64(3 * i), Grade: float64(i) / 4, Taken: time.Unix(int64(1000*i+1), 0),
	}))
	for range i%4 + 1 {
		_, err := l.Works.Views.Hit(ctx, id)
		must(t, err)
	}
	text, owner := fmt.Sprint("text", i), whole.Owners[i%2]
	must(t,
		l.Likes.Create(ctx, &whole.Like{User: whole.Users[i%4], Work: id}),
		l.Tickets.Create(ctx, &whole.Ticket{Text: whole.Texts[i%2]}),
		l.Visits.Push(ctx, whole.Visit{Owner: owner, Guest: text}),
		l.Glances.Push(ctx, whole.Glance{Owner: owner, Guest: text}),
		l.Notices.Push(ctx, whole.Notice{To: owner, Text: text, About: text}),
		l.Shots.Push(ctx, whole.Shot{Of: owner, Text: text}))
}

func rest(t *testing.T, l *whole.Library) {
	t.Helper()
	for range 2 {
		must(t, l.DB.Flush(ctx))
		time.Sleep(time.Minute)
	}
}

func writes(l *whole.Library) map[string]func() error {
	return map[string]func() error{
		"create": func() error {
			return l.Works.Create(ctx, &whole.Work{
				ID: "later", Slug: "slug-later", Author: "ann", Tags: whole.Tags, Room: "east", Title: "later", Note: "later",
				Price: 1000, Grade: 50, Taken: time.Unix(5e6, 0),
			})
		},
		"edit": func() error {
			_, err := l.Works.Update(ctx, "w3", func(v *whole.Work) error {
				v.Price, v.Title, v.Note, v.Author, v.Slug, v.Tags = 2000, "edited", "edited", "bob", "slug-edited", []string{"red"}
				return nil
			})
			return err
		},
		"delete": func() error { return l.Works.Delete(ctx, "w5") },
		"hit":    func() error { _, err := l.Works.Views.Hit(ctx, "w7"); return err },
		"like":   func() error { return l.Likes.Create(ctx, &whole.Like{User: "u1", Work: "w7"}) },
		"unlike": func() error { return l.Likes.Delete(ctx, whole.LikeID{User: "u2", Work: "w1"}) },
		"offer": func() error {
			return l.Offers.Create(ctx, &whole.Offer{ID: "f150", Code: "c150", Kind: "sale", Until: time.Now().Add(48 * time.Hour)})
		},
		"offered": func() error {
			_, err := l.Offers.Update(ctx, "f7", func(v *whole.Offer) error { v.Kind = "later"; return nil })
			return err
		},
		"bid": func() error { return l.Bids.Create(ctx, &whole.Bid{ID: "f150", Kind: "sale", Price: 77}) },
		"bids": func() error {
			_, err := l.Bids.Update(ctx, "f7", func(v *whole.Bid) error { v.Price += 30; return nil })
			return err
		},
		"ticket": func() error { return l.Tickets.Create(ctx, &whole.Ticket{Text: "yes"}) },
		"notice": func() error { return l.Notices.Push(ctx, whole.Notice{To: "o1", Text: "later", About: "later"}) },
		"shot":   func() error { return l.Shots.Push(ctx, whole.Shot{Of: "o1", Text: "later"}) },
	}
}

// A wrecked store has processes that died: one was repaired, one was building, one was changing
// records.
func (k kind) wrecked(t *testing.T) map[string][]byte {
	return k.items(t, func(t *testing.T, l *whole.Library, mem *memkv.Store) {
		furnishAll(t, l)
		must(t, l.Likes.Rebuild(ctx))
		powers := k.powers(mem)
		if powers.Alone {
			return
		}
		s := alive(mem)
		dies := libraryIn(t, still{s, powers})
		must(t, dies.Likes.Create(ctx, &whole.Like{User: "u4", Work: "w2"}))
		s.die()
		time.Sleep(2 * time.Minute)

		builds := alive(mem)
		builds.last = func(op kv.Op) bool { return op.Key == "build:Ticket" && op.Kind == kv.CompareAndSwap }
		proof.Is(t, libraryIn(t, still{builds, powers}).Tickets.Rebuild(ctx), kv.ErrUnavailable)
		s = alive(mem)
		dies = libraryIn(t, still{s, powers})
		must(t, dies.Likes.Create(ctx, &whole.Like{User: "u3", Work: "w3"}))
		proof.Done(t)(dies.Works.Update(ctx, "w2", func(v *whole.Work) error { v.Author, v.Title = "cy", "of a wreck"; return nil }))
		s.die()
	})
}
