package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// shippingFigures are about the embedded store while it ships to a folder, is copied by
// another process, or is backed up.
var shippingFigures = []func(*bench) error{
	followingCost,
	followerLag,
	hotBackups,
}

const busyClients = 32

// busy keeps committing with many clients until stop is called, which returns an error if
// one of them had one.
func (r *rivals) busy() (stop func() error) {
	ctx, cancel := context.WithCancel(r.ctx)
	ended := make(chan error, busyClients)
	for range busyClients {
		go func() {
			for ctx.Err() == nil {
				if err := r.commitOurs(); err != nil {
					ended <- err
					return
				}
			}
			ended <- nil
		}()
	}
	return func() error {
		cancel()
		var errs []error
		for range busyClients {
			errs = append(errs, <-ended)
		}
		return errors.Join(errs...)
	}
}

// alone returns a store that no other engine is compared with.
func (b *bench) alone(d boltkv.Durability) (*rivals, string, error) {
	dir, err := os.MkdirTemp(b.dir, "alone-")
	if err != nil {
		return nil, "", err
	}
	store, err := boltkv.Open(filepath.Join(dir, "store.db"), boltkv.Options{Durability: d})
	return &rivals{ctx: context.WithoutCancel(b.ctx), store: store}, dir, err
}

// followingCost compares the commits of a store that ships with those of one that does not.
func followingCost(b *bench) error {
	for _, d := range []boltkv.Durability{boltkv.Synced, boltkv.Unsynced} {
		plain, _, err := b.alone(d)
		if err != nil {
			return err
		}
		shipped, dir, err := b.alone(d)
		if err != nil {
			return err
		}
		ended := make(chan error, 1)
		go func() { ended <- shipped.store.Follow(shipped.ctx, boltkv.Dir(filepath.Join(dir, "shipped"))) }()
		for shipped.store.Stats().Shipping.Snapshot.IsZero() {
			time.Sleep(time.Millisecond)
		}
		calls := b.size(60_000)
		load := func(r *rivals) func() error {
			commits := byClients(busyClients, calls, func(int, int) error { return r.commitOurs() })
			return func() error { return errors.Join(commits(), r.settle()) }
		}
		speed, err := compareFor(runs, load(shipped), load(plain))
		if err := errors.Join(err, plain.store.Close(), shipped.store.Close(), <-ended); err != nil {
			return err
		}
		b.report(fmt.Sprintf("boltkv: 4 items, %v, by %d, while it is shipped, speed to one that is not", d, busyClients), speed, atLeast(0.9).ratio())
	}
	return nil
}

// followerLag measures how much later a commit is seen in a copy than it was acknowledged,
// while others commit as fast as they can.
func followerLag(b *bench) error {
	r, dir, err := b.alone(boltkv.Synced)
	if err != nil {
		return err
	}
	folder := boltkv.Dir(filepath.Join(dir, "shipped"))
	ended := make(chan error, 1)
	go func() { ended <- r.store.Follow(r.ctx, folder) }()
	for r.store.Stats().Shipping.Snapshot.IsZero() {
		time.Sleep(time.Millisecond)
	}
	follower, err := boltkv.OpenFollower(b.ctx, folder, filepath.Join(dir, "copy.db"))
	if err != nil {
		return err
	}
	stop := r.busy()
	var lags []time.Duration
	for i := range b.size(40) {
		mark := kv.OpSet(fmt.Sprint("mark:", i), nil)
		if _, err := kv.One(r.ctx, r.store, mark); err != nil {
			return err
		}
		lag, err := timeOf(func() error { return seen(r.ctx, follower, mark.Key) })
		if err != nil {
			return err
		}
		lags = append(lags, lag)
	}
	if err := errors.Join(stop(), follower.Close(), r.store.Close(), <-ended); err != nil {
		return err
	}
	b.report("boltkv: a commit under full load is seen in a copy after, p50", float64(median(lags))/1e6, atMost(1000).in("ms"))
	b.report("boltkv: a commit under full load is seen in a copy after, p95", float64(quantile(lags, 0.95))/1e6, atMost(1000).in("ms"))
	return nil
}

// seen returns when key is in s.
func seen(ctx context.Context, s kv.Store, key string) error {
	for {
		_, err := kv.One(ctx, s, kv.OpGet(key))
		if !errors.Is(err, kv.ErrNotFound) {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// hotBackups makes backups under full load, and looks whether they are whole and open.
func hotBackups(b *bench) error {
	const stores = 20 // one after another, or they would grow for long
	backups, bad := 0, 0
	for range stores {
		r, dir, err := b.alone(boltkv.Unsynced)
		if err != nil {
			return err
		}
		stop := r.busy()
		for i := range b.size(100 / stores) {
			var data bytes.Buffer
			if err := r.store.Backup(r.ctx, &data); err != nil {
				return errors.Join(err, stop())
			}
			backups++
			if err := opensClean(r.ctx, data.Bytes(), filepath.Join(dir, fmt.Sprint("backup", i))); err != nil {
				fmt.Fprintln(os.Stderr, err)
				bad++
			}
		}
		if err := errors.Join(stop(), r.store.Close()); err != nil {
			return err
		}
	}
	b.report("boltkv: backups under full load", float64(backups), atLeast(float64(b.size(100/stores)*stores)))
	b.report("boltkv: of these not whole, or not all of some commits", float64(bad), exactly(0))
	return nil
}

// opensClean restores a backup and returns an error if it does not open, or if it holds a
// part of a commit.
func opensClean(ctx context.Context, data []byte, path string) (err error) {
	if _, err := boltkv.VerifyBackup(ctx, bytes.NewReader(data)); err != nil {
		return err
	}
	if _, err := boltkv.RestoreBackup(ctx, bytes.NewReader(data), path); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(path)) }()
	s, err := boltkv.Open(path, boltkv.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	count := make(map[string]int)
	err = s.Powers().Keys(ctx, "", func(keys []string) error {
		for _, key := range keys {
			count[key[:5]]++
		}
		return nil
	})
	if err == nil && (count["page:"] != count["slug:"] || count["page:"] != count["name:"] || count["page:"] != count["seen:"]) {
		err = fmt.Errorf("%s holds parts of commits: %v", path, count)
	}
	return err
}
