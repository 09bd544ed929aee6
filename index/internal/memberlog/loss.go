package memberlog

import (
	"cmp"
	"context"
	"fmt"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A store that is short of memory may drop a segment, or a head whose first
// segment is marked as retired. That must not look like an empty list. Whoever
// meets it puts an empty segment in the place of the lost one, so that writers
// can go on, and notes in the head that something is missing: readers refuse the
// list until a rebuild has begun after that and ended.

// heal makes up for the loss of the segment n of a list that there is, if it is
// lost: if it is absent, or retired, while the head names it. That an earlier look
// has found it so proves nothing: n may have been replaced since, or may have been
// known before others could see it. Whoever calls heal looks again afterwards.
func (l *Logs) heal(ctx context.Context, s kv.Store, place string, n name) error {
	h, err := l.readHead(ctx, s, place)
	if err != nil {
		return err
	}
	at := h.place(n)
	if at < 0 {
		return nil
	}
	ops := []kv.Op{kv.OpGet(l.key(place, n))}
	if err := s.Do(ctx, ops); err != nil {
		return err
	}
	if lost := absent(&ops[0]) || isRetired(ops[0].Result.Value); !lost {
		return nil
	}
	p := h.parts[at]
	p.name, p.rolling, p.members = l.newName(), false, 0
	_, err = kv.One(ctx, s, kv.OpAdd(l.key(place, p.name), encodeSegment(nil)))
	if unclear(err) {
		return nil // Who asked looks again.
	}
	if err != nil {
		return err
	}
	next := h.with(at, 1, []part{p})
	next.lost = lostLately
	if err := l.putHead(ctx, s, place, next); err != nil && !gone(err) && !unclear(err) {
		return err
	}
	l.heads.drop(place)
	return l.date(ctx, s, place)
}

// date finds out which rebuild it takes to make up for what was just lost. Only
// one that begins from now on will do.
func (l *Logs) date(ctx context.Context, s kv.Store, place string) error {
	if l.Rebuilds == nil {
		return nil
	}
	begun, _, err := l.Rebuilds(ctx, s)
	if err != nil {
		return err
	}
	// If it fails, the next reader does it.
	_ = l.setLost(ctx, s, place, lostLately, uint64(begun)+1)
	return nil
}

// whole returns nil if the list with head h has all that was ever put in, and
// ErrNeedsRebuild if not.
func (l *Logs) whole(ctx context.Context, s kv.Store, place string, h *head) error {
	if h.lost == 0 {
		return nil
	}
	if l.Rebuilds == nil {
		return errLost
	}
	if h.lost == lostLately {
		return cmp.Or(l.date(ctx, s, place), errLost)
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

var errLost = fmt.Errorf("%w: the store has lost a part of the list", kvmodel.ErrNeedsRebuild)

// setLost changes what the head says of a loss from was to is.
func (l *Logs) setLost(ctx context.Context, s kv.Store, place string, was, is uint64) error {
	h, err := l.readHead(ctx, s, place)
	if err != nil || h.lost != was {
		return err
	}
	next := h.with(0, 0, nil)
	next.lost = is
	err = l.putHead(ctx, s, place, next)
	l.heads.drop(place)
	return err
}

// Accept takes what is left of a list for the whole of it.
func (l *Logs) Accept(ctx context.Context, s kv.Store, place string) error {
	h, err := l.readHead(ctx, s, place)
	if err == nil && h.lost != 0 {
		err = l.setLost(ctx, s, place, h.lost, 0)
	}
	return l.failure(place, err)
}
