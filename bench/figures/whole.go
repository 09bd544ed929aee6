package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ringtree/ringtree/bench/internal/stores"
	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
	"github.com/ringtree/ringtree/kvmodel/kvopen/all"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
	"github.com/ringtree/ringtree/timeline"
)

var wholeFigures = []func(*bench) error{
	ownWrites,
	wholeTrips,
	firstCounts,
	setOfThousand,
	latestOfRing,
	upkeep,
	twoReleases,
	reliability,
	wholeKills,
	wholeBuild,
	wholeRuns,
	wholeFlood,
	wholeMemory,
}

// ownWrites reports how often a process reads what it has written: the number of
// edges, as a count and by the list, right after one is made or deleted.
func ownWrites(b *bench) error {
	return b.eachOf([]opener{onMemory, onUnsyncedBolt, onMemcached, onRedis, onCluster}, func(on backend) error {
		l, err := whole.Open(stores.Outliving{Store: on.store})
		if err != nil {
			return err
		}
		o := &ownEdges{l, b.size(10_000)}
		made, deleted, err := o.measure(b.ctx)
		b.report(on.name+": Gets that show the edge just made", float64(made), exactly(float64(o.edges)))
		b.report(on.name+": Size and Count without the edge just deleted", float64(deleted), exactly(float64(o.edges)))
		return errors.Join(err, l.DB.Close(b.ctx))
	})
}

// ownEdges is edges that one process makes and deletes.
type ownEdges struct {
	l     *whole.Library
	edges int
}

const (
	edgeClients = 8
	edgeTargets = 40 // each has one client
)

func (o *ownEdges) target(call int) string { return fmt.Sprint("target", call%edgeTargets) }

func (o *ownEdges) edge(call int) whole.LikeID {
	return whole.LikeID{User: fmt.Sprint("user", call), Work: o.target(call)}
}

// measure returns after how many creations and deletions all numbers were right.
func (o *ownEdges) measure(ctx context.Context) (made, deleted int, err error) {
	for target := range edgeTargets {
		if err := o.l.Works.Create(ctx, &whole.Work{ID: o.target(target)}); err != nil {
			return 0, 0, err
		}
	}
	var right [2][edgeClients]int
	err = together(edgeClients, o.edges, func(client, call int) error {
		id := o.edge(call)
		if err := o.l.Likes.Create(ctx, &whole.Like{User: id.User, Work: id.Work}); err != nil {
			return err
		}
		v, err := o.l.Works.Get(ctx, id.Work)
		if err == nil && v.Likes == int64(call/edgeTargets+1) {
			right[0][client]++
		}
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	err = together(edgeClients, o.edges, func(client, call int) error {
		id := o.edge(call)
		if err := o.l.Likes.Delete(ctx, id); err != nil {
			return err
		}
		list, left := o.l.Likes.ByWork.Of(id.Work), o.of(call)-call/edgeTargets-1
		size, err1 := list.Size(ctx)
		n, err2 := list.Count(ctx)
		v, err3 := o.l.Works.Get(ctx, id.Work)
		if err := errors.Join(err1, err2, err3); err != nil {
			return err
		}
		if size == left && n == left && v.Likes == int64(left) {
			right[1][client]++
		}
		return nil
	})
	for client := range edgeClients {
		made, deleted = made+right[0][client], deleted+right[1][client]
	}
	return made, deleted, err
}

// of returns how many edges the target of a call has in all.
func (o *ownEdges) of(call int) int {
	return (o.edges - call%edgeTargets + edgeTargets - 1) / edgeTargets
}

// wholeTrips reports the trips of every verb before its reply, on a store as
// memcached and on one as bolt is.
func wholeTrips(b *bench) error {
	for i, name := range []string{"as memcached", "as bolt"} {
		mem := memkv.New(memkv.Options{})
		store := stores.With{Outliving: stores.Outliving{Store: mem}}
		if i == 1 {
			store.Has = mem.Powers()
		}
		l, err := whole.Open(store)
		if err != nil {
			return err
		}
		for j := range 20 {
			w := &whole.Work{ID: fmt.Sprint("w", j), Slug: fmt.Sprint("s", j), Author: "ann", Tags: []string{"red"}, Title: "t", Price: int64(j)}
			_, hit := l.Works.Views.Hit(b.ctx, w.ID)
			if err := errors.Join(hit, l.Works.Create(b.ctx, w), l.Likes.Create(b.ctx, &whole.Like{User: "u", Work: w.ID})); err != nil {
				return err
			}
		}
		for _, verb := range wholeVerbs {
			if err := b.tripsOf(l, name, verb, verb.trips[i]); err != nil {
				return err
			}
		}
		if err := l.DB.Close(b.ctx); err != nil {
			return err
		}
	}
	return nil
}

// tripsOf reports the trips of a verb the second time it is called, when all that a
// process learns is known.
func (b *bench) tripsOf(l *whole.Library, store string, verb wholeVerb, most int) error {
	for try := range 2 {
		if err := l.DB.Flush(b.ctx); err != nil {
			return err
		}
		c, err := b.cost(func(ctx context.Context) error { return verb.call(ctx, l, try) })
		if err != nil {
			return fmt.Errorf("%s: %w", verb.name, err)
		}
		if try == 1 {
			b.report("trips of "+verb.name+", "+store, float64(c.Trips), atMost(float64(most)))
		}
	}
	return nil
}

// wholeVerb is a verb, and its trips on a store as memcached and as bolt is.
type wholeVerb struct {
	name  string
	trips [2]int
	call  func(ctx context.Context, l *whole.Library, try int) error
}

func edited(ctx context.Context, l *whole.Library, edit func(*whole.Work)) error {
	_, err := l.Works.Update(ctx, "w1", func(w *whole.Work) error { edit(w); return nil })
	return err
}

var wholeVerbs = []wholeVerb{
	{"Get", [2]int{1, 1}, func(ctx context.Context, l *whole.Library, _ int) error { _, err := l.Works.Get(ctx, "w2"); return err }},
	{"GetMulti", [2]int{1, 1}, func(ctx context.Context, l *whole.Library, _ int) error {
		_, err := l.Works.GetMulti(ctx, []string{"w2", "w3", "none"})
		return err
	}},
	{"Create", [2]int{3, 1}, func(ctx context.Context, l *whole.Library, try int) error {
		return l.Works.Create(ctx, &whole.Work{ID: fmt.Sprint("new", try), Slug: fmt.Sprint("new", try), Author: "ann", Title: "new", Price: 5})
	}},
	{"Update without an index", [2]int{3, 2}, func(ctx context.Context, l *whole.Library, try int) error {
		return edited(ctx, l, func(w *whole.Work) { w.Frame = fmt.Sprint(try) })
	}},
	{"Update of a unique value", [2]int{3, 2}, func(ctx context.Context, l *whole.Library, try int) error {
		return edited(ctx, l, func(w *whole.Work) { w.Slug = fmt.Sprint("other", try) })
	}},
	{"Update of a list", [2]int{4, 2}, func(ctx context.Context, l *whole.Library, try int) error {
		return edited(ctx, l, func(w *whole.Work) { w.Tags = []string{"red", "blue", "green"}[try : try+1] })
	}},
	{"Update of a timeline", [2]int{3, 2}, func(ctx context.Context, l *whole.Library, try int) error {
		return edited(ctx, l, func(w *whole.Work) { w.Title = fmt.Sprint("title", try) })
	}},
	{"Update of a score", [2]int{4, 2}, func(ctx context.Context, l *whole.Library, try int) error {
		return edited(ctx, l, func(w *whole.Work) { w.Price += 3 })
	}},
	{"Touch", [2]int{3, 2}, func(ctx context.Context, l *whole.Library, try int) error {
		o := &whole.Offer{ID: "f1", Code: "c", Kind: "sale", Price: 5, Until: l.DB.Now().Add(time.Hour)}
		if try == 0 {
			return l.Offers.Create(ctx, o)
		}
		return l.Offers.Touch(ctx, o.ID, o.Until.Add(time.Hour))
	}},
	{"Delete", [2]int{2, 2}, func(ctx context.Context, l *whole.Library, try int) error {
		return l.Works.Delete(ctx, fmt.Sprint("w", 17+try))
	}},
	{"Restore", [2]int{5, 3}, func(ctx context.Context, l *whole.Library, try int) error {
		_, err := l.Works.History.Restore(ctx, fmt.Sprint("w", 17+try), 1)
		return err
	}},
	{"Create of an edge that is counted", [2]int{3, 1}, func(ctx context.Context, l *whole.Library, try int) error {
		return l.Likes.Create(ctx, &whole.Like{User: fmt.Sprint("v", try), Work: "w1"})
	}},
	{"Delete of an edge that is counted", [2]int{2, 2}, func(ctx context.Context, l *whole.Library, try int) error {
		return l.Likes.Delete(ctx, whole.LikeID{User: fmt.Sprint("v", try), Work: "w1"})
	}},
	{"Find", [2]int{1, 1}, func(ctx context.Context, l *whole.Library, _ int) error {
		_, err := l.Works.BySlug.Find(ctx, "s4")
		return err
	}},
	{"Page of a list", [2]int{2, 2}, func(ctx context.Context, l *whole.Library, _ int) error {
		_, err := l.Works.ByAuthor.Of("ann").Page(ctx, "", 10)
		return err
	}},
	{"Size of a list", [2]int{1, 1}, func(ctx context.Context, l *whole.Library, _ int) error {
		_, err := l.Works.ByAuthor.Of("ann").Size(ctx)
		return err
	}},
	{"Page of a timeline", [2]int{2, 2}, func(ctx context.Context, l *whole.Library, _ int) error {
		_, err := l.Works.Newest.Page(ctx, "", 10)
		return err
	}},
	{"Page of a board", [2]int{2, 2}, func(ctx context.Context, l *whole.Library, _ int) error {
		_, err := l.Works.TopPrice.Page(ctx, "", 10)
		return err
	}},
	{"At of a board", [2]int{2, 2}, func(ctx context.Context, l *whole.Library, _ int) error {
		_, err := l.Works.TopPrice.At(ctx, 5, 10)
		return err
	}},
	{"Rank", [2]int{2, 2}, func(ctx context.Context, l *whole.Library, _ int) error {
		_, err := l.Works.TopPrice.Rank(ctx, "w3")
		return err
	}},
	{"Len of a board", [2]int{1, 1}, func(ctx context.Context, l *whole.Library, _ int) error {
		_, err := l.Works.TopPrice.Len(ctx)
		return err
	}},
	{"Len of a board whose records end", [2]int{2, 2}, func(ctx context.Context, l *whole.Library, _ int) error {
		_, err := l.Offers.TopPrice.Len(ctx)
		return err
	}},
	{"Hit", [2]int{1, 1}, func(ctx context.Context, l *whole.Library, _ int) error {
		_, err := l.Works.Views.Hit(ctx, "w3")
		return err
	}},
	{"Create with the next number", [2]int{2, 1}, func(ctx context.Context, l *whole.Library, _ int) error {
		return l.Tickets.Create(ctx, &whole.Ticket{Text: "x"})
	}},
	{"Add to a set", [2]int{2, 1}, func(ctx context.Context, l *whole.Library, try int) error {
		return l.Topics.Of("rain").Add(ctx, fmt.Sprint(try))
	}},
	{"Add to a sequence", [2]int{1, 1}, func(ctx context.Context, l *whole.Library, _ int) error {
		text := "x"
		_, err := l.Log.Add(ctx, &text)
		return err
	}},
	{"Push of an event", [2]int{1, 1}, func(ctx context.Context, l *whole.Library, try int) error {
		return l.Visits.Push(ctx, whole.Visit{Owner: "o", Guest: fmt.Sprint(try)})
	}},
	{"Latest events", [2]int{1, 1}, func(ctx context.Context, l *whole.Library, _ int) error {
		_, err := l.Visits.Latest(ctx, "o", 5)
		return err
	}},
}

// firstCounts reports how long the first counts of many members take on an empty
// board, to the same in batches that grow with the board.
func firstCounts(b *bench) error {
	members, clients := b.size(10_000), 32
	count := func(batches []int) (time.Duration, error) {
		store := stores.With{Outliving: stores.Outliving{Store: memkv.New(memkv.Options{})}}
		db, err := open(store)
		if err != nil {
			return 0, err
		}
		tree := ranking.NewTree(db, ranking.TreeSpec[int64]{Name: "burst", Of: ranking.Int[int64]()})
		began, done := time.Now(), 0
		for _, size := range batches {
			first := done
			err := together(clients, size, func(_, call int) error { return tree.Hit(b.ctx, fmt.Sprint("m", first+call)) })
			if done += size; err == nil {
				err = flushed(b.ctx, db)
			}
			if err != nil {
				return 0, err
			}
		}
		took := time.Since(began)
		// The counts of a large board are near enough until they are refreshed.
		err = tree.Refresh(b.ctx)
		n, errLen := tree.Len(b.ctx)
		if err = errors.Join(err, errLen); err == nil && n != members {
			err = fmt.Errorf("the board has %d of %d members", n, members)
		}
		return took, errors.Join(err, db.Close(b.ctx))
	}
	var growing []int
	for size, left := 16, members; left > 0; size *= 2 {
		growing = append(growing, min(size, left))
		left -= min(size, left)
	}
	best, err := count(growing)
	if err != nil {
		return err
	}
	burst, err := count([]int{members})
	if err != nil {
		return err
	}
	b.report("first counts on an empty board, seconds", burst.Seconds(), target{}.in("s"))
	b.report("first counts on an empty board, to growing batches", float64(burst)/float64(best), atMost(3).ratio())
	return nil
}

// flushed flushes until nothing fails, as what fails is gathered again.
func flushed(ctx context.Context, db *kvmodel.DB) error {
	var err error
	for range 20 {
		if err = db.Flush(ctx); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}

// setOfThousand reports how long it takes to add many ids to a set at once.
func setOfThousand(b *bench) error {
	ids := make([]string, 1000)
	for i := range ids {
		ids[i] = memberID(i)
	}
	add := func() error {
		db, err := open(memkv.New(memkv.Options{}))
		if err != nil {
			return err
		}
		sets := index.NewSets(db, "followers", kvmodel.StringKey[string](), kvmodel.StringKey[string]())
		return errors.Join(sets.Of("topic").Add(b.ctx, ids...), db.Close(b.ctx))
	}
	took, err := duration(add)
	b.report("Set.Add of 1,000 ids on memkv", took.Seconds(), atMost(0.1).in("s"))
	return err
}

// latestOfRing reports how many keys the last event of an owner takes in a ring of
// keys, in a process that knows the ring and in one that does not.
func latestOfRing(b *bench) error {
	store := stores.With{Outliving: stores.Outliving{Store: memkv.New(memkv.Options{})}}
	shots := func() (*kvmodel.DB, *timeline.Events[whole.Shot, string], error) {
		db, err := open(store)
		if err != nil {
			return nil, nil, err
		}
		return db, timeline.NewEvents(db, timeline.EventsSpec[whole.Shot, string]{
			Name: "Large", Key: kvmodel.StringKey[string](), By: func(v *whole.Shot) string { return v.Of },
			Codec: whole.ShotCodec(), Keep: 64, Layout: timeline.Numbered,
		}), nil
	}
	db, events, err := shots()
	if err != nil {
		return err
	}
	defer db.Close(b.ctx)
	for range 100 {
		if err := events.Push(b.ctx, whole.Shot{Of: "o", Text: strings.Repeat("x", 4000)}); err != nil {
			return err
		}
	}
	other, unknown, err := shots()
	if err != nil {
		return err
	}
	defer other.Close(b.ctx)
	for _, who := range []struct {
		name   string
		events *timeline.Events[whole.Shot, string]
	}{{"that knows it", events}, {"that does not know it", unknown}} {
		c, err := b.cost(func(ctx context.Context) error { _, err := who.events.Latest(ctx, "o", 1); return err })
		if err != nil {
			return err
		}
		b.report("keys of Latest(1) of a ring of 64, in a process "+who.name, float64(c.Keys), atMost(4))
	}
	return nil
}

// A wholeChild is a process that is killed: the URL of its store, its tenant and its
// seed, separated by blanks.
const wholeChild = "RINGTREE_FIGURES_WHOLE_CHILD"

// writeWholeUntilKilled is what such a process does.
func writeWholeUntilKilled(what string) {
	var url, tenant string
	var seed uint64
	_, err := fmt.Sscan(what, &url, &tenant, &seed)
	if err == nil {
		var s kvmodel.Store
		if s, err = kvopen.Store(context.Background(), url, all.Engines); err == nil {
			err = whole.WriteUntilKilled(context.Background(), s, tenant, seed, os.Stdout)
		}
	}
	fmt.Fprintln(os.Stderr, "figures: child:", err)
	os.Exit(1)
}

// wholeKills kills processes that write everything, and reports whether and when all
// is right again.
func wholeKills(b *bench) error { return b.kills(200, onRedis, onMemcached) }

// kills kills processes on bolt and on each server, in as many rounds.
func (b *bench) kills(rounds int, servers ...opener) error {
	rounds = b.size(rounds)
	return errors.Join(
		b.killWhole("boltkv", 1, rounds, 5*time.Second, func(tenant string) string {
			return "bolt:" + filepath.Join(b.dir, "whole-"+tenant+".db") + "?durability=unsynced"
		}),
		b.eachOf(servers, func(on backend) error {
			scheme := map[string]string{"rediskv": "redis://", "memcachekv": "memcached://"}[on.name]
			return b.killWhole(on.name, 40, rounds, time.Minute, func(string) string { return scheme + on.addrs[0] })
		}),
	)
}

const (
	killsAtOnce = 2               // children that write side by side
	healLimit   = 4 * time.Minute // after which a library counts as wrong
)

// killWhole kills children of that many tenants side by side, round by round. All
// should be right again soon.
func (b *bench) killWhole(name string, tenants, rounds int, soon time.Duration, url func(tenant string) string) error {
	tenants = min(tenants, rounds)
	k := &killing{b: b, url: url, starting: make(chan struct{}, killsAtOnce)}
	err := together(tenants, rounds, func(client, call int) error { return k.round(fmt.Sprint("t", client), uint64(call)) })
	b.report(name+": rounds of kill -9 of a process that writes everything", float64(k.rounds), exactly(float64(rounds)))
	b.report(name+": of these with differences after repair", float64(k.wrong), exactly(0))
	b.report(name+": seconds until all was right, at most", k.longest.Seconds(), atMost(soon.Seconds()).in("s"))
	if k.first != "" {
		fmt.Fprintln(b.out, "  the first difference:", k.first)
	}
	return err
}

// killing is the rounds of one store.
type killing struct {
	b        *bench
	url      func(tenant string) string
	starting chan struct{}

	mu            sync.Mutex
	rounds, wrong int
	longest       time.Duration
	first         string
}

func (k *killing) round(tenant string, seed uint64) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	url := k.url(tenant)
	child := exec.CommandContext(k.b.ctx, self)
	child.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %d", wholeChild, url, tenant, seed))
	k.starting <- struct{}{}
	err = whole.Kill(child, time.Duration(rand.IntN(400))*time.Millisecond)
	<-k.starting
	if err != nil {
		return err
	}
	s, err := kvopen.Store(k.b.ctx, url, all.Engines)
	if err != nil {
		return err
	}
	healed, err := whole.Heal(k.b.ctx, s, tenant, healLimit)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.rounds++
	k.longest = max(k.longest, healed.Took)
	if len(healed.Wrong) > 0 {
		k.wrong++
		if k.first == "" {
			k.first = healed.Wrong[0]
		}
	}
	return err
}

var runNumbers = regexp.MustCompile(`(\d+) runs: (.*)`)

// wholeRuns reports what simulated runs have found, and what went wrong in them on
// purpose.
func wholeRuns(b *bench) error {
	runs := b.size(20_000)
	if err := os.Setenv("RINGTREE_SEEDS", strconv.Itoa(runs)); err != nil {
		return err
	}
	defer os.Unsetenv("RINGTREE_SEEDS")
	out, err := b.goCommand("test", "-v", "-count=1", "-timeout", "12h", "-run", "^TestWhole_", "./internal/whole")
	found := runNumbers.FindSubmatch(out)
	if found == nil {
		return errors.Join(err, errors.New("the runs have printed no numbers"))
	}
	n, _ := strconv.ParseFloat(string(found[1]), 64)
	b.report("simulated runs of four processes", n, exactly(float64(runs)))
	failed := 0.0
	for part := range strings.SplitSeq(string(found[2]), ", ") {
		i := strings.LastIndexByte(part, ' ')
		what := part[:i]
		count, err := strconv.ParseFloat(part[i+1:], 64)
		if err != nil {
			return err
		}
		if what == "failed" {
			failed = count
			continue
		}
		b.report("in these: "+what, count, target{})
	}
	b.report("of these with differences", failed, exactly(0))
	return nil
}
