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

// A store that is short of memory may drop a segment, or the head of a list whose
// first segment is marked as retired. That must not look like an empty list. The
// process that finds the loss puts an empty segment in place of the lost one, so
// that writers can go on, and notes in the head that something is missing. Readers
// refuse the list until a rebuild that begins after that has ended.

// Discard makes up for all that is lost of place's list, and makes what is damaged count as
// lost: the head, and segments that it names. A reader makes up for one lost segment and no
// more, and says what is damaged. A rebuild that begins after that mends the list.
func (l *Logs) Discard(ctx context.Context, s kv.Store, place string) error {
	return l.failure(place, l.discard(ctx, s, place))
}

func (l *Logs) discard(ctx context.Context, s kv.Store, place string) error {
	if err := l.discardHead(ctx, s, place); err != nil {
		return err
	}
	for range maxTries { // Others may change the head at the same time.
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

// gone returns the segments that the head names and that are lost or damaged.
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

// discardHead puts a head that names one empty segment in place of a damaged one.
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

// heal makes up for the loss of the segment n, if it is lost: absent, retired or damaged,
// while the head names it. An earlier look proves nothing, since n may have been
// replaced since then, or its name may have been known before others could see it.
// The caller looks again afterward.
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
		return nil // The caller looks again.
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

// dateLoss notes in the head which rebuild makes up for a loss that was just
// found: the next one to begin.
func (l *Logs) dateLoss(ctx context.Context, s kv.Store, place string) error {
	if l.Rebuilds == nil {
		return nil
	}
	begun, _, err := l.Rebuilds(ctx, s)
	if err != nil {
		return err
	}
	// If it fails, the next reader does it.
	_ = l.setLost(ctx, s, place, lossUndated, uint64(begun)+1)
	return nil
}

// whole returns nil if the list with head h has lost nothing, and ErrNeedsRebuild
// if it has.
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
	// If it fails, the next reader does it.
	_ = l.setLost(ctx, s, place, h.lost, 0)
	return nil
}

var errLost = fmt.Errorf("%w: the store has lost or damaged a part of the list", plug.ErrNeedsRebuild)

// setLost changes lost in the head from was to is, unless it is something else by now.
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
