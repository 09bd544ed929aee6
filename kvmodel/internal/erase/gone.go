package erase

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/internal/core"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A release may remove an index, a counter, a history or a model. The data goes only by Rebuild or
// DropModel, so the release can be rolled back, and only if the kvgen.lock of a newer release lists
// it as gone.

// Gone lists data that this release no longer keeps for a model, by stored names.
type Gone struct {
	Indexes, Counters []string
	History           bool
}

var (
	indexClasses   = []string{"u", "l", "t", "per", "rank"}
	counterClasses = []string{"n", "c"}
	modelClasses   = []string{"r", "h", "e", "u", "l", "t", "per", "n", "c", "rank"}
	modelItems     = []string{"ids", "built", "rebuild", "rebuilt", "build", "seq"}
)

func (g *Gone) begins(model string) (all []string) {
	for _, name := range g.Indexes {
		for _, class := range indexClasses {
			all = append(all, class+":"+kv.JoinText(model, name)+":")
		}
		for _, board := range plug.BoardNames(name) {
			all = append(all, "rank:"+plug.TreeName(kv.JoinText(model, board))+":")
		}
	}
	for _, name := range g.Counters {
		for _, class := range counterClasses {
			all = append(all, class+":"+kv.JoinText(model, name)+":")
		}
	}
	if g.History {
		all = append(all, "h:"+kv.JoinText(model)+":")
	}
	return all
}

func (g *Gone) without(env *envelope.Envelope) (change bool) {
	names := g.Indexes
	if g.History {
		names = append(slices.Clone(names), core.HistoryMark)
	}
	for _, name := range names {
		change = env.DropMark(name) || change
	}
	return env.DropLost(func(index, _ string) bool { return slices.Contains(g.Indexes, index) }) || change
}

func clean(ctx context.Context, m *core.Model, keys []string, change func(*envelope.Envelope) bool) error {
	for some := range slices.Chunk(keys, core.RecordsAtOnce) {
		for tries := 0; len(some) > 0; tries++ {
			if tries == core.MaxTries {
				return fmt.Errorf("%s: %w", kv.Quote(some[0]), kv.ErrConflict)
			}
			var err error
			if some, err = cleanOnce(ctx, m, some, change); err != nil {
				return err
			}
		}
	}
	return nil
}

func cleanOnce(ctx context.Context, m *core.Model, keys []string, change func(*envelope.Envelope) bool) (changed []string, err error) {
	results, err := kv.GetAll(ctx, m.Db.Store, keys...)
	if err != nil {
		return nil, err
	}
	var swaps []kv.Op
	for i, r := range results {
		if r.Err != nil {
			continue
		}
		env, err := envelope.Decode(r.Value)
		if err != nil || !change(env) {
			continue // damaged envelopes are left alone
		}
		m.Db.Recent.Drop(keys[i])
		swaps = append(swaps, kv.OpSwap(keys[i], r.Version, env.Encode(nil)).For(m.Stored(env)))
	}
	err = m.Db.Store.Do(ctx, swaps)
	for i := range swaps {
		if kv.Raced(swaps[i].Err()) {
			changed = append(changed, swaps[i].Key)
		}
	}
	return changed, err
}

func DropGone(ctx context.Context, m *core.Model, gone Gone) error {
	begins := gone.begins(m.Name)
	if len(begins) == 0 {
		return nil
	}
	if kv.PowersOf(m.Db.Store).Keys == nil {
		m.Db.Log.Warn("ringtree: this store cannot list its keys, so the data of removed indexes stays", "model", m.Name, "begins", begins)
		return nil
	}
	if err := awaitWithout(ctx, m.Db.DB, m.Name, m.KeepsMore); err != nil {
		return m.Failure("rebuild", err)
	}
	err := eachKey(ctx, m.Db.DB, "r:"+kv.JoinText(m.Name)+":", func(keys []string) error { return clean(ctx, m, keys, gone.without) })
	if err != nil {
		return m.Failure("rebuild", err)
	}
	return m.Failure("rebuild", drop(ctx, m.Db.DB, begins, isOfModel))
}

func DropModel(ctx context.Context, db *core.DB, name string) error {
	has := func(shape string) bool { return strings.HasPrefix(shape, name+"=") }
	if err := awaitWithout(ctx, db, name, has); err != nil {
		return fmt.Errorf("drop model %s: %w", kv.Quote(name), err)
	}
	var begins []string
	for _, class := range modelClasses {
		begins = append(begins, class+":"+kv.JoinText(name)+":")
	}
	begins = append(begins, "ids:"+kv.JoinText(name)+"#")
	if err := drop(ctx, db, begins, isOfModel); err != nil {
		return fmt.Errorf("drop model %s: %w", kv.Quote(name), err)
	}
	// These go last: until then the model exists.
	var ops []kv.Op
	for _, class := range modelItems {
		ops = append(ops, kv.OpDelete(class+":"+kv.JoinText(name)))
	}
	if err := db.Store.Do(ctx, ops); err != nil {
		return fmt.Errorf("drop model %s: %w", kv.Quote(name), err)
	}
	return nil
}

// A tree without records may have a model's name.
func isOfModel(key string) bool {
	parts := strings.SplitN(key, ":", 4)
	if parts[0] != "rank" || len(parts) < 3 {
		return true
	}
	isEpoch := parts[2] != "" && strings.Trim(parts[2], "0123456789") == ""
	return !isEpoch && !slices.Contains([]string{"meta", "edge", "lease", "i"}, parts[2])
}

func awaitWithout(ctx context.Context, db *core.DB, model string, keeps func(shape string) bool) error {
	if db.Alone {
		return nil // no other process has the store
	}
	living, _, err := db.AwaitEnd(ctx, keeps)
	if err == nil && living != "" {
		err = fmt.Errorf("%w: process %s still writes that data of %s: end it first", kv.ErrConflict, living, model)
	}
	return err
}

// A scan may miss keys that move, and requests in flight may still arrive.
const dropPasses = 3

// drop removes the items that begin with one of begins and satisfy is, until none is left.
func drop(ctx context.Context, db *core.DB, begins []string, is func(key string) bool) error {
	var left []string
	for range dropPasses {
		left = nil
		for _, begin := range begins {
			err := eachKey(ctx, db, begin, func(some []string) error {
				some = slices.DeleteFunc(slices.Clone(some), func(key string) bool { return !is(key) })
				left = append(left, some...)
				return dropKeys(ctx, db, some)
			})
			if err != nil {
				return err
			}
		}
		if len(left) == 0 {
			return nil
		}
	}
	return fmt.Errorf("%w: the last of %d passes over the store found %d keys, such as %s: end the processes that write them, and call this again",
		kv.ErrConflict, dropPasses, len(left), kv.Quote(left[0]))
}

func eachKey(ctx context.Context, db *core.DB, begin string, f func(keys []string) error) error {
	keys := kv.PowersOf(db.Store).Keys
	if keys == nil {
		return fmt.Errorf("%w: this store cannot list its keys, so the keys that begin with %s stay: copy the data you need to another store, or empty this one",
			plug.ErrInvalid, kv.Quote(begin))
	}
	return keys(ctx, begin, f)
}

func dropKeys(ctx context.Context, db *core.DB, keys []string) error {
	for some := range slices.Chunk(keys, core.RecordsAtOnce) {
		results, err := kv.GetAll(ctx, db.Store, some...)
		if err != nil {
			return err
		}
		var drops []kv.Op
		for i, r := range results {
			if r.Err == nil {
				drops = append(drops, kv.OpDrop(some[i], r.Version))
			}
			db.Recent.Drop(some[i])
		}
		if err := db.Store.Do(ctx, drops); err != nil {
			return err
		}
	}
	return nil
}
