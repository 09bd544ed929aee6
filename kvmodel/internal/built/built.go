// Package built knows which indexes of a model hold all of its records.
package built

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

var (
	// builtKey names the indexes of a model that hold all of its records. It is
	// added before the model's first write with all indexes there are. So a model
	// without it has no records, and an index missing from it has to be rebuilt.
	builtKey = kv.NewClass("built", 1) // model

	// Rebuilds are numbered. One that begins after something was lost has it in
	// place again when it ends.
	begunKey = kv.NewClass("rebuild", 1) // model; the last to begin
	endedKey = kv.NewClass("rebuilt", 1) // model; the last to end
)

// maxTries is how often an item that others change as well is written.
const maxTries = 8

// Item is the built item of a model and what this process knows of it. An index
// is named with its definition.
type Item struct {
	store kv.Store
	model string
	turn  chan struct{} // holds one token while no one claims the item

	mu      sync.Mutex // never held during a trip
	read    bool       // the item exists, and missing says what it does not name
	claimed bool       // and it names none but this model's indexes
	missing []string   // indexes that do not hold all records
}

// New returns the item of model, of which nothing is known.
func New(s kv.Store, model string) *Item {
	return &Item{store: s, model: model, turn: make(chan struct{}, 1)}
}

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

// ReadAgain reads through s what the item names of mine. If that fails, or the item
// is absent, nothing is known any more.
func (b *Item) ReadAgain(ctx context.Context, s kv.Store, mine []string) error {
	there, version, err := b.get(ctx, s)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.read, b.missing = err == nil && version != 0, Missing(mine, there)
	return err
}

// Claim makes the item fit for a process that keeps the indexes mine in step: it
// exists and names no other index. build is called with the indexes it does not
// name, while other callers wait, and returns those that still do not hold all
// records. Once that has succeeded, Claim does nothing more.
func (b *Item) Claim(ctx context.Context, mine func() []string, build func(missing []string) ([]string, error)) error {
	if b.isClaimed() {
		return nil
	}
	select {
	case b.turn <- struct{}{}:
	case <-ctx.Done():
		return kv.Unavailable(kv.Ended(ctx))
	}
	defer func() { <-b.turn }()
	if b.isClaimed() {
		return nil
	}
	missing, err := b.claim(ctx, mine())
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

// claim returns those of mine that the item does not name.
func (b *Item) claim(ctx context.Context, mine []string) (missing []string, err error) {
	err = b.write(ctx, func(there []string, exists bool) ([]string, bool) {
		keep := mine
		if exists {
			keep = slices.DeleteFunc(slices.Clone(there), func(def string) bool { return !slices.Contains(mine, def) })
		}
		missing = Missing(mine, keep)
		return keep, !exists || len(keep) < len(there)
	})
	return missing, err
}

// Add makes the item name def too, which holds all records.
func (b *Item) Add(ctx context.Context, def string) error {
	return b.write(ctx, func(there []string, _ bool) ([]string, bool) {
		defs := append(slices.Clone(there), def)
		slices.Sort(defs)
		return defs, !slices.Contains(there, def)
	})
}

// Mark makes the item name the indexes defs, which hold all records.
func (b *Item) Mark(ctx context.Context, defs []string) error {
	err := b.write(ctx, func([]string, bool) ([]string, bool) { return defs, true })
	if err == nil {
		b.Saw(nil)
	}
	return err
}

// write stores what edit makes of the indexes that the item names, if that is a
// change.
func (b *Item) write(ctx context.Context, edit func(there []string, exists bool) (defs []string, change bool)) error {
	key := builtKey.Key(b.model)
	for range maxTries {
		there, version, err := b.get(ctx, b.store)
		if err != nil {
			return err
		}
		defs, change := edit(there, version != 0)
		if change {
			_, err = kv.One(ctx, b.store, kv.OpReplace(key, version, wire.AppendTexts(nil, defs)))
		}
		if err == nil || kv.Failed(err) && !errors.Is(err, kv.ErrUnclear) {
			return err
		}
	}
	return fmt.Errorf("%s: %w", key, kv.ErrConflict)
}

// Read returns the indexes that the item names, and whether it exists.
func (b *Item) Read(ctx context.Context) (defs []string, exists bool, err error) {
	defs, version, err := b.get(ctx, b.store)
	return defs, version != 0, err
}

func (b *Item) get(ctx context.Context, s kv.Store) ([]string, kv.Version, error) {
	r, err := kv.One(ctx, s, kv.OpGet(builtKey.Key(b.model)))
	if errors.Is(err, kv.ErrNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defs, err := wire.ReadTexts(r.Value, "index")
	return defs, r.Version, err
}

// NamesOther reports whether there names the index in a definition that is not among
// mine.
func NamesOther(there, mine []string, index string) bool {
	return slices.ContainsFunc(there, func(def string) bool {
		name, _, _ := strings.Cut(def, "=")
		return name == index && !slices.Contains(mine, def)
	})
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
	return kv.Next(ctx, b.store, begunKey.Key(b.model), 0, 1)
}

// End notes that the rebuild of that number has ended.
func (b *Item) End(ctx context.Context, number int64) error {
	key := endedKey.Key(b.model)
	for range maxTries {
		r, err := kv.One(ctx, b.store, kv.OpGet(key))
		if kv.Failed(err) {
			return err
		}
		if last, bad := kv.ParseNumber(r.Value); err == nil && bad == nil && last >= number {
			return nil
		}
		_, err = kv.One(ctx, b.store, kv.OpReplace(key, r.Version, strconv.AppendInt(nil, number, 10)))
		if err == nil {
			return nil
		}
	}
	return fmt.Errorf("%s: %w", key, kv.ErrConflict)
}

// Rebuilds returns the numbers of the last rebuild that has begun and of the last
// that has ended, 0 if there was none.
func (b *Item) Rebuilds(ctx context.Context, s kv.Store) (begun, ended int64, err error) {
	results, err := kv.GetAll(ctx, s, begunKey.Key(b.model), endedKey.Key(b.model))
	if err != nil {
		return 0, 0, err
	}
	numbers := [2]int64{}
	for i, r := range results {
		if r.Err == nil {
			if numbers[i], err = kv.ParseNumber(r.Value); err != nil {
				return 0, 0, fmt.Errorf("%s: rebuilds: %w", b.model, err)
			}
		}
	}
	return numbers[0], numbers[1], nil
}
