package built

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/internal/enumeration"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A model begins before its first write, in three steps: its head is added, unborn;
// then the built item, which names all indexes; then the head is born. Both have the
// same random text, the birth. So each of them is a witness of the other: where one is
// absent, the store has lost it.

// view is what the head of a model and its built item say, as they were read in one
// trip.
type view struct {
	Look
	head    enumeration.Head
	version kv.Version // of the built item; 0 if there is none
	of      string     // the edition that the built item names
	damaged error      // an ErrCorrupt: nothing else is known of the built item
	birth   string     // in the built item, "" if there is none that can be read
	indexes []state    // none of them holds all records, in an item of another edition
	witness bool       // the model has been written for a while
}

// Look is what was found in the item.
type Look struct {
	Whole  []string // the indexes that hold all records
	Exists bool     // the model may have been written

	// Damaged is an ErrCorrupt if the item cannot be read. Until it is written again, it
	// names no index.
	Damaged error

	asked   time.Time
	edition Edition // of the store
}

// isPast reports whether the built item is of another edition of the store, or was lost
// in one: a loss was accepted since.
func (v view) isPast() bool { return v.of != v.edition.text() }

// isNew reports whether nothing was written to the model yet.
func (v view) isNew() bool {
	return !v.isPast() && (!v.head.Exists() && v.version == 0 || v.head.Exists() && !v.head.Born)
}

// isWhole reports whether the model may be written.
func (v view) isWhole() bool { return v.head.Born && v.agrees() }

// awaitsBirth reports whether the last step is left.
func (v view) awaitsBirth() bool { return v.head.Exists() && !v.head.Born && v.agrees() }

func (v view) agrees() bool {
	return v.version != 0 && v.damaged == nil && v.head.Damaged == nil && !v.isPast() && v.birth == v.head.Birth
}

// lost returns an ErrLost if v cannot be without a loss.
func (v view) lost(model string) error {
	switch {
	case v.isPast():
		return nil
	case !v.head.Exists() && v.version == 0 && v.witness:
		return saysNothing(model)
	case !v.head.Exists() && v.version != 0:
		return fmt.Errorf("%w: the head of the enumeration of %s is gone", kv.ErrLost, model)
	case v.head.Exists() && v.head.Damaged == nil && v.birth != "" && v.birth != v.head.Birth:
		return fmt.Errorf("%w: the head of the enumeration of %s and its built item are of two births", kv.ErrLost, model)
	}
	return nil
}

func saysNothing(model string) error {
	return fmt.Errorf("%w: %s has been written, and what says so is gone", kv.ErrLost, model)
}

// look reads the head and the built item. The error is an ErrLost if one of them was
// lost and that cannot be mended.
//
// The two need not be read at one moment, and a model may begin between them. So what
// looks like a loss is one only if it does so twice.
func (b *Item) look(ctx context.Context, s kv.Store) (view, error) {
	v, err := b.peek(ctx, s)
	if err == nil && v.lost(b.Model) != nil {
		if v, err = b.peek(ctx, s); err == nil {
			err = v.lost(b.Model)
		}
	}
	return v, err
}

// lookAround is look where records may witness that a model which looks new is not.
func (b *Item) lookAround(ctx context.Context) (view, error) {
	v, err := b.look(ctx, b.Store)
	if err != nil || !v.isNew() {
		return v, err
	}
	written, err := b.isWritten(ctx)
	if err != nil || !written {
		return v, err
	}
	// It may have begun since.
	if v, err = b.look(ctx, b.Store); err == nil && v.isNew() && !v.head.Exists() {
		err = saysNothing(b.Model)
	}
	return v, err
}

// isWritten reports whether Written has found records. That there was none is believed for a
// while, so that readers of a model without records do not ask all the time.
func (b *Item) isWritten(ctx context.Context) (written bool, err error) {
	b.mu.Lock()
	blank := b.Now().Sub(b.blank) < times.Head
	b.mu.Unlock()
	if b.Written == nil || blank {
		return false, nil
	}
	asked := b.Now()
	if written, err = b.Written(ctx); err == nil && !written {
		b.mu.Lock()
		b.blank = asked
		b.mu.Unlock()
	}
	return written, err
}

// peek reads the head and the built item.
func (b *Item) peek(ctx context.Context, s kv.Store) (v view, err error) {
	v.asked = b.Now()
	keys := []string{b.All.HeadKey(), builtKey.Key(b.Model), b.Witness}
	if b.Witness == "" {
		keys = keys[:2]
	}
	got, err := kv.GetAll(ctx, s, keys...)
	if err != nil {
		return v, err
	}
	if v.head, err = b.All.ReadHead(got[0]); err != nil {
		return v, fmt.Errorf("%s: %w", b.All.HeadKey(), err)
	}
	v.witness = len(got) > 2 && got[2].Err == nil
	b.decode(got[1], &v)
	if v.of != "" && v.isPast() && b.losses != nil {
		// It may be this process that does not know the newest edition yet.
		if err := b.losses.Look(ctx); err != nil {
			return v, err
		}
		b.decode(got[1], &v)
	}
	v.Whole, v.Exists, v.Damaged = wholeOf(v.indexes), !v.isNew(), v.damaged
	return v, nil
}

// decode puts into v what a get of the built item has answered.
func (b *Item) decode(got kv.Result, v *view) {
	v.edition = b.Edition()
	if got.Err == nil {
		v.version = got.Version
		if err := v.decode(got.Value); err != nil {
			v.damaged, v.birth, v.of, v.indexes = wire.Corrupt(builtKey.Key(b.Model), err), "", "", nil
			return
		}
		if v.isPast() {
			for i := range v.indexes {
				v.indexes[i].token = leaving
			}
		}
	}
}

// put writes the built item in the place of the one that v shows.
func (b *Item) put(ctx context.Context, s kv.Store, v view, birth string, indexes []state) error {
	_, err := kv.One(ctx, s, kv.OpReplace(builtKey.Key(b.Model), v.version, encode(birth, v.edition, indexes)))
	return err
}

// begin returns the view of a model that may be written. If there was none yet, it has
// begun.
func (b *Item) begin(ctx context.Context) (v view, err error) {
	v, err = b.lookAround(ctx)
	if err != nil || v.isWhole() {
		return v, err
	}
	if b.Atomic == nil {
		return b.goOn(ctx, b.Store, v)
	}
	err = b.Atomic(ctx, func(s kv.Store) error {
		if v, err = b.look(ctx, s); err == nil {
			v, err = b.goOn(ctx, s, v)
		}
		return err
	})
	if err != nil {
		return v, err
	}
	// Its versions may have been other ones in the transaction.
	return b.look(ctx, b.Store)
}

// goOn takes the steps that are left from v on.
func (b *Item) goOn(ctx context.Context, s kv.Store, v view) (view, error) {
	for range maxTries {
		if v.isWhole() {
			return v, nil
		}
		err := b.step(ctx, s, v)
		if kv.Failed(err) && !errors.Is(err, kv.ErrUnclear) {
			return v, err
		}
		if err == nil && v.awaitsBirth() {
			v.head.Born = true
			continue
		}
		if v, err = b.look(ctx, s); err != nil {
			return v, err
		}
	}
	return v, fmt.Errorf("%s: %w", b.All.HeadKey(), kv.ErrConflict)
}

// step takes the next step from v.
func (b *Item) step(ctx context.Context, s kv.Store, v view) error {
	switch {
	case v.isPast():
		return b.acceptBirth(ctx, s, v)
	case v.head.Damaged != nil:
		return b.All.Remake(ctx, s, v.head, cmp.Or(v.birth, newBirth()))
	case v.awaitsBirth():
		return b.All.Bear(ctx, s, v.head)
	case !v.head.Exists():
		birth := newBirth()
		if err := b.All.Begin(ctx, s, birth); err != nil {
			return err
		}
		return b.put(ctx, s, view{Look: v.Look}, birth, allWhole(b.Mine()))
	case v.version == 0 && !v.head.Born:
		return b.put(ctx, s, v, v.head.Birth, allWhole(b.Mine()))
	default:
		// The built item was lost or is damaged.
		return b.put(ctx, s, v, v.head.Birth, nil)
	}
}

// Mend makes the head again if it is damaged.
func (b *Item) Mend(ctx context.Context) error {
	v, err := b.look(ctx, b.Store)
	if err == nil && v.head.Damaged != nil {
		_, err = b.goOn(ctx, b.Store, v)
	}
	return err
}

func newBirth() string { return kv.RandomName()[:16] }

// Read returns what the item says.
func (b *Item) Read(ctx context.Context) (Look, error) {
	v, err := b.lookAround(ctx)
	return v.Look, err
}

// Head returns the head of the enumeration as it was read now, and whether there may
// be ids in it. Where the head is damaged, or was lost and that was accepted, it is one over
// the chunks that were found.
func (b *Item) Head(ctx context.Context) (h enumeration.Head, exists bool, err error) {
	v, err := b.lookAround(ctx)
	if err == nil && (v.head.Damaged != nil || !v.head.Exists() && v.isPast()) {
		v.head, err = b.All.Found(ctx, b.Store)
	}
	return v.head, v.Exists, err
}

// Begun returns when the enumeration has a head, in a model that has been written.
func (b *Item) Begun(ctx context.Context) error {
	b.mu.Lock()
	b.current()
	begun := b.begun || b.claimed != ""
	b.mu.Unlock()
	if begun {
		return nil
	}
	v, err := b.look(ctx, b.Store)
	if err == nil && v.isNew() {
		err = saysNothing(b.Model)
	}
	if err == nil && !v.isWhole() {
		v, err = b.begin(ctx)
	}
	if err == nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.current()
		b.begun = v.edition == b.edition
	}
	return err
}

// Accept takes what the model has lost for lost. If that was the head or the built
// item, no index counts as holding all records any more.
func (b *Item) Accept(ctx context.Context) error {
	return kv.Change(b.All.HeadKey(), func() error {
		v, err := b.peek(ctx, b.Store)
		if err == nil && v.isNew() && !v.witness {
			v.witness, err = b.isWritten(ctx)
		}
		if err != nil || v.isNew() && !v.witness {
			return err
		}
		if !v.isWhole() {
			return b.acceptBirth(ctx, b.Store, v)
		}
		if v, err = b.begin(ctx); err == nil {
			_, err = b.All.Accept(ctx, b.Store, v.head.Birth)
		}
		return err
	})
}

// acceptBirth makes the head and the built item of v agree, which names no index.
func (b *Item) acceptBirth(ctx context.Context, s kv.Store, v view) error {
	birth := v.head.Birth
	if birth == "" {
		birth = newBirth()
	}
	birth, err := b.All.Accept(ctx, s, birth)
	if err != nil {
		return err
	}
	return b.put(ctx, s, v, birth, nil)
}
