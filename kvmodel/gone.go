package kvmodel

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/internal/journal"
	"github.com/ringtree/ringtree/kvmodel/internal/repair"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A release may remove an index, a counter, a history or a whole model. The data is dropped only on
// request, by Rebuild or DropModel; until then the release can be rolled back. An older release
// never drops data unknown to it, since only the kvgen.lock of a newer one lists it as gone.
//
// The keys of an index begin with one of a few prefixes, so the store's keys are scanned. Each item
// is removed by the version that was read.

// Gone lists data of earlier releases that this one no longer keeps for a model, by stored names.
// kvgen generates it from kvgen.lock.
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

// begins returns the prefixes of the keys of g's data for model.
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

// without removes everything named by g from env, and reports whether there was anything.
func (g *Gone) without(env *envelope.Envelope) (change bool) {
	names := g.Indexes
	if g.History {
		names = append(slices.Clone(names), historyMark)
	}
	for _, name := range names {
		change = env.DropMark(name) || change
	}
	return env.DropLost(func(index, _ string) bool { return slices.Contains(g.Indexes, index) }) || change
}

// clean applies change to the envelopes under keys and stores those that changed.
func (m *model) clean(ctx context.Context, keys []string, change func(*envelope.Envelope) bool) error {
	for some := range slices.Chunk(keys, recordsAtOnce) {
		for tries := 0; len(some) > 0; tries++ {
			if tries == maxTries {
				return fmt.Errorf("%s: %w", kv.Quote(some[0]), kv.ErrConflict)
			}
			var err error
			if some, err = m.cleanOnce(ctx, some, change); err != nil {
				return err
			}
		}
	}
	return nil
}

// cleanOnce is one attempt of clean. It returns the keys of the records that changed meanwhile.
func (m *model) cleanOnce(ctx context.Context, keys []string, change func(*envelope.Envelope) bool) (changed []string, err error) {
	results, err := kv.GetAll(ctx, m.db.store, keys...)
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
		m.db.recent.Drop(keys[i])
		swaps = append(swaps, kv.OpSwap(keys[i], r.Version, env.Encode(nil)).For(m.stored(env)))
	}
	err = m.db.store.Do(ctx, swaps)
	for i := range swaps {
		if kv.Raced(swaps[i].Err()) {
			changed = append(changed, swaps[i].Key)
		}
	}
	return changed, err
}

// dropGone removes the data of gone, once no process keeps it any more.
func (m *model) dropGone(ctx context.Context, gone Gone) error {
	begins := gone.begins(m.name)
	if len(begins) == 0 {
		return nil
	}
	if kv.PowersOf(m.db.store).Keys == nil {
		m.db.log.Warn("ringtree: this store cannot list its keys: what a release has left out stays there", "model", m.name, "begins", begins)
		return nil
	}
	if err := m.db.base.awaitWithout(ctx, m.name, m.keepsMore); err != nil {
		return m.failure("rebuild", err)
	}
	err := m.db.eachKey(ctx, "r:"+kv.JoinText(m.name)+":", func(keys []string) error { return m.clean(ctx, keys, gone.without) })
	if err != nil {
		return m.failure("rebuild", err)
	}
	return m.failure("rebuild", m.db.drop(ctx, begins, isOfModel))
}

// keepsMore reports whether shape is of this model in a release with an index that m does not have.
func (m *model) keepsMore(shape string) bool {
	hashes, ok := strings.CutPrefix(shape, m.name+"=")
	if !ok {
		return false
	}
	own, _ := strings.CutPrefix(shapeOf(m.name, m.definitions()), m.name+"=")
	for ; len(hashes) >= hashLen; hashes = hashes[hashLen:] {
		if !strings.Contains(own, hashes[:hashLen]) {
			return true
		}
	}
	return false
}

// DropModel removes everything stored for a model that no release in use has any more: its records
// and the data of its indexes, counters and history. name is its stored name. A program that has
// the model gets an ErrInvalid. DropModel waits up to a minute for processes with the model to end,
// then returns an ErrConflict. It reads all keys of the store, and returns an ErrInvalid if the
// store cannot list them. After any error the names of the remaining records are still there: call
// DropModel again.
func (db *DB) DropModel(ctx context.Context, name string) error {
	ctx, end := db.core.begin(ctx, kv.Work{Model: name, Verb: "DropModel"})
	defer end()
	if err := db.Writable(); err != nil {
		return err
	}
	if o := db.owner(name); name == "" || o != nil {
		return fmt.Errorf("drop model %s: %w: this program has it", kv.Quote(name), ErrInvalid)
	}
	db.noteGone(name)
	return db.core.dropModel(ctx, name)
}

// dropModel removes everything stored for the model called name.
func (db *base) dropModel(ctx context.Context, name string) error {
	has := func(shape string) bool { return strings.HasPrefix(shape, name+"=") }
	if err := db.awaitWithout(ctx, name, has); err != nil {
		return fmt.Errorf("drop model %s: %w", kv.Quote(name), err)
	}
	var begins []string
	for _, class := range modelClasses {
		begins = append(begins, class+":"+kv.JoinText(name)+":")
	}
	begins = append(begins, "ids:"+kv.JoinText(name)+"#")
	if err := db.drop(ctx, begins, isOfModel); err != nil {
		return fmt.Errorf("drop model %s: %w", kv.Quote(name), err)
	}
	// These go last: until then the model exists.
	var ops []kv.Op
	for _, class := range modelItems {
		ops = append(ops, kv.OpDelete(class+":"+kv.JoinText(name)))
	}
	if err := db.store.Do(ctx, ops); err != nil {
		return fmt.Errorf("drop model %s: %w", kv.Quote(name), err)
	}
	return nil
}

// isOfModel reports whether key belongs to a model. A tree without records may have a model's name.
func isOfModel(key string) bool {
	parts := strings.SplitN(key, ":", 4)
	if parts[0] != "rank" || len(parts) < 3 {
		return true
	}
	isEpoch := parts[2] != "" && strings.Trim(parts[2], "0123456789") == ""
	return !isEpoch && !slices.Contains([]string{"meta", "edge", "lease", "i"}, parts[2])
}

// awaitWithout returns when no other live process has a shape that keeps accepts. An ErrConflict
// names a process that does not end.
func (db *base) awaitWithout(ctx context.Context, model string, keeps func(shape string) bool) error {
	if db.alone {
		return nil // no other process has the store
	}
	for range otherTries {
		living, err := db.keeper(ctx, keeps)
		if err != nil || living == "" {
			return err
		}
		if !kv.Sleep(ctx, time.Second) {
			return fmt.Errorf("%w: process %s still keeps more of %s: end it first", kv.ErrConflict, living, model)
		}
	}
	return fmt.Errorf("%w: another process still keeps more of %s: end it first", kv.ErrConflict, model)
}

// keeper returns the name of another live process with a shape that keeps accepts, or "".
func (db *base) keeper(ctx context.Context, keeps func(shape string) bool) (string, error) {
	all, err := journal.Others(ctx, db.store, db.journal.IsOwn, nil)
	if err != nil {
		return "", err
	}
	for _, other := range all {
		tick, shapes, err := other.Head()
		if err != nil {
			return "", err
		}
		if slices.ContainsFunc(shapes, keeps) && !db.repairer.IsDead(other.Process, tick) {
			return db.called(other), nil
		}
	}
	return "", nil
}

// dropPasses is the number of scans over the keys: a scan may miss keys that move, and requests in
// flight may still arrive.
const dropPasses = 3

// drop removes the items whose keys begin with one of begins and satisfy is, until none is left. If
// the last pass still finds some, the error is an ErrConflict.
func (db *base) drop(ctx context.Context, begins []string, is func(key string) bool) error {
	var left []string
	for range dropPasses {
		left = nil
		for _, begin := range begins {
			err := db.eachKey(ctx, begin, func(some []string) error {
				some = slices.DeleteFunc(slices.Clone(some), func(key string) bool { return !is(key) })
				left = append(left, some...)
				return db.dropKeys(ctx, some)
			})
			if err != nil {
				return err
			}
		}
		if len(left) == 0 {
			return nil
		}
	}
	return fmt.Errorf("%w: the last of %d passes over the store found %d keys, such as %s: end what still writes them, and call this again",
		kv.ErrConflict, dropPasses, len(left), kv.Quote(left[0]))
}

// eachKey calls f with the store's keys that begin with begin. If the store cannot list keys, the
// error is an ErrInvalid.
func (db *base) eachKey(ctx context.Context, begin string, f func(keys []string) error) error {
	keys := kv.PowersOf(db.store).Keys
	if keys == nil {
		return fmt.Errorf("%w: this store cannot list its keys, so those that begin with %s stay: copy what is needed to another store, or empty this one",
			errInvalid, kv.Quote(begin))
	}
	return keys(ctx, begin, f)
}

// dropKeys removes the items under keys by the versions it reads.
func (db *base) dropKeys(ctx context.Context, keys []string) error {
	for some := range slices.Chunk(keys, recordsAtOnce) {
		results, err := kv.GetAll(ctx, db.store, some...)
		if err != nil {
			return err
		}
		var drops []kv.Op
		for i, r := range results {
			if r.Err == nil {
				drops = append(drops, kv.OpDrop(some[i], r.Version))
			}
			db.recent.Drop(some[i])
		}
		if err := db.store.Do(ctx, drops); err != nil {
			return err
		}
	}
	return nil
}

// noteGone lets repair finish the journal lines of name without doing anything.
func (db *DB) noteGone(name string) {
	db.mu.Lock()
	db.gone[name] = true
	db.mu.Unlock()
	db.knowsMore()
}

// repairs returns the owner of lines under name, or nil if this process has none.
func (db *DB) repairs(name string) repair.Owner {
	if o := db.owner(name); o != nil {
		return o
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	model, isNote := noteOf(name)
	if db.gone[name] || isNote && db.gone[model] {
		return notes{func(context.Context, kv.Store, []string) error { return nil }}
	}
	return nil
}
