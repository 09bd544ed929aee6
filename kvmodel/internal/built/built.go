// Package built knows which indexes of a model hold all of its records.
package built

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/codec"
	"github.com/ringtree/ringtree/kvmodel/internal/enumeration"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

var (
	// builtKey names the indexes of a model that hold all of its records. It is
	// added before the model's first write with all indexes there are. So an index
	// missing from it has to be rebuilt. Once the loss of a server's memory was accepted,
	// it names the edition of the store, too, and one that names another edition counts
	// as if it named no index.
	builtKey = kv.NewClass("built", 1) // model

	// Rebuilds are numbered. One that begins after something was lost has it in
	// place again when it ends.
	begunKey = kv.NewClass("rebuild", 1) // model; the last to begin
	endedKey = kv.NewClass("rebuilt", 1) // model; the last to end
)

// maxTries is how many steps of a beginning are taken that others can disturb.
const maxTries = 8

// Config is what the built item of a model needs of it.
type Config struct {
	Store kv.Store
	Now   func() time.Time
	Alone bool // no other process has the store
	Model string
	All   *enumeration.Enumeration // nil: the ids are not listed

	// Witness is the key of something that is never removed once the model has been
	// written; "": there is none.
	Witness string

	// Written reports whether there are records, where they are the witness; nil: Witness is.
	Written func(context.Context) (bool, error)

	// Mine returns the indexes of the model, each with its definition, sorted.
	Mine func() []string
}

// Item is the built item of a model and what this process knows of it. An index
// is named with its definition.
type Item struct {
	Config
	losses kv.Losses     // nil: the store knows of none
	turn   chan struct{} // holds one token while no one claims the item

	mu      sync.Mutex // never held during a trip
	edition Edition    // of the store, in which the following holds
	read    time.Time  // when the item was asked for, which exists; missing is what it does not name
	missing []string   // indexes that do not hold all records
	due     time.Time  // when it was last read in the background
	begun   bool       // the model has begun
	blank   time.Time  // when it had no records
	claimed string     // the journal under which the item names none but this model's indexes
	looked  time.Time  // when that was last seen
	ripe    time.Time  // when no reader uses an index any more that was taken out
}

// Alone is the journal of a process that holds its store alone, and needs none.
const Alone = "alone"

// New returns the item of a model, of which nothing is known.
func New(c Config) *Item {
	return &Item{Config: c, losses: kv.PowersOf(c.Store).Losses, turn: make(chan struct{}, 1)}
}

// current forgets what was known in another edition of the store. The caller holds the
// lock.
func (b *Item) current() {
	if now := b.Edition(); b.edition != now {
		b.edition, b.read, b.missing, b.due, b.begun, b.claimed = now, time.Time{}, nil, time.Time{}, false, ""
	}
}

// Known returns the indexes that do not hold all records, whether that was ever known,
// and whether it may still be used.
func (b *Item) Known() (missing []string, read, fresh bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.current()
	read = !b.read.IsZero()
	return b.missing, read, read && (b.Alone || b.Now().Sub(b.read) < times.Head)
}

// IsDue reports whether what is known should be read again in the background, so that
// no reader has to wait for it.
func (b *Item) IsDue() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.current()
	now := b.Now()
	if b.Alone || now.Sub(b.read) < times.Head/2 || now.Sub(b.due) < times.Head/2 {
		return false
	}
	b.due = now
	return true
}

// Saw remembers that the item, as l shows it, does not name missing.
func (b *Item) Saw(l Look, missing []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.current()
	if l.edition == b.edition && !l.asked.Before(b.read) {
		b.read, b.missing = l.asked, missing
	}
}

// Looked returns when the item was last seen to name no index but this model's, and
// whether that was since the process has had the journal of that name.
func (b *Item) Looked(journal string) (when time.Time, claimed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.current()
	return b.looked, b.claimed != "" && b.claimed == journal
}

// Claim makes the item fit for a process that writes the model and has that journal: the
// model has begun, and the item names no index that the process does not keep in step.
// If it has, Claim returns when no reader uses that index any more. build is called
// with the indexes that do not hold all records, if there are any. Once that has
// succeeded, Claim does nothing more for this journal.
func (b *Item) Claim(ctx context.Context, journal string, build func(missing []string)) error {
	if _, claimed := b.Looked(journal); claimed {
		return nil
	}
	select {
	case b.turn <- struct{}{}:
	case <-ctx.Done():
		return kv.Unavailable(kv.Ended(ctx))
	}
	defer func() { <-b.turn }()
	if _, claimed := b.Looked(journal); claimed {
		return nil
	}
	missing, l, err := b.claim(ctx)
	if err != nil {
		return err
	}
	b.Saw(l, missing)
	b.claims(journal, l)
	if len(missing) > 0 {
		build(missing)
	}
	return nil
}

// claims notes that the item, as l shows it, is fit for the process with that journal.
func (b *Item) claims(journal string, l Look) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if l.edition == b.edition {
		b.claimed, b.looked = journal, l.asked
	}
}

// claim takes the indexes other than this model's out of the item, and returns those of
// it that do not hold all records. An index is first said to leave, so that every
// process which lacks it waits until no reader uses it any more.
func (b *Item) claim(ctx context.Context) (missing []string, l Look, err error) {
	var foreign []state
	err = b.write(ctx, func(v view) (indexes []state, change bool) {
		l = v.Look
		indexes, foreign = slices.Clone(v.indexes), nil
		for i, s := range indexes {
			if !slices.Contains(b.Mine(), s.def) {
				foreign = append(foreign, s)
				indexes[i].token, change = leaving, change || s.token != leaving
			}
		}
		missing = plug.Without(b.Mine(), wholeOf(indexes))
		return indexes, change
	})
	if err != nil || len(foreign) == 0 {
		return missing, l, err
	}
	if slices.ContainsFunc(foreign, func(s state) bool { return s.token != leaving }) {
		b.ripe = time.Time{}
	}
	if err := b.ripen(ctx); err != nil {
		return nil, l, err
	}
	return missing, l, b.write(ctx, func(v view) (indexes []state, change bool) {
		indexes = slices.DeleteFunc(slices.Clone(v.indexes), func(s state) bool { return s.token == leaving })
		return indexes, len(indexes) < len(v.indexes)
	})
}

// ripen waits until no reader uses an index that was seen to leave. What is left of the
// wait when ctx ends is for the next call.
func (b *Item) ripen(ctx context.Context) error {
	if b.Alone {
		return nil // All readers are in this process.
	}
	if b.ripe.IsZero() {
		b.ripe = b.Now().Add(times.Leaves)
	}
	if !kv.Sleep(ctx, b.ripe.Sub(b.Now())) {
		return kv.TooLate(ctx)
	}
	b.ripe = time.Time{}
	return nil
}

// Check looks whether the item still names no index but this model's, in a trip with
// others. If it does not, the next Claim takes it out. own is the key of something else
// to be read, whose answer it returns.
func (b *Item) Check(ctx context.Context, s kv.Store, own string) (kv.Result, error) {
	asked := b.Now()
	got, err := kv.GetAll(ctx, s, own, builtKey.Key(b.Model))
	if err != nil {
		return kv.Result{}, err
	}
	v := view{Look: Look{asked: asked}}
	b.decode(got[1], &v)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.current()
	b.looked = asked
	if v.version == 0 || v.damaged != nil || v.begins || v.isPast() || len(b.lacked(v.indexes)) > 0 {
		b.claimed = ""
	}
	return got[0], nil
}

// lacked returns the names of those of indexes that are not of this model.
func (b *Item) lacked(indexes []state) (names []string) {
	for _, s := range indexes {
		if name, _, _ := strings.Cut(s.def, "="); !slices.Contains(b.Mine(), s.def) && s.token != leaving {
			names = append(names, name)
		}
	}
	return names
}

// Lacked returns the names of the indexes that the item names and that are not of this
// model.
func (b *Item) Lacked(ctx context.Context) ([]string, error) {
	v, err := b.look(ctx, b.Store)
	return b.lacked(v.indexes), err
}

// Building is a build of indexes, by the token under which the item names each; "" if
// it holds all records already.
type Building map[string]string

// ErrStopped says that a build has come to nothing, since a process that does not know
// the index has begun to write, or a loss was accepted.
var ErrStopped = errors.New("a process without the index has begun to write, or a loss was accepted")

// Build lets the item say that the indexes which do not hold all records are being
// built. From then on a process that does not know them takes them out before it
// writes. A build that is under way has its token already.
func (b *Item) Build(ctx context.Context) (Building, error) {
	building := Building{}
	err := b.write(ctx, func(v view) (indexes []state, change bool) {
		indexes = slices.Clone(v.indexes)
		for _, def := range b.Mine() {
			if at(indexes, def) < 0 {
				indexes = append(indexes, state{def: def, token: leaving})
			}
			if i := at(indexes, def); indexes[i].token == leaving {
				indexes[i].token, change = kv.RandomName()[:16], true
			}
			building[def] = indexes[at(indexes, def)].token
		}
		return indexes, change
	})
	return building, err
}

// Mark makes the item say that defs hold all records, or returns ErrStopped if it does
// not name one of them as it did when the build began. No token outlives an edition.
func (b *Item) Mark(ctx context.Context, building Building, defs ...string) error {
	stopped := false
	var seen view
	err := b.write(ctx, func(v view) (indexes []state, change bool) {
		seen, indexes, stopped = v, slices.Clone(v.indexes), false
		for _, def := range defs {
			i := at(indexes, def)
			switch {
			case i < 0, indexes[i].token != "" && indexes[i].token != building[def]:
				stopped = true
			case indexes[i].token != "":
				indexes[i].token, change = "", true
			}
		}
		seen.indexes = indexes
		return indexes, change && !stopped
	})
	if err == nil && stopped {
		return fmt.Errorf("%s: %w", b.Model, ErrStopped)
	}
	if err == nil {
		b.Saw(seen.Look, plug.Without(b.Mine(), wholeOf(seen.indexes)))
	}
	return err
}

// Distrust makes all indexes leave, and returns them.
func (b *Item) Distrust(ctx context.Context) (doubted []string, err error) {
	if l, err := b.Read(ctx); err != nil || !l.Exists {
		return nil, err
	}
	var seen view
	err = b.write(ctx, func(v view) (indexes []state, change bool) {
		seen, doubted = v, nil
		for _, s := range v.indexes {
			if s.token != leaving {
				doubted = append(doubted, s.def)
				s.token = leaving
			}
			indexes = append(indexes, s)
		}
		seen.indexes = indexes
		return indexes, len(doubted) > 0
	})
	if err == nil {
		b.Saw(seen.Look, plug.Without(b.Mine(), wholeOf(seen.indexes)))
	}
	return doubted, err
}

// write stores what edit makes of the indexes that the item names, if that is a
// change.
func (b *Item) write(ctx context.Context, edit func(v view) (indexes []state, change bool)) error {
	return kv.Change(builtKey.Key(b.Model), func() error {
		v, err := b.begin(ctx)
		if err != nil {
			return err
		}
		indexes, change := edit(v)
		if change {
			err = b.put(ctx, b.Store, v, false, indexes)
		}
		return err
	})
}

// Begin returns the number of a rebuild that begins now. The first is that of the
// second: where the last number is lost, the next one is above it all the same.
func (b *Item) Begin(ctx context.Context) (n int64, err error) {
	key := begunKey.Key(b.Model)
	err = kv.Change(key, func() error {
		if n, err = kv.Next(ctx, b.Store, key, b.Now().Unix(), 1); !errors.Is(err, kv.ErrNotNumber) {
			return err
		}
		// It is damaged: this begins where it begins after a loss.
		r, err := kv.One(ctx, b.Store, kv.OpGet(key))
		if _, bad := kv.ParseNumber(r.Value); err == nil && bad != nil {
			_, err = kv.One(ctx, b.Store, kv.OpDrop(key, r.Version))
		}
		return cmp.Or(err, kv.ErrConflict)
	})
	return n, err
}

// End notes that the rebuild of that number has ended.
func (b *Item) End(ctx context.Context, number int64) error {
	key := endedKey.Key(b.Model)
	return kv.Change(key, func() error {
		r, err := kv.One(ctx, b.Store, kv.OpGet(key))
		if kv.Failed(err) {
			return err
		}
		if last, bad := kv.ParseNumber(r.Value); err == nil && bad == nil && last >= number {
			return nil
		}
		_, err = kv.One(ctx, b.Store, kv.OpReplace(key, r.Version, strconv.AppendInt(nil, number, 10)))
		return err
	})
}

// Rebuilds returns the numbers of the last rebuild that has begun and of the last
// that has ended, 0 if there was none. If the first is damaged, nothing can be said to have
// been lost before a rebuild: that is an ErrCorrupt. If the last one is, none has ended.
func (b *Item) Rebuilds(ctx context.Context, s kv.Store) (begun, ended int64, err error) {
	results, err := kv.GetAll(ctx, s, begunKey.Key(b.Model), endedKey.Key(b.Model))
	if err != nil {
		return 0, 0, err
	}
	numbers := [2]int64{}
	for i, r := range results {
		if r.Err != nil {
			continue
		}
		n, bad := kv.ParseNumber(r.Value)
		if bad != nil && i == 0 {
			return 0, 0, wire.Corrupt(begunKey.Key(b.Model), fmt.Errorf("%w: %w", codec.ErrCorrupt, bad))
		}
		numbers[i] = n
	}
	return numbers[0], numbers[1], nil
}
