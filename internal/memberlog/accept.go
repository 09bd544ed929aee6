package memberlog

import (
	"context"
	"errors"
	"slices"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Begin creates place's list, with a head that names its first segment. So a missing key of the
// list is always noticed.
func (l *Logs) Begin(ctx context.Context, s kv.Store, place string) error {
	ops := []kv.Op{kv.OpAdd(l.key(place, name{}), encodeSegment(nil)), kv.OpAdd(l.Key(place), noHead().encode())}
	_ = s.Do(ctx, ops) // each op has its own result
	for i := range ops {
		if err := ops[i].Err(); err != nil && !errors.Is(err, kv.ErrExists) {
			return l.failure(place, err)
		}
	}
	l.heads.drop(place)
	return nil
}

// First returns the key of the first segment of place's list, which is never removed.
func (l *Logs) First(place string) string { return l.key(place, name{}) }

// Remake recreates the head of place's list if it is missing or damaged. If no others have replaced
// the first segment, that is the whole list. Otherwise the list starts empty, and the other
// segments count as lost.
func (l *Logs) Remake(ctx context.Context, s kv.Store, place string) error {
	ops := []kv.Op{kv.OpGet(l.Key(place)), kv.OpGet(l.key(place, name{}))}
	if err := s.Do(ctx, ops); err != nil {
		return l.failure(place, err)
	}
	if _, err := parseHead(ops[0].Result.Value, ops[0].Result.Version); err == nil {
		return nil
	}
	next := noHead()
	next.version = ops[0].Result.Version
	if g, err := parseSegment(ops[1].Result.Value); absent(&ops[1]) || err != nil || g.sealed {
		next.lost, next.parts[0].name = lossUndated, l.newName()
		if _, err := kv.One(ctx, s, kv.OpAdd(l.key(place, next.parts[0].name), encodeSegment(nil))); err != nil {
			return l.failure(place, err)
		}
	}
	defer l.heads.drop(place)
	if err := l.putHead(ctx, s, place, next); err != nil && !unsettled(err) {
		return l.failure(place, err)
	}
	return nil
}

// Accept acknowledges the loss of missing or damaged parts of place's list. It rewrites the
// readable members of segments that no head names: of a lost head, if the store lists its keys, and
// of damaged segments.
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

// adopt rewrites the members of the segments of place's list that h does not name.
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
