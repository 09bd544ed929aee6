package demo

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/ringtree/ringtree/example-app/ashiato"
)

const pace = 2 * time.Second

// Crowd lets n visitors use a filled site, until ctx ends or stop is called.
func Crowd(ctx context.Context, site *ashiato.Site, n int) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	for range n {
		all.Go(func() { visit(ctx, site, rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))) })
	}
	return func() { cancel(); all.Wait() }
}

func visit(ctx context.Context, site *ashiato.Site, r *rand.Rand) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pace/2 + rand.N(pace)):
		}
		err := act(ctx, site, r)
		if err == nil && r.IntN(20) == 0 {
			author, draft := page(len(texts.Pages) + r.IntN(1e5))
			draft.ID = site.NewID()
			_, err = site.Write(ctx, author, draft)
		}
		if err != nil && ctx.Err() == nil {
			slog.Debug("a visitor of the crowd failed", "err", err)
		}
	}
}

// act makes a guest view one of the newest pages, or a member like it, comment, visit or follow.
func act(ctx context.Context, site *ashiato.Site, r *rand.Rand) error {
	newest, err := site.Newest(ctx, "")
	n := len(newest.Entries)
	if err != nil || n == 0 {
		return err
	}
	p := newest.Entries[min(r.IntN(n), r.IntN(n))]
	who := memberID(r.IntN(len(texts.Handles)))
	switch kind := r.IntN(12); {
	case p.Author == who || p.By == nil || kind > 6:
		// Each guest has another address, since a visitor counts once in an hour.
		_, err = site.View(ctx, "", fmt.Sprint("guest ", r.Uint64()), p.Slug, "")
	case kind > 4:
		err = site.Like(ctx, who, p.Slug)
	case kind > 2:
		err = site.Visit(ctx, who, p.Author)
	case kind > 1:
		_, err = site.Comment(ctx, who, p.ID, site.NewID(), oneOf(r, texts.Comments))
	case kind > 0:
		err = site.Follow(ctx, who, p.By.Handle)
	case len(p.Topics) > 0:
		err = site.FollowTopic(ctx, who, p.Topics[0])
	}
	return err
}
