// Package demo fills a site with members, pages and activity, and simulates a crowd of visitors.
package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/guard"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Plan is the amount of data to create. The zero Plan creates nothing.
type Plan struct {
	Pages    int
	Password string         // of all members; if empty, nobody can log in as one of them
	Hash     guard.HashCost // the cost of a check of Password
}

const (
	days     = 14
	lookedAt = 40  // number of pages of earlier days that still get views
	acts     = 100 // of members on a day
)

// Fill adds the missing pages of plan, with two weeks of activity, and returns their number. The
// data is always the same, except for the times. Pages changed or trashed by people stay. Fill can
// be stopped and called again. Nothing else should use the store meanwhile: Fill has its own clock.
func Fill(ctx context.Context, store kv.Store, plan Plan) (made int, err error) {
	if plan.Pages <= 0 {
		return 0, nil
	}
	var behind atomic.Int64 // in nanoseconds
	db, err := kvmodel.Open(unclosed{store},
		kvmodel.Log(slog.New(slog.DiscardHandler)), // The site logs the same.
		kvmodel.Clock(func() time.Time { return time.Now().Add(-time.Duration(behind.Load())) }))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close(context.WithoutCancel(ctx))) }()
	site := ashiato.NewSite(db, plan.Hash)
	if _, err := site.Models.Pages.Get(ctx, pageID(plan.Pages-1)); !errors.Is(err, kvmodel.ErrNotFound) {
		return 0, err // It was created last.
	}
	behind.Store(int64(days * 24 * time.Hour))
	if err := join(ctx, site, plan.Password); err != nil {
		return 0, err
	}
	for day := range days {
		begin, end := plan.Pages*day/days, plan.Pages*(day+1)/days
		today := made
		for i := begin; i < end; i++ {
			behind.Store(int64(days-1-day)*int64(24*time.Hour) + int64(8*time.Hour)*int64(end-i)/int64(end-begin))
			isNew, err := write(ctx, site, i)
			if err != nil {
				return made, fmt.Errorf("demo: page %d: %w", i, err)
			}
			if isNew {
				made++
			}
		}
		if today == made {
			continue
		}
		if err := live(ctx, site, day, max(0, begin-lookedAt), end); err != nil {
			return made, fmt.Errorf("demo: day %d: %w", day, err)
		}
	}
	return made, nil
}

type unclosed struct{ kv.Store }

func (u unclosed) Powers() kv.Powers { return kv.PowersOf(u.Store) }
func (unclosed) Close() error        { return nil }

func join(ctx context.Context, site *ashiato.Site, password string) (err error) {
	if password != "" {
		if password, err = site.HashPassword(ctx, password); err != nil {
			return err
		}
	}
	var members []*ashiato.Member
	for i, handle := range texts.Handles {
		about := oneOf(chanceOf("about", i), texts.Abouts)
		members = append(members, &ashiato.Member{ID: memberID(i), Handle: handle, Password: password, About: about, Joined: site.DB().Now()})
	}
	for _, err := range kvmodel.Items(site.Models.Members.CreateMulti(ctx, members)) {
		if !errors.Is(err, kvmodel.ErrExists) {
			return err
		}
	}
	return nil
}

func write(ctx context.Context, site *ashiato.Site, i int) (isNew bool, err error) {
	if _, err := site.Models.Pages.Get(ctx, pageID(i)); !errors.Is(err, kvmodel.ErrNotFound) {
		return false, err
	}
	author, draft := page(i)
	_, err = site.Write(ctx, author, draft)
	return true, err
}

func live(ctx context.Context, site *ashiato.Site, day, begin, end int) error {
	for i := begin; i < end; i++ {
		if _, err := site.Models.Pages.Views.Add(ctx, pageID(i), views(i)); err != nil {
			return err
		}
	}
	r := chanceOf("day", day)
	for range acts {
		if err := act(ctx, site, r); err != nil {
			return err
		}
	}
	return site.DB().Flush(ctx)
}
