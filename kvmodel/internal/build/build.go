// Package build stores the progress of a model's index build, so that another process can continue
// it, and only one process builds at a time.
package build

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// buildKey exists during a build, and while conflicting records keep an index from being built.
var buildKey = kv.NewClass("build", 1) // model

var ErrTaken = errors.New("another process has taken the build over")

// Busy is the error of a claim while another process builds.
type Busy struct{ State }

func (b *Busy) Error() string { return "process " + b.owner + " is building" }

type Item struct {
	Store kv.Store
	Now   func() time.Time
	Model string
	Owner string // unique name of the process

	// Alone: no other process has the store, so a build found by the first claim belongs to a dead
	// process.
	Alone bool

	mu     sync.Mutex
	looked bool
	owner  string // last seen, as beat; since: its change
	beat   uint64
	since  time.Time
}

func (i *Item) key() string { return buildKey.Key(i.Model) }

func (i *Item) Read(ctx context.Context) (st State, exists bool, err error) {
	st, version, err := i.read(ctx, i.Store)
	return st, version != 0, err
}

// read returns version 0 if there is no item, and the zero State if it is damaged.
func (i *Item) read(ctx context.Context, s kv.Store) (st State, version kv.Version, err error) {
	got, err := kv.One(ctx, s, kv.OpGet(i.key()))
	if errors.Is(err, kv.ErrNotFound) {
		return st, 0, nil
	}
	if err != nil {
		return st, 0, err
	}
	return decode(got.Value), got.Version, nil
}

// Claim makes this process the owner of the build. A build of the same tokens is continued; another
// starts under the number of begin, told whether an item existed.
func (i *Item) Claim(ctx context.Context, tokens []string, begin func(ctx context.Context, after bool) (int64, error)) (l *Lease, err error) {
	tokens = slices.DeleteFunc(slices.Sorted(slices.Values(tokens)), func(token string) bool { return token == "" })
	err = kv.Change(i.key(), func() error {
		st, version, err := i.read(ctx, i.Store)
		if err != nil {
			return err
		}
		if !i.mayTake(st) {
			return &Busy{st}
		}
		if version == 0 || !st.fits(tokens) {
			st = State{Tokens: tokens, beat: st.beat}
			if st.Number, err = begin(ctx, version != 0); err != nil {
				return err
			}
		}
		st.owner, st.beat = i.Owner, st.beat+1
		_, err = kv.One(ctx, i.Store, kv.OpReplace(i.key(), version, st.encode()))
		l = &Lease{i, st}
		return err
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

func (i *Item) mayTake(st State) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	first := !i.looked
	i.looked = true
	if st.owner == "" || st.owner == i.Owner || first && i.Alone {
		return true
	}
	now := i.Now()
	if st.owner != i.owner || st.beat != i.beat {
		i.owner, i.beat, i.since = st.owner, st.beat, now
	}
	return now.Sub(i.since) >= times.Silent
}

// Lease is a build owned by this process until another takes it over: then its methods return
// ErrTaken.
type Lease struct {
	item *Item

	// Found is the state at the claim.
	Found State
}

func (l *Lease) Keep(ctx context.Context, s kv.Store, st State) error {
	return l.write(ctx, s, func(now *State) {
		st.owner, st.beat = now.owner, now.beat
		*now = st
	})
}

func (l *Lease) Beat(ctx context.Context) error {
	return l.write(ctx, l.item.Store, func(*State) {})
}

// Release lets others continue the build immediately.
func (l *Lease) Release(ctx context.Context) error {
	return l.write(ctx, l.item.Store, func(now *State) { now.owner = "" })
}

func (l *Lease) write(ctx context.Context, s kv.Store, edit func(now *State)) error {
	return kv.Change(l.item.key(), func() error {
		now, version, err := l.read(ctx, s)
		if err != nil {
			return err
		}
		edit(&now)
		now.beat++
		_, err = kv.One(ctx, s, kv.OpSwap(l.item.key(), version, now.encode()))
		return err
	})
}

func (l *Lease) read(ctx context.Context, s kv.Store) (State, kv.Version, error) {
	now, version, err := l.item.read(ctx, s)
	if err == nil && now.owner != l.item.Owner {
		err = fmt.Errorf("%s: %w", l.item.key(), ErrTaken)
	}
	return now, version, err
}

func (l *Lease) End(ctx context.Context) error {
	return kv.Change(l.item.key(), func() error {
		_, version, err := l.read(ctx, l.item.Store)
		if errors.Is(err, ErrTaken) {
			return nil // or already removed
		}
		if err != nil {
			return err
		}
		_, err = kv.One(ctx, l.item.Store, kv.OpDrop(l.item.key(), version))
		return err
	})
}
