// Package build stores the progress of a model's index build, so that another process can continue
// it, and only one process builds at a time.
package build

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ringtree/ringtree/internal/frame"
	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/internal/enumeration"
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

type State struct {
	Tokens  []string // of the built item, for the indexes being built; sorted
	Number  int64
	Stage   Stage
	Reached enumeration.Reached
	Done    int64 // ids entered, some perhaps twice
	Total   int64 // approximate; 0: unknown

	// Losers are ids of records that hold a unique value of others. More are not stored.
	Losers []string
	More   int64

	// Own is the progress of indexes with steps of their own, by name.
	Own map[string]string

	owner string // "" if none
	beat  uint64 // counts the owner's writes
}

// Stage is the finished part of a build.
type Stage byte

const (
	Entering Stage = iota
	Entered
	Finished // except indexes with conflicts about the losers
)

const (
	maxLosers = 256 << 10 // in an item
	maxNumber = 1 << 62

	// hasOwn is added to the stage of an item with Own. An older release takes it for damaged and
	// starts over.
	hasOwn = 1 << 2
)

func (st State) IsOwned() bool { return st.owner != "" }

func (st State) fits(tokens []string) bool {
	if len(tokens) == 0 || st.Stage == Finished && st.More > 0 {
		return false
	}
	return !slices.ContainsFunc(tokens, func(token string) bool { return !slices.Contains(st.Tokens, token) })
}

func (st State) encode() []byte {
	b := wire.AppendText(nil, st.owner)
	stage := byte(st.Stage)
	if len(st.Own) > 0 {
		stage += hasOwn
	}
	b = append(b, stage)
	losers, more := st.room()
	for _, n := range []int64{int64(st.beat), st.Number, st.Reached.Number, st.Done, st.Total, more, int64(len(st.Tokens))} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	b = wire.AppendText(wire.AppendTexts(b, st.Tokens), st.Reached.Key)
	if len(st.Own) > 0 {
		b = binary.AppendUvarint(b, uint64(len(st.Own)))
	}
	for _, name := range slices.Sorted(maps.Keys(st.Own)) {
		b = wire.AppendTexts(b, []string{name, st.Own[name]})
	}
	return frame.Whole(wire.AppendTexts(b, losers))
}

func (st State) room() (losers []string, more int64) {
	size := 0
	for i, id := range st.Losers {
		if size += len(id) + 2; size > maxLosers {
			return st.Losers[:i], st.More + int64(len(st.Losers)-i)
		}
	}
	return st.Losers, st.More
}

func decode(data []byte) (st State) {
	data, damaged := frame.Open(data)
	if damaged != nil {
		return State{}
	}
	r := wire.Reader{Rest: data}
	st.owner = r.Text("owner")
	stage := r.Byte()
	st.Stage = Stage(stage &^ hasOwn)
	if st.Stage > Finished {
		r.Fail("stage")
	}
	st.beat = r.Number("beat", maxNumber)
	for _, n := range []*int64{&st.Number, &st.Reached.Number, &st.Done, &st.Total, &st.More} {
		*n = int64(r.Number("number", maxNumber))
	}
	for range r.Count("tokens", 1) {
		st.Tokens = append(st.Tokens, r.Name("token"))
	}
	st.Reached.Key = r.Text("key")
	if stage&hasOwn != 0 {
		st.Own = make(map[string]string)
		for range r.Count("indexes", 2) {
			st.Own[r.Name("index")] = r.Text("progress")
		}
	}
	for len(r.Rest) > 0 {
		st.Losers = append(st.Losers, r.Text("loser"))
	}
	if r.Err != nil {
		return State{}
	}
	return st
}
