package memberlog

import (
	"context"
	"errors"
	"slices"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Begin makes place's list, with a head that names its first segment. So a key of the list that
// is gone is always noticed.
func (l *Logs) Begin(ctx context.Context, s kv.Store, place string) error {
	ops := []kv.Op{kv.OpAdd(l.key(place, name{}), encodeSegment(nil)), kv.OpAdd(l.Key(place), noHead().encode())}
	_ = s.Do(ctx, ops) // Each op has its own result.
	for i := range ops {
		if err := ops[i].Err(); err != nil && !errors.Is(err, kv.ErrExists) {
			return l.failure(place, err)
		}
	}
	l.heads.drop(place)
	return nil
}

// First returns the key of the first segment of place's list, which stays once it is there.
func (l *Logs) First(place string) string { return l.key(place, name{}) }

// Remake makes the head of place's list again if it is gone or damaged. A first segment that no
// others have replaced is all of the list. Else the list begins anew, and has lost the others.
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

// Accept takes what is gone or damaged of place's list for lost, so that it is no error any more.
// What can be read of segments that no head names is written again: those of a lost head, where
// the store lists its keys, and damaged ones.
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

// adopt writes the members again of the segments of place's list that h does not name.
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
