package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/ringtree/ringtree/bench/compare/peers"
)

// op is one operation of a workload.
type op func(ctx context.Context, r *rand.Rand) error

// workload is one kind of operation.
type workload struct {
	name  string
	title string

	// prepare returns the operation on a data set of n pages, or errUnable.
	prepare func(ctx context.Context, p peers.Peer, n int) (op, error)
}

// errUnable says that a workload is not for a peer.
var errUnable = errors.New("not for this peer")

const (
	page  = 20    // pages in a listing
	depth = 10000 // of W2deep
)

// workloads are in the order in which they are measured: those that write come last,
// since peers that are faster write more.
var workloads = []workload{
	{"W1", "get a page by its id", get},
	{"W1hot", "get one of 100 pages by its id", hot},
	{"W2", "newest 20 pages", newest(0)},
	{"W2deep", "20 pages behind the newest 10,000", newest(depth)},
	{"W2next", "the same, behind a page that is known (keyset)", next},
	{"W5", "20 pages viewed most", top},
	{"W6", "rank of a page by views", rank},
	{"W7r", "last 10 visitors of an owner", visits},
	{"W8r", "1,000 followers of a topic", followers},
	{"W1raw", "W1's requests, without the layer", raw(get)},
	{"W2raw", "W2's requests, without the layer", raw(newest(0))},
	{"W5raw", "W5's requests, without the layer", raw(top)},
	{"W6raw", "W6's requests, without the layer", raw(rank)},
	{"W7raw", "W7r's requests, without the layer", raw(visits)},
	{"single", "TechEmpower's single query", single},
	{"queries", "TechEmpower's 20 queries", queries},
	{"fortunes", "TechEmpower's fortunes: 12 rows and one more, sorted, as HTML", fortunes},
	{"home", "the sample app's home page, as HTML", homePage},
	{"ranking", "the sample app's ranking of all time, as HTML", rankingPage},
	{"article", "a page of the sample app with its comments and its rank, as HTML", articlePage},
	{"W4", "count a view", view},
	{"W3", "change a page, which becomes the newest", update},
	{"W7w", "record a visit, the last 30 are kept", visit},
	{"W8w", "follow or unfollow one topic", follow},
	{"W9", "insert a page with a unique slug", insert},
	{"updates", "TechEmpower's 20 updates", updates},
}

func get(_ context.Context, p peers.Peer, n int) (op, error) {
	return func(ctx context.Context, r *rand.Rand) error {
		_, err := p.Get(ctx, anyPage(r, n))
		return err
	}, nil
}

// hotPages is how many pages are looked at all the time.
const hotPages = 100

func hot(ctx context.Context, p peers.Peer, _ int) (op, error) { return get(ctx, p, hotPages) }

func anyPage(r *rand.Rand, n int) int64 { return 1 + r.Int64N(int64(n)) }

// full returns an error unless there are as many rows as there should be.
func full[T any](rows []T, want int, err error) error {
	if err == nil && len(rows) != want {
		err = fmt.Errorf("got %d rows, want %d", len(rows), want)
	}
	return err
}

func newest(offset int) func(context.Context, peers.Peer, int) (op, error) {
	return func(ctx context.Context, p peers.Peer, n int) (op, error) {
		at := ""
		if offset > 0 {
			var err error
			if at, err = p.Link(ctx, min(offset, n/2)); err != nil {
				return nil, err
			}
		}
		return func(ctx context.Context, r *rand.Rand) error {
			rows, err := p.Newest(ctx, at, page)
			return full(rows, page, err)
		}, nil
	}
}

func next(ctx context.Context, p peers.Peer, n int) (op, error) {
	keyset, ok := p.(peers.Keyset)
	if !ok {
		return nil, errUnable
	}
	at, err := p.Link(ctx, min(depth, n/2)-1)
	if err != nil {
		return nil, err
	}
	last, err := p.Newest(ctx, at, 1)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, r *rand.Rand) error {
		rows, err := keyset.After(ctx, last[0].Page(), page)
		return full(rows, page, err)
	}, nil
}

func top(_ context.Context, p peers.Peer, n int) (op, error) {
	return func(ctx context.Context, r *rand.Rand) error {
		rows, err := p.Top(ctx, page)
		return full(rows, page, err)
	}, nil
}

func rank(_ context.Context, p peers.Peer, n int) (op, error) {
	return func(ctx context.Context, r *rand.Rand) error {
		_, err := p.Rank(ctx, anyPage(r, n))
		return err
	}, nil
}

func anyOwner(r *rand.Rand) int64 { return 1 + r.Int64N(peers.Owners) }

func visits(_ context.Context, p peers.Peer, n int) (op, error) {
	return func(ctx context.Context, r *rand.Rand) error {
		latest, err := p.Visits(ctx, anyOwner(r), 10)
		return full(latest, 10, err)
	}, nil
}

func followers(_ context.Context, p peers.Peer, n int) (op, error) {
	return func(ctx context.Context, r *rand.Rand) error {
		users, err := p.Followers(ctx, peers.Topic, peers.TopicUsers/2)
		return full(users, peers.TopicUsers/2, err)
	}, nil
}

// replays is how many operations are kept to be asked again.
const replays = 256

// raw makes of a workload that reads the one that only makes the same requests.
func raw(prepare func(context.Context, peers.Peer, int) (op, error)) func(context.Context, peers.Peer, int) (op, error) {
	return func(ctx context.Context, p peers.Peer, n int) (op, error) {
		layer, ok := p.(peers.Layer)
		if !ok {
			return nil, errUnable
		}
		work, err := prepare(ctx, p, n)
		if err != nil {
			return nil, err
		}
		r := rand.New(rand.NewPCG(1, 1))
		var again []func(context.Context) error
		for range replays {
			replay, err := layer.Replay(ctx, func() error { return work(ctx, r) })
			if err != nil {
				return nil, err
			}
			again = append(again, replay)
		}
		return func(ctx context.Context, r *rand.Rand) error { return again[r.IntN(replays)](ctx) }, nil
	}
}

// view counts views of pages of which few are viewed often.
func view(_ context.Context, p peers.Peer, n int) (op, error) {
	return func(ctx context.Context, r *rand.Rand) error {
		// About as a Zipf distribution: the logarithm of a page's place is uniform.
		place := int64(math.Pow(float64(n), r.Float64())) - 1
		return p.View(ctx, 1+place*15485863%int64(n))
	}, nil
}

func update(_ context.Context, p peers.Peer, n int) (op, error) {
	return func(ctx context.Context, r *rand.Rand) error { return p.Update(ctx, anyPage(r, n), anyBody(r)) }, nil
}

func visit(_ context.Context, p peers.Peer, n int) (op, error) {
	return func(ctx context.Context, r *rand.Rand) error {
		return p.Visit(ctx, anyOwner(r), peers.Visit{Visitor: 1 + r.Int64N(100_000), At: time.Now().UnixMicro()})
	}, nil
}

func follow(_ context.Context, p peers.Peer, n int) (op, error) {
	return func(ctx context.Context, r *rand.Rand) error {
		user := 1 + r.Int64N(peers.TopicUsers)
		if r.IntN(2) == 0 {
			return p.Follow(ctx, peers.Topic, user)
		}
		return p.Unfollow(ctx, peers.Topic, user)
	}, nil
}

func insert(_ context.Context, p peers.Peer, n int) (op, error) {
	return func(ctx context.Context, r *rand.Rand) error {
		return p.Insert(ctx, &peers.Page{
			Slug: "new-" + strconv.FormatUint(r.Uint64(), 36), Title: "A new page", Body: anyBody(r),
			Author: "author1", Tags: []string{"a", "b", "c"}, UpdatedAt: time.Now().UTC(),
		})
	}, nil
}

var bodies = func() (all [64]string) {
	for i := range all {
		all[i] = peers.MakeBody(uint64(1e9) + uint64(i))
	}
	return all
}()

func anyBody(r *rand.Rand) string { return bodies[r.IntN(len(bodies))] }
