package memberlog

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A store may lose a segment, or the head of a list with a retired first segment. That must not
// look like an empty list. The process that finds the loss puts an empty segment in its place, so
// that writers can continue, and records the loss in the head. Readers refuse the list until a
// rebuild that begins afterwards has ended.

// Discard replaces lost and damaged parts of place's list. A rebuild that begins afterwards
// restores it.
func (l *Logs) Discard(ctx context.Context, s kv.Store, place string) error {
	return l.failure(place, l.discard(ctx, s, place))
}

func (l *Logs) discard(ctx context.Context, s kv.Store, place string) error {
	if err := l.remake(ctx, s, place, false); err != nil {
		return err
	}
	for range maxTries {
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

// Remake recreates the head of place's list if it is missing or damaged. If the first segment was
// never replaced, it is the whole list. Otherwise the list starts empty, and its segments count as
// lost.
func (l *Logs) Remake(ctx context.Context, s kv.Store, place string) error {
	return l.failure(place, l.remake(ctx, s, place, true))
}

// remake recreates a damaged head, and with missing, a missing one.
func (l *Logs) remake(ctx context.Context, s kv.Store, place string, missing bool) error {
	ops := []kv.Op{kv.OpGet(l.Key(place)), kv.OpGet(l.key(place, name{}))}
	if err := s.Do(ctx, ops); err != nil {
		return err
	}
	if _, err := parseHead(ops[0].Result.Value, ops[0].Result.Version); err == nil || absent(&ops[0]) && !missing {
		return nil
	}
	next := noHead()
	next.version = ops[0].Result.Version
	if g, err := parseSegment(ops[1].Result.Value); absent(&ops[1]) || err != nil || g.sealed {
		next.lost = lossUndated
		if next.parts[0].name, err = l.addEmpty(ctx, s, place); err != nil {
			return err
		}
	}
	if err := l.putHead(ctx, s, place, next); err != nil && !retryable(err) {
		return err
	}
	l.heads.drop(place)
	return l.dateLoss(ctx, s, place)
}

func (l *Logs) addEmpty(ctx context.Context, s kv.Store, place string) (name, error) {
	n := l.newName()
	_, err := kv.One(ctx, s, kv.OpAdd(l.key(place, n), encodeSegment(nil)))
	return n, err
}

// heal replaces the segment n if the head names it and it is gone. The caller looks again
// afterwards.
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
	p.rolling, p.members = false, 0
	p.name, err = l.addEmpty(ctx, s, place)
	if unclear(err) {
		return nil
	}
	if err != nil {
		return err
	}
	next := h.with(at, 1, []part{p})
	next.lost = lossUndated
	if err := l.putHead(ctx, s, place, next); err != nil && !retryable(err) {
		return err
	}
	l.heads.drop(place)
	return l.dateLoss(ctx, s, place)
}

// dateLoss records in the head which rebuild restores a new loss: the next one to begin.
func (l *Logs) dateLoss(ctx context.Context, s kv.Store, place string) error {
	if l.Rebuilds == nil {
		return nil
	}
	begun, _, err := l.Rebuilds(ctx, s)
	if err != nil {
		return err
	}
	// if this fails, the next reader does it
	_ = l.setLost(ctx, s, place, lossUndated, uint64(begun)+1)
	return nil
}

// whole returns an ErrNeedsRebuild if the list with head h has lost something.
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
	// if this fails, the next reader does it
	_ = l.setLost(ctx, s, place, h.lost, 0)
	return nil
}

var errLost = fmt.Errorf("%w: the store has lost or damaged a part of the list", plug.ErrNeedsRebuild)

// setLost changes lost in the head from was to is.
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

// Accept acknowledges the loss of missing or damaged parts of place's list. It writes again the
// readable members of segments that no head names: the damaged ones, and if the store lists its
// keys, those of a lost head.
func (l *Logs) Accept(ctx context.Context, s kv.Store, place string) error {
	if err := l.Remake(ctx, s, place); err != nil {
		return err
	}
	if err := l.Discard(ctx, s, place); err != nil {
		return err
	}
	h, err := l.readHead(ctx, s, place)
	if err == nil && h.lost != 0 {
		if err = l.adopt(ctx, s, place, h); err == nil {
			err = l.setLost(ctx, s, place, h.lost, 0)
		}
	}
	return l.failure(place, err)
}

func (l *Logs) adopt(ctx context.Context, s kv.Store, place string, h *head) error {
	adopt := func(keys []string) error {
		keys = slices.DeleteFunc(slices.Clone(keys), func(key string) bool {
			return slices.ContainsFunc(h.parts, func(p part) bool { return l.key(place, p.name) == key })
		})
		for some := range slices.Chunk(keys, readAtOnce) {
			if err := l.adoptSome(ctx, s, place, some); err != nil {
				return err
			}
		}
		return nil
	}
	if all := kv.PowersOf(s).Keys; all != nil {
		return all(ctx, l.Key(place)+"#", adopt)
	}
	return adopt([]string{l.key(place, name{})})
}

func (l *Logs) adoptSome(ctx context.Context, s kv.Store, place string, keys []string) error {
	results, err := kv.GetAll(ctx, s, keys...)
	if err != nil {
		return err
	}
	for _, r := range results {
		if r.Err != nil {
			continue
		}
		var entries []Entry
		for _, r := range readable(r.Value) {
			entries = append(entries, r.Entry)
		}
		if err := l.WriteAll(ctx, s, place, entries); err != nil {
			return err
		}
	}
	return nil
}
