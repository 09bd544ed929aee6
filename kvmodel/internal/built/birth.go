package built

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Before the first write of a model the built item is added: it names all indexes and says that the
// model begins. Where ids are listed, the list is created next, and then the item says that the
// model has begun. So the list's head never exists without the item.

// view is a model's built item and the head of its ids, read in one trip.
type view struct {
	Look
	listed  bool       // or the model has no list of ids
	unread  bool       // the head of the list is damaged
	version kv.Version // of the built item; 0 if there is none
	of      string     // its edition
	damaged error      // an ErrCorrupt
	torn    bool       // one of two copies is damaged
	begins  bool       // it says that the model begins
	indexes []state    // incomplete if the item is of another edition
	written bool       // an item that follows the built item exists
}

// Look is the state found in the item. Indexes are named with their definitions.
type Look struct {
	Whole    []string
	Building []string  // or interrupted
	Exists   bool      // the model may have been written
	Accepted bool      // a loss was accepted since
	Head     kv.Result // of the list of ids

	// Damaged is an ErrCorrupt. Until the item is rewritten, it names no index.
	Damaged error

	asked   time.Time
	edition Edition // of the store
}

// isPast reports whether a loss was accepted since the item was written, or lost it.
func (v view) isPast() bool { return v.of != v.edition.text() }

func (v view) isNew() bool {
	return !v.isPast() && (v.version == 0 && !v.written || v.begins)
}

func (v view) isWhole() bool {
	return v.version != 0 && v.damaged == nil && !v.isPast() && !v.begins && v.listed && !v.unread
}

func (v view) awaitsBegun() bool { return v.begins && v.listed && !v.unread && !v.isPast() }

// lost returns an ErrLost if v implies a loss that the next write does not repair.
func (v view) lost(model string) error {
	switch {
	case v.isPast(), v.isNew(), v.listed:
		return nil
	case v.version == 0:
		return saysNothing(model)
	}
	return fmt.Errorf("%w: the head of the list of the ids of %s is gone", kv.ErrLost, model)
}

func saysNothing(model string) error {
	return fmt.Errorf("%w: %s has records, but the item that names its indexes is gone", kv.ErrLost, model)
}

// look returns an ErrLost if the built item or the head is lost and cannot be restored. A model may
// begin between the two reads, so a loss counts only if a second read confirms it.
func (b *Item) look(ctx context.Context) (view, error) {
	v, err := b.peek(ctx)
	if err == nil && v.version == 0 && v.isNew() && b.Written != nil {
		v.written, err = b.isWritten(ctx)
		v.Exists = !v.isNew()
	}
	if err == nil && (v.lost(b.Model) != nil || v.version == 0 && v.written) {
		written := v.written
		if v, err = b.peek(ctx); err == nil {
			v.written = v.written || written
			v.Exists = !v.isNew()
			err = v.lost(b.Model)
		}
	}
	return v, err
}

func (b *Item) isWritten(ctx context.Context) (written bool, err error) {
	b.mu.Lock()
	blank := b.Now().Sub(b.blank) < times.Head
	b.mu.Unlock()
	if blank {
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

func (b *Item) peek(ctx context.Context) (v view, err error) {
	v.asked = b.Now()
	keys := []string{builtKey.Key(b.Model)}
	if b.Witness != "" {
		keys = append(keys, b.Witness)
	}
	if b.All != nil {
		keys = append(keys, b.All.HeadKey())
	}
	got, err := kv.GetAll(ctx, b.Store, keys...)
	if err != nil {
		return v, err
	}
	for _, r := range got[1:] {
		v.written = v.written || r.Err == nil
	}
	b.decode(got[0], &v)
	if v.listed = true; b.All != nil {
		v.Head = got[2]
		v.listed, v.unread = b.All.IsThere(v.Head)
		v.listed = v.listed && (!v.begins || got[1].Err == nil)
	}
	if v.of != "" && v.isPast() && b.losses != nil {
		// This process may not know the newest edition yet.
		if err := b.losses.Look(ctx); err != nil {
			return v, err
		}
		b.decode(got[0], &v)
	}
	v.Whole, v.Building = wholeOf(v.indexes), buildingOf(v.indexes)
	v.Exists, v.Accepted, v.Damaged = !v.isNew(), v.isPast(), v.damaged
	return v, nil
}

func (b *Item) decode(got kv.Result, v *view) {
	v.edition = b.Edition()
	if got.Err == nil {
		v.version = got.Version
		if err := v.decode(got.Value); err != nil {
			v.damaged, v.begins, v.of, v.indexes = wire.Corrupt(builtKey.Key(b.Model), err), false, "", nil
			return
		}
		if v.isPast() {
			for i := range v.indexes {
				v.indexes[i].token = leaving
			}
		}
	}
}

func (b *Item) put(ctx context.Context, v view, begins bool, indexes []state) error {
	_, err := kv.One(ctx, b.Store, kv.OpReplace(builtKey.Key(b.Model), v.version, encode(begins, v.edition, indexes)))
	return err
}

func (b *Item) begin(ctx context.Context) (v view, err error) {
	v, err = b.look(ctx)
	for range maxTries {
		if err != nil || v.isWhole() && !v.torn {
			return v, err
		}
		err = b.step(ctx, v)
		if kv.Failed(err) && !errors.Is(err, kv.ErrUnclear) {
			return v, err
		}
		if err == nil && v.awaitsBegun() {
			v.begins = false
			return v, nil
		}
		v, err = b.look(ctx)
	}
	return v, fmt.Errorf("%s: %w", builtKey.Key(b.Model), kv.ErrConflict)
}

func (b *Item) step(ctx context.Context, v view) error {
	switch {
	case v.isPast():
		return b.acceptLoss(ctx, v)
	case v.version == 0 && v.isNew():
		if err := b.put(ctx, v, b.All != nil, allWhole(b.Mine())); err != nil || b.All == nil {
			return err
		}
		return b.All.Begin(ctx)
	case v.begins && !v.listed:
		return b.All.Begin(ctx)
	case v.unread:
		return b.All.Remake(ctx)
	case v.awaitsBegun(), v.torn && v.isWhole():
		return b.put(ctx, v, false, v.indexes)
	default:
		// The built item is lost or damaged.
		return b.put(ctx, v, false, nil)
	}
}

func (b *Item) Read(ctx context.Context) (Look, error) {
	v, err := b.look(ctx)
	return v.Look, err
}

func (b *Item) Begun(ctx context.Context) error {
	b.mu.Lock()
	b.current()
	begun := b.begun || b.claimed != ""
	b.mu.Unlock()
	if begun {
		return nil
	}
	v, err := b.look(ctx)
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

func (b *Item) Accept(ctx context.Context) error {
	return kv.Change(builtKey.Key(b.Model), func() error {
		v, err := b.peek(ctx)
		if err == nil && v.isNew() && b.Written != nil {
			v.written, err = b.Written(ctx)
		}
		if err != nil || v.isNew() {
			return err
		}
		if !v.isWhole() {
			return b.acceptLoss(ctx, v)
		}
		if b.All == nil {
			return nil
		}
		return b.All.Accept(ctx)
	})
}

func (b *Item) acceptLoss(ctx context.Context, v view) error {
	if b.All != nil {
		if err := b.All.Accept(ctx); err != nil {
			return err
		}
	}
	return b.put(ctx, v, false, nil)
}
