package memberlog

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// WriteAll is Write for many entries. It appends the entries of a segment together, so it takes as
// many trips as one Write.
func (l *Logs) WriteAll(ctx context.Context, s kv.Store, place string, entries []Entry) error {
	for i := range entries {
		if err := entries[i].check(); err != nil {
			return l.failure(place, err)
		}
	}
	rest, err := l.appendAll(ctx, s, place, entries)
	if err != nil {
		return l.failure(place, err)
	}
	return cmp.Or(kv.Each(ctx, s, rest, func(s kv.Store, _ int, e Entry) error { return l.Write(ctx, s, place, e) })...)
}

// appendAll appends entries, and returns those not known to be before any seal.
func (l *Logs) appendAll(ctx context.Context, s kv.Store, place string, entries []Entry) (rest []Entry, err error) {
	h := l.heads.get(place)
	if h == nil || l.isOld(h) {
		if h, err = l.readHead(ctx, s, place); err != nil {
			return nil, err
		}
	}
	groups := make(map[int][]Entry)
	for _, e := range entries {
		at := h.find(hashOf(e.ID))
		groups[at] = append(groups[at], e)
	}
	var ops []kv.Op
	var to []int
	for _, at := range slices.Sorted(maps.Keys(groups)) {
		group := groups[at]
		var data []byte
		for i := range group {
			data = appendRecord(data, &group[i])
		}
		ops, to = append(ops, l.opAppend(s, l.key(place, h.parts[at].name), data)), append(to, at)
	}
	_ = s.Do(ctx, ops) // each op has its own result
	now := h
	if !kv.PowersOf(s).Unless {
		if now, err = l.readHead(ctx, s, place); err != nil {
			return nil, err
		}
	}
	for i, at := range to {
		n := h.parts[at].name
		if k := now.indexOf(n); ops[i].Err() != nil || k < 0 || now.parts[k].rolling {
			rest = append(rest, groups[at]...)
		} else {
			l.lookSometimes(place, n, len(ops[i].Value))
		}
	}
	return slices.Clip(rest), nil
}
