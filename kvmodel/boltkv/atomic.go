package boltkv

import (
	"bytes"
	"context"
	"errors"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// atomic runs f on a view of the items during its turn and, if f succeeds, puts
// what f wrote into the batch. Even f's own error waits for the commit, because
// f has seen what others did in the same batch.
func (s *Store) atomic(ctx context.Context, f func(kv.Store) error) error {
	var err error
	fail := s.write(ctx, func(in *live) *failure {
		v := &view{live: in, changed: make(map[string]*item)}
		defer func() { v.done = true }()
		if err = f(v); err != nil {
			return nil
		}
		return v.merge(ctx)
	})
	switch {
	case fail == nil:
		return err
	case err != nil:
		// However the commit ended, it held no write of f.
		return unavailable(fail.cause)
	default:
		return fail
	}
}

// view is a space that keeps changes apart from the live items until it merges
// them. It is also the store of the function that makes them.
type view struct {
	live    *live
	changed map[string]*item // nil: dropped
	order   []string         // of the first change of each key
	done    bool
}

var errOver = unavailable(errors.New("the atomic change is over"))

func (v *view) Do(ctx context.Context, ops []kv.Op) error {
	if kv.Check(ops, kv.Powers{Unless: true}) == 0 {
		return nil
	}
	if v.done {
		return kv.Fail(ops, errOver)
	}
	if err := ctx.Err(); err != nil {
		return kv.Fail(ops, unavailable(err))
	}
	v.live.ops.Add(uint64(len(ops)))
	if fail := v.live.guard(func() { run(ops, v) }); fail != nil {
		fail.fill(ops)
	}
	return kv.Unanswered(ops)
}

func (v *view) Close() error { return nil }

// Powers leaves out Atomic: atomic changes do not nest.
func (v *view) Powers() kv.Powers { return kv.Powers{Unless: true, Ordered: true, Inside: true} }

func (v *view) now() int64 { return v.live.now() }

func (v *view) get(key string) (item, bool) {
	it, ok := v.changed[key]
	if !ok {
		return v.live.get(key)
	}
	if it == nil || it.expires != 0 && it.expires <= v.now() {
		return item{}, false
	}
	return *it, true
}

func (v *view) put(key string, it item) {
	it.version = v.live.nextVersion()
	it.value = bytes.Clone(it.value)
	v.note(key, &it)
}

func (v *view) drop(key string) { v.note(key, nil) }

func (v *view) note(key string, it *item) {
	if _, ok := v.changed[key]; !ok {
		v.order = append(v.order, key)
	}
	v.changed[key] = it
}

// merge puts the changes into the batch, unless ctx has ended.
func (v *view) merge(ctx context.Context) *failure {
	if err := ctx.Err(); err != nil {
		return unavailable(err)
	}
	return v.live.guard(func() {
		for _, key := range v.order {
			if it := v.changed[key]; it != nil {
				v.live.place(key, *it)
			} else {
				v.live.drop(key)
			}
		}
	})
}
