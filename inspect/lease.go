package inspect

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// lease is the right to rescue a database, held by one process at a time: an item with the owner as
// its value. It ends when the owner gives it back, or after times.Lease.
type lease struct {
	store kv.Store
	owner []byte // identifies this process
	log   *slog.Logger
}

var leaseKey = kv.NewClass("recovery", 1).Key("lease")

var errLeaseLost = errors.New("another process is recovering the database")

// hold runs work with the lease, or does nothing if another process has it. The context of work
// ends if another process takes the lease meanwhile.
func (l lease) hold(ctx context.Context, work func(context.Context) error) error {
	mine, err := l.take(ctx)
	if err != nil || !mine {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var keeping sync.WaitGroup
	keeping.Go(func() { l.keep(ctx, cancel) })
	err = work(ctx)
	if errors.Is(context.Cause(ctx), errLeaseLost) {
		err = errLeaseLost
	}
	cancel(nil)
	keeping.Wait()
	l.give(context.WithoutCancel(ctx))
	return err
}

func (l lease) take(ctx context.Context) (mine bool, err error) {
	_, err = kv.One(ctx, l.store, kv.OpAdd(leaseKey, l.owner).For(times.Lease))
	if !errors.Is(err, kv.ErrExists) {
		return err == nil, err
	}
	// The answer to an earlier try may have been lost.
	_, mine, err = l.look(ctx)
	return mine, err
}

// look returns the version of the lease, and whether this process has it.
func (l lease) look(ctx context.Context) (version kv.Version, mine bool, err error) {
	at, err := kv.One(ctx, l.store, kv.OpGet(leaseKey))
	if errors.Is(err, kv.ErrNotFound) {
		return 0, false, nil
	}
	return at.Version, err == nil && bytes.Equal(at.Value, l.owner), err
}

// keep renews the lease until ctx ends, and calls lost if another process has it.
func (l lease) keep(ctx context.Context, lost context.CancelCauseFunc) {
	for kv.Sleep(ctx, times.Lease/4) {
		version, mine, err := l.look(ctx)
		switch {
		case err == nil && version != 0 && !mine:
			lost(errLeaseLost)
			return
		case err == nil:
			_, err = kv.One(ctx, l.store, kv.OpReplace(leaseKey, version, l.owner).For(times.Lease))
		}
		if err != nil && ctx.Err() == nil && !kv.Raced(err) {
			l.log.Warn("the lease of a rescue could not be renewed", "err", err)
		}
	}
}

// give gives the lease back. If that fails, it expires.
func (l lease) give(ctx context.Context) {
	version, mine, err := l.look(ctx)
	if mine {
		_, err = kv.One(ctx, l.store, kv.OpDrop(leaseKey, version))
	}
	if err != nil && !kv.Raced(err) {
		l.log.Warn("the lease of a rescue could not be given back", "err", err)
	}
}
