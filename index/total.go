package index

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"strconv"
	"sync/atomic"

	"github.com/ringtree/ringtree/internal/memberlog"
	"github.com/ringtree/ringtree/internal/tally"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Total is the number of a model's records, as exact as a derived count: a completed change is
// counted exactly once, and numbers in doubt are recounted.
//
// It is the sum of derived counts of internal [Lists] by hashes of the ids, so that writers rarely
// collide, and one list of many is read for a recount.
type Total[T any, K comparable] struct {
	total total
}

type total struct {
	lists *lists

	bare atomic.Uint64 // shards without a number at the last Count
}

const (
	totalName = "count" // tags name indexes in capitals
	shards    = 64      // part of the stored format
)

var shardTexts = func() (all []string) {
	for i := range shards {
		all = append(all, strconv.Itoa(i))
	}
	return all
}()

// The first bits of the hash divide lists.
func shardOf(id string) uint8 { return uint8(memberlog.PositionOf(id).Hash % shards) }

// NewTotal returns the number of the records and maintains it from now on. It panics if the records
// can expire, since nothing would count them down.
func NewTotal[T any, K comparable](records *kvmodel.Records[T, K]) *Total[T, K] {
	ids := records.IDs()
	l := NewLists(records, kvmodel.IndexSpec[T, uint8]{
		Name: totalName, Def: fmt.Sprintf("total of %d shards", shards), Key: kvmodel.IntKey[uint8](),
		Values: func(v *T) []uint8 { return []uint8{shardOf(ids.Text(records.ID(v)))} },
	}, Counted(records.ModelName(), totalName), func(o *listOptions) { o.total = shardTexts })
	return &Total[T, K]{total{lists: l.all}}
}

// Count returns the number of the model's records. It includes completed changes of this process,
// and those of other processes a moment later. A change in progress may be counted. One trip, two
// the first time if some shard never had a record.
//
// If the store did not answer or a process died, the number may be off by that change until it is
// recounted; see kvmodel.Stats.InDoubt. A number dropped by the store is read from its list. Errors
// are ErrNeedsRebuild and ErrCorrupt.
func (t *Total[T, K]) Count(ctx context.Context) (int, error) { return t.total.records(ctx) }

func (t *total) records(ctx context.Context) (int, error) {
	return readNumber(ctx, t.lists.host, "Count", func(ctx context.Context) (int, error) {
		n, err := t.count(ctx, kv.Near(t.lists.host.Store()))
		if err != nil {
			return 0, fmt.Errorf("%s: the number of records: %w", t.lists.host.Model(), err)
		}
		return n, nil
	})
}

// In the same trip count looks for lists of the shards that had no number the last time.
func (t *total) count(ctx context.Context, s kv.Store) (n int, err error) {
	var numbers []int64
	var listed, bare shardSet
	was := shardSet(t.bare.Load())
	err = cmp.Or(kv.Together(ctx, s,
		func(s kv.Store) (err error) { numbers, err = t.lists.figures[0].Counts(ctx, s, shardTexts); return err },
		func(s kv.Store) (err error) { listed, err = t.listed(ctx, s, was); return err },
	)...)
	if err != nil {
		return 0, err
	}
	for i, number := range numbers {
		if number == tally.None {
			bare |= 1 << i
		}
		n += int(max(number, 0))
	}
	t.bare.Store(uint64(bare))
	more, err := t.listed(ctx, s, bare&^was)
	if err != nil {
		return 0, err
	}
	lost, err := t.read(ctx, s, bare&(listed|more))
	return n + lost, err
}

func (t *total) listed(ctx context.Context, s kv.Store, some shardSet) (listed shardSet, err error) {
	err = t.atEach(ctx, s, some, func(s kv.Store, shard int) error {
		bare, err := t.lists.logs.IsBare(ctx, s, shardTexts[shard])
		if !bare {
			listed |= 1 << shard
		}
		return err
	})
	return listed, err
}

func (t *total) read(ctx context.Context, s kv.Store, some shardSet) (n int, err error) {
	err = t.atEach(ctx, s, some, func(s kv.Store, shard int) error {
		if t.lists.host.DB().Writable() == nil {
			t.lists.figures[0].Suspect(shardTexts[shard], t.lists.host.DB().Now())
		}
		members, err := t.lists.logs.Count(ctx, s, shardTexts[shard])
		n += members
		return err
	})
	return n, err
}

func (t *total) atEach(ctx context.Context, s kv.Store, some shardSet, step func(kv.Store, int) error) error {
	all := some.all()
	return atEach(ctx, s, len(all), func(s kv.Store, i int) error { return step(s, all[i]) }, func(_ int, err error) error { return err })
}

type shardSet uint64

func (s shardSet) all() (all []int) {
	for ; s != 0; s &= s - 1 {
		all = append(all, bits.TrailingZeros64(uint64(s)))
	}
	return all
}
