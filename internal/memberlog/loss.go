package memberlog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A store that is short of memory may drop a segment, or the head of a list with a retired first
// segment. That must not look like an empty list. The process that finds the loss puts an empty
// segment in place of the lost one, so that writers can continue, and records the loss in the head.
// Readers refuse the list until a rebuild that begins afterwards has ended.

// Discard replaces all lost parts of place's list, and treats damaged ones as lost: the head, and
// segments it names. A reader replaces only a single lost segment, and reports damage. A rebuild
// that begins afterwards restores the list.
func (l *Logs) Discard(ctx context.Context, s kv.Store, place string) error {
	return l.failure(place, l.discard(ctx, s, place))
}

func (l *Logs) discard(ctx context.Context, s kv.Store, place string) error {
	if err := l.discardHead(ctx, s, place); err != nil {
		return err
	}
	for range maxTries { // others may change the head concurrently
		gone, err := l.gone(ctx, s, place)
		if err != nil || len(gone) == 0 {
			return err
		}
		for _, n := range gone {
			if err := l.heal(ctx, s, place, n); err != nil {
				return err
			}
		}
	}
	return kv.ErrConflict
}

// gone returns the lost or damaged segments that the head names.
func (l *Logs) gone(ctx context.Context, s kv.Store, place string) (gone []name, err error) {
	h, err := l.readHead(ctx, s, place)
	if err != nil {
		return nil, err
	}
	for some := range slices.Chunk(h.parts, readAtOnce) {
		ops := make([]kv.Op, len(some))
		for i, p := range some {
			ops[i] = kv.OpGet(l.key(place, p.name))
		}
		if err := s.Do(ctx, ops); err != nil {
			return nil, err
		}
		for i, p := range some {
			if isGone(&ops[i]) && (h.stored || !absent(&ops[i])) {
				gone = append(gone, p.name)
			}
		}
	}
	return gone, nil
}

// discardHead replaces a damaged head by one that names an empty segment.
func (l *Logs) discardHead(ctx context.Context, s kv.Store, place string) error {
	r, err := kv.One(ctx, s, kv.OpGet(l.Key(place)))
	if err != nil {
		return unlessAbsent(err)
	}
	if _, err := parseHead(r.Value, r.Version); err == nil {
		return nil
	}
	next := noHead()
	next.version, next.lost, next.parts[0].name = r.Version, lossUndated, l.newName()
	if _, err := kv.One(ctx, s, kv.OpAdd(l.key(place, next.parts[0].name), encodeSegment(nil))); err != nil {
		return err
	}
	if err := l.putHead(ctx, s, place, next); err != nil && !unsettled(err) {
		return err
	}
	l.heads.drop(place)
	return l.dateLoss(ctx, s, place)
}

// heal replaces the segment n if it is lost: absent, retired or damaged, while the head names it.
// An earlier look proves nothing, since n may have been replaced since, or its name may have been
// known before others could see it. The caller looks again afterwards.
func (l *Logs) heal(ctx context.Context, s kv.Store, place string, n name) error {
	h, err := l.readHead(ctx, s, place)
	if err != nil {
		return err
	}
	at := h.indexOf(n)
	if at < 0 {
		return nil
	}
	ops := []kv.Op{kv.OpGet(l.key(place, n))}
	if err := s.Do(ctx, ops); err != nil {
		return err
	}
	if !isGone(&ops[0]) {
		return nil
	}
	p := h.parts[at]
	p.name, p.rolling, p.members = l.newName(), false, 0
	_, err = kv.One(ctx, s, kv.OpAdd(l.key(place, p.name), encodeSegment(nil)))
	if unclear(err) {
		return nil // the caller looks again
	}
	if err != nil {
		return err
	}
	next := h.with(at, 1, []part{p})
	next.lost = lossUndated
	if err := l.putHead(ctx, s, place, next); err != nil && !unsettled(err) {
		return err
	}
	l.heads.drop(place)
	return l.dateLoss(ctx, s, place)
}

// dateLoss records in the head the rebuild that restores a loss just found: the next one to begin.
func (l *Logs) dateLoss(ctx context.Context, s kv.Store, place string) error {
	if l.Rebuilds == nil {
		return nil
	}
	begun, _, err := l.Rebuilds(ctx, s)
	if err != nil {
		return err
	}
	// If this fails, the next reader does it.
	_ = l.setLost(ctx, s, place, lossUndated, uint64(begun)+1)
	return nil
}

// whole returns nil if the list with head h has lost nothing, and ErrNeedsRebuild otherwise.
func (l *Logs) whole(ctx context.Context, s kv.Store, place string, h *head) error {
	if h.lost == 0 {
		return nil
	}
	if l.Rebuilds == nil {
		return errLost
	}
	if h.lost == lossUndated {
		return cmp.Or(l.dateLoss(ctx, s, place), errLost)
	}
	_, ended, err := l.Rebuilds(ctx, s)
	if err != nil {
		return err
	}
	if uint64(ended) < h.lost {
		return errLost
	}
	// If this fails, the next reader does it.
	_ = l.setLost(ctx, s, place, h.lost, 0)
	return nil
}

var errLost = fmt.Errorf("%w: the store has lost or damaged a part of the list", plug.ErrNeedsRebuild)

// setLost changes lost in the head from was to is, unless it has changed.
func (l *Logs) setLost(ctx context.Context, s kv.Store, place string, was, is uint64) error {
	defer l.heads.drop(place)
	return kv.Change(l.Key(place), func() error {
		h, err := l.readHead(ctx, s, place)
		if err != nil || h.lost != was {
			return err
		}
		next := h.with(0, 0, nil)
		next.lost = is
		return l.putHead(ctx, s, place, next)
	})
}

func unlessAbsent(err error) error {
	if errors.Is(err, kv.ErrNotFound) {
		return nil
	}
	return err
}
