package main

import (
	"context"
	"io"
	"math/rand/v2"
	"slices"

	"github.com/ringtree/ringtree/bench/compare/peers"
	"github.com/ringtree/ringtree/bench/compare/sampleapp"
)

// The workloads that write pages of the sample app.

// samplePages are their names.
var samplePages = []string{"home", "ranking", "article"}

// needsSample reports whether one of them is in all.
func needsSample(all []workload) bool {
	return slices.ContainsFunc(all, func(w workload) bool { return slices.Contains(samplePages, w.name) })
}

// written makes an operation of a page of the sample app, for the peers that have its data.
func written(write func(ctx context.Context, s sampleapp.Site, r *rand.Rand, n int) error) func(context.Context, peers.Peer, int) (op, error) {
	return func(_ context.Context, p peers.Peer, n int) (op, error) {
		sampler, ok := p.(peers.Sampler)
		if !ok {
			return nil, errUnable
		}
		return func(ctx context.Context, r *rand.Rand) error { return write(ctx, sampler.Sample(), r, n) }, nil
	}
}

var (
	homePage = written(func(ctx context.Context, s sampleapp.Site, _ *rand.Rand, _ int) error {
		return sampleapp.WriteHome(ctx, io.Discard, s)
	})
	rankingPage = written(func(ctx context.Context, s sampleapp.Site, _ *rand.Rand, _ int) error {
		return sampleapp.WriteRanking(ctx, io.Discard, s)
	})
	articlePage = written(func(ctx context.Context, s sampleapp.Site, r *rand.Rand, n int) error {
		return sampleapp.WriteArticle(ctx, io.Discard, s, sampleapp.Slug(anyPage(r, n)))
	})
)
