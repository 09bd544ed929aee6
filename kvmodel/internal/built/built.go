// Package built tracks which indexes of a model are complete, that is, hold all records.
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

	"github.com/ringtree/ringtree/internal/frame"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/codec"
	"github.com/ringtree/ringtree/kvmodel/internal/enumeration"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

var (
	// builtKey names the complete indexes. It is added, with all indexes, before the first write,
	// so an index missing from it must be rebuilt. After an accepted loss it also names the
	// edition; an item of another edition names no index.
	builtKey = kv.NewClass("built", 1) // model

	// A rebuild that begins after a loss has restored the lost part when it ends. So rebuilds are
	// numbered.
	begunKey = kv.NewClass("rebuild", 1) // model; the last to begin
	endedKey = kv.NewClass("rebuilt", 1) // model; the last to end
)

const maxTries = 8

type Config struct {
	Store kv.Store
	Now   func() time.Time
	Alone bool // no other process has the store
	Model string
	All   *enumeration.Enumeration // nil: ids are not listed

	// Witness is the key of an item that is never removed once the model has been written; "":
	// none.
	Witness string

	// Written, unless nil, finds records, which are the witness.
	Written func(context.Context) (bool, error)

	// Mine returns the indexes of the model, with their definitions, sorted.
	Mine func() []string
}

type Item struct {
	Config
	losses kv.Losses     // nil: not supported
	turn   chan struct{} // holds one token while nobody claims the item

	mu      sync.Mutex
	edition Edition   // for the following fields
	read    time.Time // when the item lacked missing
	missing []string
	due     time.Time // last read in the background
	begun   bool
	blank   time.Time // when the model had no records
	claimed string    // the journal under which the item names only this model's indexes
	looked  time.Time // when that was last confirmed
	ripe    time.Time // when no reader uses the removed indexes
}

// Alone stands for the journal of a process that holds its store alone, and needs none.
const Alone = "alone"

func New(c Config) *Item {
	return &Item{Config: c, losses: kv.PowersOf(c.Store).Losses, turn: make(chan struct{}, 1)}
}

// current discards knowledge of other editions. The caller holds mu.
func (b *Item) current() {
	if now := b.Edition(); b.edition != now {
		b.edition, b.read, b.missing, b.due, b.begun, b.claimed = now, time.Time{}, nil, time.Time{}, false, ""
	}
}

// Known returns the incomplete indexes, whether they were ever read, and whether that can be used.
func (b *Item) Known() (missing []string, read, fresh bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.current()
	read = !b.read.IsZero()
	return b.missing, read, read && (b.Alone || b.Now().Sub(b.read) < times.Head)
}

// IsDue reports whether to read the item again in the background, so that no reader waits for it.
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

func (b *Item) Saw(l Look, missing []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.current()
	if l.edition == b.edition && !l.asked.Before(b.read) {
		b.read, b.missing = l.asked, missing
	}
}

func (b *Item) Looked(journal string) (when time.Time, claimed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.current()
	return b.looked, b.claimed != "" && b.claimed == journal
}

// Claim prepares the item for a process that writes under that journal: the model has begun, and
// the item names only its indexes. If it removes others, it waits until no reader uses them. It
// calls build with the incomplete indexes, if any.
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

func (b *Item) claims(journal string, l Look) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if l.edition == b.edition {
		b.claimed, b.looked = journal, l.asked
	}
}

// claim first marks a foreign index as leaving, so that every process without it waits until no
// reader uses it.
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

// ripen waits until no reader uses an index seen to be leaving. If ctx ends first, the next call
// waits for the rest.
func (b *Item) ripen(ctx context.Context) error {
	if b.Alone {
		return nil // all readers are in this process
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

// Check looks, along with a get of own, whether the item still names only this model's indexes; if
// not, the next Claim removes the others.
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

func (b *Item) lacked(indexes []state) (names []string) {
	for _, s := range indexes {
		if name, _, _ := strings.Cut(s.def, "="); !slices.Contains(b.Mine(), s.def) && s.token != leaving {
			names = append(names, name)
		}
	}
	return names
}

func (b *Item) Lacked(ctx context.Context) ([]string, error) {
	v, err := b.look(ctx)
	return b.lacked(v.indexes), err
}

// Building has the token of each index in the item, "" if it is complete.
type Building map[string]string

var ErrStopped = errors.New("a process without the index has begun to write, or a loss was accepted")

// Build marks the incomplete indexes as being built, so that a process without them removes them
// before it writes. A build in progress keeps its tokens.
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

// Mark marks defs as complete. ErrStopped: the item no longer names one as when the build began.
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

// Distrust marks all indexes as leaving and returns those that were not.
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

func (b *Item) write(ctx context.Context, edit func(v view) (indexes []state, change bool)) error {
	return kv.Change(builtKey.Key(b.Model), func() error {
		v, err := b.begin(ctx)
		if err != nil {
			return err
		}
		indexes, change := edit(v)
		if change {
			err = b.put(ctx, v, false, indexes)
		}
		return err
	})
}

// Begin returns the number of a rebuild: at least the Unix time, so that numbers rise even if the
// last one is lost.
func (b *Item) Begin(ctx context.Context) (n int64, err error) {
	key := begunKey.Key(b.Model)
	err = kv.Change(key, func() error {
		if n, err = kv.Next(ctx, b.Store, key, b.Now().Unix(), 1); !errors.Is(err, kv.ErrNotNumber) {
			return err
		}
		// Damaged: start over as after a loss.
		r, err := kv.One(ctx, b.Store, kv.OpGet(key))
		if _, bad := kv.ParseNumber(r.Value); err == nil && bad != nil {
			_, err = kv.One(ctx, b.Store, kv.OpDrop(key, r.Version))
		}
		return cmp.Or(err, kv.ErrConflict)
	})
	return n, err
}

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

// Rebuilds returns the last numbers; 0: none.
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

// Edition is an edition of the store. Accepting the loss of a server's memory ends one: knowledge
// from it is void in the next.
type Edition struct{ number, id uint64 }

func (b *Item) Edition() (e Edition) {
	e.number, e.id = kv.EditionOf(b.losses)
	return e
}

func (e Edition) text() string {
	if e.number <= 1 {
		return ""
	}
	return fmt.Sprintf("%s%d.%x", saysEdition, e.number, e.id)
}

type state struct {
	def   string
	token string // of its build; "" if it is complete
}

// leaving is the token of an index that is not complete but may still be in use by readers.
const leaving = "leaving"

const (
	saysBegins   = "#begins"
	saysBegun    = "#begun"
	saysEdition  = "@"
	saysWhole    = " whole"
	saysBuilding = " building "
)

func (s state) encode() string {
	if s.token != "" {
		return s.def + saysBuilding + s.token
	}
	return s.def + saysWhole
}

func decodeState(text string) (s state, ok bool) {
	if def, ok := strings.CutSuffix(text, saysWhole); ok {
		return state{def: def}, true
	}
	i := strings.LastIndex(text, saysBuilding)
	if i < 0 {
		return s, false
	}
	s = state{def: text[:i], token: text[i+len(saysBuilding):]}
	return s, s.token != ""
}

func encode(begins bool, in Edition, indexes []state) []byte {
	indexes = slices.Clone(indexes)
	slices.SortFunc(indexes, func(a, b state) int { return strings.Compare(a.def, b.def) })
	texts := []string{saysBegun}
	if begins {
		texts[0] = saysBegins
	}
	if text := in.text(); text != "" {
		texts = append(texts, text)
	}
	for _, s := range indexes {
		texts = append(texts, s.encode())
	}
	return frame.Twice(wire.AppendTexts(nil, texts))
}

func (v *view) decode(data []byte) error {
	v.begins, v.of, v.indexes = false, "", nil
	data, torn := frame.Either(data)
	if data == nil {
		return torn
	}
	v.torn = torn != nil
	texts, err := wire.ReadTexts(data, "index")
	if err != nil {
		return err
	}
	r := wire.Reader{Rest: data}
	if len(texts) == 0 {
		r.Fail("state of the model")
	}
	for i, text := range texts {
		switch {
		case i == 0 && (text == saysBegins || text == saysBegun):
			v.begins = text == saysBegins
		case i == 0:
			r.Fail("state of the model")
		case i == 1 && strings.HasPrefix(text, saysEdition):
			v.of = text
		default:
			s, ok := decodeState(text)
			if !ok {
				r.Fail("state of an index")
			}
			v.indexes = append(v.indexes, s)
		}
	}
	return r.Err
}

func allWhole(defs []string) []state {
	var indexes []state
	for _, def := range defs {
		indexes = append(indexes, state{def: def})
	}
	return indexes
}

func wholeOf(indexes []state) (defs []string) {
	for _, s := range indexes {
		if s.token == "" {
			defs = append(defs, s.def)
		}
	}
	return defs
}

func buildingOf(indexes []state) (defs []string) {
	for _, s := range indexes {
		if s.token != "" && s.token != leaving {
			defs = append(defs, s.def)
		}
	}
	return defs
}

func at(indexes []state, def string) int {
	return slices.IndexFunc(indexes, func(s state) bool { return s.def == def })
}
