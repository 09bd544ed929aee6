package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/ringtree/ringtree/bench/figures/models"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/ranking"
)

// rankTies counts what boards cost on which many records have one score: ten scores among
// all, made over three years.
func rankTies(b *bench) error {
	rng := rand.New(rand.NewPCG(1, 2))
	n := b.size(10_000)
	return b.ties("over three years", n, 3*365*24*time.Hour/time.Duration(n), func() int64 { return rng.Int64N(10) })
}

// rankTiesAtOnce is rankTies with one score, for records that are all made in a second.
func rankTiesAtOnce(b *bench) error {
	n := b.size(10_000)
	return b.ties("in a second, one score", n, time.Second/time.Duration(n), func() int64 { return 7 })
}

// ties counts for n records, made one after the other with that time in between.
func (b *bench) ties(load string, n int, pause time.Duration, points func() int64) error {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	db, m, err := openModels(inMemory().store, kvmodel.Clock(func() time.Time { return now }))
	if err != nil {
		return err
	}
	for i := range n {
		now = now.Add(pause)
		if err := m.Matches.Create(b.ctx, &models.Match{ID: fmt.Sprint(i), Points: points()}); err != nil {
			return err
		}
		// No change may take as long as a long pause.
		if pause < time.Second {
			continue
		}
		if err := db.Flush(b.ctx); err != nil {
			return err
		}
	}
	for _, of := range []struct {
		ties  string
		board *ranking.Board[models.Match, string, int64]
	}{
		{"no ties", m.Matches.TopPoints}, {"shared", m.Matches.Shared}, {"dense", m.Matches.Dense},
		{"newest", m.Matches.Newest}, {"oldest", m.Matches.Oldest},
	} {
		if err := b.tiedBoard(load+", "+of.ties, n, of.board); err != nil {
			return err
		}
	}
	return db.Close(b.ctx)
}

// tiedBoard counts for one board.
func (b *bench) tiedBoard(name string, n int, board *ranking.Board[models.Match, string, int64]) error {
	first, err := board.Page(b.ctx, "", 20)
	if err != nil {
		return err
	}
	for _, q := range []struct {
		what  string
		trips target
		ask   func(ctx context.Context, i int) error
	}{
		{"RankOf", exactly(1), func(ctx context.Context, i int) error { _, err := board.RankOf(ctx, int64(i%10)); return err }},
		{"Rank", exactly(2), func(ctx context.Context, i int) error { _, err := board.Rank(ctx, fmt.Sprint(i*n/100)); return err }},
		{"second page with ranks", atMost(3), func(ctx context.Context, _ int) error { _, err := board.Table(ctx, first.Next, 20); return err }},
	} {
		var asked spread
		for i := range 100 {
			if err := b.addTo(&asked, func(ctx context.Context) error { return q.ask(ctx, i) }); err != nil {
				return err
			}
		}
		b.report(name+": "+q.what+": trips", asked.mean(asked.sum.Trips), q.trips)
		b.report(name+": "+q.what+": keys", asked.mean(asked.sum.Keys), target{}.varying())
		b.report(name+": "+q.what+": bytes", asked.mean(asked.sum.Read), target{}.varying())
	}
	if err := board.Refresh(b.ctx); err != nil {
		return err
	}
	report, err := board.Verify(b.ctx)
	if err != nil {
		return err
	}
	b.report(name+": pages on the longest way", float64(report.Depth+1), target{}.varying())
	b.report(name+": counts that are off after a refresh, and wrong", float64(report.Drift+len(report.Wrong)), exactly(0))
	return nil
}
