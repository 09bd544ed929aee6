// Package built knows which indexes of a model hold all of its records.
package built

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/ringtree/ringtree/kvmodel/internal/enumeration"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

var (
	// builtKey names the indexes of a model that hold all of its records. It is
	// added before the model's first write with all indexes there are. So an index
	// missing from it has to be rebuilt.
	builtKey = kv.NewClass("built", 1) // model

	// Rebuilds are numbered. One that begins after something was lost has it in
	// place again when it ends.
	begunKey = kv.NewClass("rebuild", 1) // model; the last to begin
	endedKey = kv.NewClass("rebuilt", 1) // model; the last to end
)

// maxTries is how often an item that others change as well is written.
const maxTries = 8

// Config is what the built item of a model needs of it.
type Config struct {
	Store  kv.Store
	Atomic func(context.Context, func(kv.Store) error) error // nil: the store has none
	Model  string
	All    *enumeration.Enumeration

	// Witness is the key of something that is never removed once the model has been
	// written for a while.
	Witness string

	// Mine returns the indexes of the model, each with its definition, sorted.
	Mine func() []string
}

// Item is the built item of a model and what this process knows of it. An index
// is named with its definition.
type Item struct {
	Config
	turn chan struct{} // holds one token while no one claims the item

	mu      sync.Mutex // never held during a trip
	read    bool       // the item exists, and missing says what it does not name
	begun   bool       // the model has a head
	claimed bool       // and the item names none but this model's indexes
	missing []string   // indexes that do not hold all records
}

// New returns the item of a model, of which nothing is known.
func New(c Config) *Item { return &Item{Config: c, turn: make(chan struct{}, 1)} }

// Known returns the indexes that do not hold all records, and whether that is
// known.
func (b *Item) Known() (missing []string, read bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.missing, b.read
}

func (b *Item) isClaimed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.claimed
}

// Saw remembers that the item exists and does not name missing.
func (b *Item) Saw(missing []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.read, b.missing = true, missing
}

// Claim makes the item fit for a process that writes the model: the model has begun,
// and the item names no index that the process does not keep in step. build is called
// with the indexes it does not name, while other callers wait, and returns those that
// still do not hold all records. Once that has succeeded, Claim does nothing more.
func (b *Item) Claim(ctx context.Context, build func(missing []string) ([]string, error)) error {
	if b.isClaimed() {
		return nil
	}
	select {
	case b.turn <- struct{}{}:
	case <-ctx.Done():
		return kv.Unavailable(ctx.Err())
	}
	defer func() { <-b.turn }()
	if b.isClaimed() {
		return nil
	}
	missing, err := b.claim(ctx, b.Mine())
	if err == nil && len(missing) > 0 {
		missing, err = build(missing)
	}
	if err == nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.read, b.claimed, b.missing = true, true, missing
	}
	return err
}

// claim takes the indexes other than mine out of the item, and returns those of mine
// that do not hold all records.
func (b *Item) claim(ctx context.Context, mine []string) (missing []string, err error) {
	err = b.write(ctx, func(there []state) ([]state, bool) {
		keep := slices.DeleteFunc(slices.Clone(there), func(s state) bool { return !slices.Contains(mine, s.def) })
		missing = Missing(mine, wholeOf(keep))
		return keep, len(keep) < len(there)
	})
	return missing, err
}

// Building is a build of indexes, by the token under which the item names each; "" if
// it holds all records already.
type Building map[string]string

// ErrStopped says that a build has come to nothing, since a process that does not know
// the index has begun to write.
var ErrStopped = errors.New("a process without the index has begun to write")

// Build lets the item say that the indexes which do not hold all records are being
// built. From then on a process that does not know them takes them out before it
// writes. A build that is under way has its token already.
func (b *Item) Build(ctx context.Context) (Building, error) {
	building := Building{}
	err := b.write(ctx, func(there []state) (indexes []state, change bool) {
		indexes = slices.Clone(there)
		for _, def := range b.Mine() {
			if at(indexes, def) < 0 {
				indexes = append(indexes, state{def, newBirth()})
				change = true
			}
			building[def] = indexes[at(indexes, def)].token
		}
		return indexes, change
	})
	return building, err
}

// Mark makes the item say that defs hold all records, or returns ErrStopped if it does
// not name one of them as it did when the build began.
func (b *Item) Mark(ctx context.Context, building Building, defs ...string) error {
	stopped := false
	err := b.write(ctx, func(there []state) (indexes []state, change bool) {
		indexes, stopped = slices.Clone(there), false
		for _, def := range defs {
			i := at(indexes, def)
			switch {
			case i < 0, indexes[i].token != "" && indexes[i].token != building[def]:
				stopped = true
			case indexes[i].token != "":
				indexes[i].token, change = "", true
			}
		}
		return indexes, change && !stopped
	})
	if err == nil && stopped {
		return fmt.Errorf("%s: %w", b.Model, ErrStopped)
	}
	return err
}

// write stores what edit makes of the indexes that the item names, if that is a
// change.
func (b *Item) write(ctx context.Context, edit func(there []state) (indexes []state, change bool)) error {
	for range maxTries {
		v, err := b.begin(ctx)
		if err != nil {
			return err
		}
		indexes, change := edit(v.indexes)
		if change {
			err = b.put(ctx, b.Store, v, v.head.Birth, indexes)
		}
		if err == nil || kv.Failed(err) && !errors.Is(err, kv.ErrUnclear) {
			return err
		}
	}
	return fmt.Errorf("%s: %w", builtKey.Key(b.Model), kv.ErrConflict)
}

// Missing returns what is in all and not in there.
func Missing(all, there []string) []string {
	var missing []string
	for _, def := range all {
		if !slices.Contains(there, def) {
			missing = append(missing, def)
		}
	}
	return missing
}

// Begin returns the number of a rebuild that begins now.
func (b *Item) Begin(ctx context.Context) (int64, error) {
	return kv.Next(ctx, b.Store, begunKey.Key(b.Model), 0, 1)
}

// End notes that the rebuild of that number has ended.
func (b *Item) End(ctx context.Context, number int64) error {
	key := endedKey.Key(b.Model)
	for range maxTries {
		r, err := kv.One(ctx, b.Store, kv.OpGet(key))
		if kv.Failed(err) {
			return err
		}
		if last, bad := kv.ParseNumber(r.Value); err == nil && bad == nil && last >= number {
			return nil
		}
		_, err = kv.One(ctx, b.Store, kv.OpReplace(key, r.Version, strconv.AppendInt(nil, number, 10)))
		if err == nil {
			return nil
		}
	}
	return fmt.Errorf("%s: %w", key, kv.ErrConflict)
}

// Rebuilds returns the numbers of the last rebuild that has begun and of the last
// that has ended, 0 if there was none.
func (b *Item) Rebuilds(ctx context.Context, s kv.Store) (begun, ended int64, err error) {
	results, err := kv.GetAll(ctx, s, begunKey.Key(b.Model), endedKey.Key(b.Model))
	if err != nil {
		return 0, 0, err
	}
	numbers := [2]int64{}
	for i, r := range results {
		if r.Err == nil {
			if numbers[i], err = kv.ParseNumber(r.Value); err != nil {
				return 0, 0, fmt.Errorf("%s: rebuilds: %w", b.Model, err)
			}
		}
	}
	return numbers[0], numbers[1], nil
}
