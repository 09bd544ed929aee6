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
	// without it has no records, and an index missing from it has to be rebuilt. Once
	// the loss of a server's memory was accepted, it names the edition of the store
	// first, and one that names another edition counts as if it named no index.
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
	store  kv.Store
	losses kv.Losses // nil: the store knows of none
	model  string
	turn   chan struct{} // holds one token while no one claims the item

	mu      sync.Mutex // never held during a trip
	edition Edition    // of the store, in which the following holds
	read    bool       // the item exists, and missing says what it does not name
	claimed bool       // and it names none but this model's indexes
	missing []string   // indexes that do not hold all records
}

// New returns the item of model, of which nothing is known.
func New(s kv.Store, model string) *Item {
	return &Item{store: s, losses: kv.PowersOf(s).Losses, model: model, turn: make(chan struct{}, 1)}
}

// Edition is an edition of the store, as the item names it.
type Edition struct{ number, id uint64 }

// Edition returns the edition of the store, as this process knows it.
func (b *Item) Edition() (e Edition) {
	e.number, e.id = kv.EditionOf(b.losses)
	return e
}

// text is how the item names the edition: "" is the first.
func (e Edition) text() string {
	if e.number <= 1 {
		return ""
	}
	return fmt.Sprintf("@%d.%x", e.number, e.id)
}

// Known returns the indexes that do not hold all records, and whether that is
// known.
func (b *Item) Known() (missing []string, read bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.edition != b.Edition() {
		return nil, false
	}
	return b.missing, b.read
}

func (b *Item) isClaimed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.claimed && b.edition == b.Edition()
}

// Saw remembers that the item, as it was read, exists and does not name missing.
func (b *Item) Saw(l Look, missing []string) { b.learn(l.edition, missing, false) }

// learn remembers what was found in an edition, and forgets what was known in
// another.
func (b *Item) learn(edition Edition, missing []string, claimed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	claimed = claimed || b.claimed && b.edition == edition
	b.edition, b.read, b.claimed, b.missing = edition, true, claimed, missing
}

// ReadAgain reads through s what the item names of mine. If that fails, or the item
// is absent, nothing is known any more.
func (b *Item) ReadAgain(ctx context.Context, s kv.Store, mine []string) error {
	l, err := b.readThrough(ctx, s)
	if err == nil && l.Exists {
		b.Saw(l, Missing(mine, l.Defs))
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.read = false
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
	missing, edition, err := b.claim(ctx, mine())
	if err == nil && len(missing) > 0 {
		missing, err = build(missing)
	}
	if err == nil {
		b.learn(edition, missing, true)
	}
	return err
}

// claim returns those of mine that the item does not name, and in which edition.
func (b *Item) claim(ctx context.Context, mine []string) (missing []string, edition Edition, err error) {
	err = b.write(ctx, func(l Look) ([]string, bool) {
		keep := mine
		if l.Exists {
			keep = slices.DeleteFunc(slices.Clone(l.Defs), func(def string) bool { return !slices.Contains(mine, def) })
		}
		missing, edition = Missing(mine, keep), l.edition
		return keep, !l.Exists || l.version == 0 || len(keep) < l.names
	})
	return missing, edition, err
}

// Add makes the item name def too, which holds all records that there were since an
// edition.
func (b *Item) Add(ctx context.Context, since Edition, def string) error {
	return b.writeIn(ctx, since, func(l Look) ([]string, bool) {
		defs := append(slices.Clone(l.Defs), def)
		slices.Sort(defs)
		return defs, !slices.Contains(l.Defs, def)
	})
}

// Mark makes the item name the indexes defs, which hold all records that there were
// since an edition.
func (b *Item) Mark(ctx context.Context, since Edition, defs []string) error {
	err := b.writeIn(ctx, since, func(Look) ([]string, bool) { return defs, true })
	if err == nil {
		b.learn(since, nil, false)
	}
	return err
}

// Disown makes the item name no index: what it says may have been true only before a
// loss.
func (b *Item) Disown(ctx context.Context) error {
	return b.write(ctx, func(Look) ([]string, bool) { return nil, true })
}

// writeIn is write for what holds in one edition only.
func (b *Item) writeIn(ctx context.Context, edition Edition, edit func(Look) (defs []string, change bool)) error {
	late := false
	err := b.write(ctx, func(l Look) ([]string, bool) {
		if late = l.edition != edition; late {
			return nil, false
		}
		return edit(l)
	})
	if err == nil && late {
		err = fmt.Errorf("%s: %w: what is lost was accepted while it was rebuilt, so rebuild it again", builtKey.Key(b.model), kv.ErrLost)
	}
	return err
}

// write stores what edit makes of the item, if that is a change.
func (b *Item) write(ctx context.Context, edit func(Look) (defs []string, change bool)) error {
	key := builtKey.Key(b.model)
	for range maxTries {
		l, err := b.Read(ctx)
		if err != nil {
			return err
		}
		defs, change := edit(l)
		if change {
			_, err = kv.One(ctx, b.store, kv.OpReplace(key, l.version, l.edition.encode(defs)))
		}
		if err == nil || kv.Failed(err) && !errors.Is(err, kv.ErrUnclear) {
			return err
		}
	}
	return fmt.Errorf("%s: %w", key, kv.ErrConflict)
}

// encode returns an item that names defs, and the edition before them.
func (e Edition) encode(defs []string) []byte {
	if text := e.text(); text != "" {
		defs = append([]string{text}, defs...)
	}
	return wire.AppendTexts(nil, defs)
}

// Look is the item as it was read.
type Look struct {
	Defs   []string // the indexes it names, none if that was in another edition
	Exists bool     // false: nothing was ever written to the model

	edition Edition // when it was read
	version kv.Version
	names   int // how many indexes it names, in whichever edition
}

// Read reads the item. Where it is absent and the loss of a server's memory was
// accepted, there may have been one.
func (b *Item) Read(ctx context.Context) (Look, error) { return b.readThrough(ctx, b.store) }

func (b *Item) readThrough(ctx context.Context, s kv.Store) (l Look, err error) {
	r, err := kv.One(ctx, s, kv.OpGet(builtKey.Key(b.model)))
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return l, err
	}
	l = Look{edition: b.Edition(), version: r.Version}
	text := l.edition.text()
	if l.Exists = err == nil || text != ""; err != nil {
		return l, nil
	}
	if l.Defs, err = wire.ReadTexts(r.Value, "index"); err != nil {
		return l, err
	}
	in := ""
	if len(l.Defs) > 0 && l.Defs[0][0] == '@' {
		in, l.Defs = l.Defs[0], l.Defs[1:]
	}
	if l.names = len(l.Defs); in != text {
		l.Defs = nil
	}
	return l, nil
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
