package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/ringtree/ringtree/bench/compare/peers"
)

type subject struct {
	on      [dataSets]loaded
	visited string
	server  int
}

// operator is a peer with pages 1 to n.
type operator struct {
	peers.Peer
	n int
}

// op is one operation. It returns its kind, if there are several.
type op func(ctx context.Context, r *rand.Rand) (kind string, err error)

type workload struct {
	name   string
	title  string
	on     dataSet
	longer time.Duration // factor of the measurement's time

	// prepare returns the operation on s, with a percentage of writes.
	prepare func(ctx context.Context, s *subject, writes int) (op, error)
}

const (
	page  = 20    // pages in a listing
	depth = 10000 // of W2deep
)

// workloads are in the order of measurement: faster peers write more, so writes come last.
var workloads = []workload{
	alone("W1", "a page by id", get),
	alone("W2", "newest 20 pages", newest(0)),
	alone("W2deep", "20 behind the newest 10,000", newest(depth)),
	alone("W5", "20 viewed most", top),
	alone("W6", "rank by views", rank),
	alone("W7r", "last 10 visitors", visits),
	alone("W8r", "1,000 followers", followers),
	alone("W4", "count a view", hit),
	alone("W3", "change a page", update),
	alone("W7w", "record a visit, keep 30", visit),
	alone("W8w", "follow or unfollow", follow),
	alone("W9", "insert a page", insert),
	{"pages", "the pages of an app", onSite, 5, mix},
	{"forum", "the pages of a link site", onForum, 5, forumMix},
}

type call func(ctx context.Context, r *rand.Rand) error

func alone(name, title string, prepare func(ctx context.Context, p peers.Peer, n int) (call, error)) workload {
	return workload{name, title, onPages, 1, func(ctx context.Context, s *subject, _ int) (op, error) {
		o := s.on[onPages].(operator)
		do, err := prepare(ctx, o.Peer, o.n)
		return func(ctx context.Context, r *rand.Rand) (string, error) { return "", do(ctx, r) }, err
	}}
}

func get(_ context.Context, p peers.Peer, n int) (call, error) {
	return func(ctx context.Context, r *rand.Rand) error {
		_, err := p.Get(ctx, anyPage(r, n))
		return err
	}, nil
}

func anyPage(r *rand.Rand, n int) int64 { return 1 + r.Int64N(int64(n)) }

func full[T any](rows []T, want int, err error) error {
	if err == nil && len(rows) != want {
		err = fmt.Errorf("got %d rows, want %d", len(rows), want)
	}
	return err
}

func newest(offset int) func(context.Context, peers.Peer, int) (call, error) {
	return func(ctx context.Context, p peers.Peer, n int) (call, error) {
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

func top(_ context.Context, p peers.Peer, n int) (call, error) {
	return func(ctx context.Context, r *rand.Rand) error {
		rows, err := p.Top(ctx, page)
		return full(rows, page, err)
	}, nil
}

func rank(_ context.Context, p peers.Peer, n int) (call, error) {
	return func(ctx context.Context, r *rand.Rand) error {
		_, err := p.Rank(ctx, anyPage(r, n))
		return err
	}, nil
}

func anyOwner(r *rand.Rand) int64 { return 1 + r.Int64N(peers.Owners) }

func visits(_ context.Context, p peers.Peer, n int) (call, error) {
	return func(ctx context.Context, r *rand.Rand) error {
		latest, err := p.Visits(ctx, anyOwner(r), 10)
		return full(latest, 10, err)
	}, nil
}

func followers(_ context.Context, p peers.Peer, n int) (call, error) {
	return func(ctx context.Context, r *rand.Rand) error {
		users, err := p.Followers(ctx, peers.Topic, peers.TopicUsers/2)
		return full(users, peers.TopicUsers/2, err)
	}, nil
}

// hit counts views, most of them of few pages.
func hit(_ context.Context, p peers.Peer, n int) (call, error) {
	return func(ctx context.Context, r *rand.Rand) error {
		// About a Zipf distribution: the logarithm of a page's place is uniform.
		place := int64(math.Pow(float64(n), r.Float64())) - 1
		return p.View(ctx, 1+place*15485863%int64(n))
	}, nil
}

func update(_ context.Context, p peers.Peer, n int) (call, error) {
	return func(ctx context.Context, r *rand.Rand) error { return p.Update(ctx, anyPage(r, n), anyBody(r)) }, nil
}

func visit(_ context.Context, p peers.Peer, n int) (call, error) {
	return func(ctx context.Context, r *rand.Rand) error {
		return p.Visit(ctx, anyOwner(r), peers.Visit{Visitor: 1 + r.Int64N(100_000), At: time.Now().UnixMicro()})
	}, nil
}

func follow(_ context.Context, p peers.Peer, n int) (call, error) {
	return func(ctx context.Context, r *rand.Rand) error {
		user := 1 + r.Int64N(peers.TopicUsers)
		if r.IntN(2) == 0 {
			return p.Follow(ctx, peers.Topic, user)
		}
		return p.Unfollow(ctx, peers.Topic, user)
	}, nil
}

func insert(_ context.Context, p peers.Peer, n int) (call, error) {
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
