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
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A release may leave out an index, a counter, a history or a whole model of the one
// before. What it kept is dropped when someone says so, by Rebuild or DropModel: until
// then the release can be rolled back. An older release never drops what it does not
// know, since only kvgen.lock of a newer one says that it is gone.
//
// Whatever an index kept begins with one of a few keys, so the keys of the store are
// looked through. Each item is removed as it was read.

// Gone is what earlier releases kept for a model and this one does not, by stored names.
// kvgen writes it from kvgen.lock.
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

// begins returns what the keys begin with under which g was kept for model.
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

// without takes what g names out of env, and reports whether there was any of it.
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

// clean stores the envelopes under keys again that change changes.
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

// cleanOnce is one try of clean. It returns the keys of the records that have changed
// meanwhile.
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
			continue // What is damaged is left as it is.
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

// dropGone removes what is gone, once no process keeps it any more.
func (m *model) dropGone(ctx context.Context) error {
	begins := m.gone.begins(m.name)
	if len(begins) == 0 {
		return nil
	}
	if kv.PowersOf(m.db.store).Keys == nil {
		m.db.log.Warn("ringtree: this store cannot list its keys: what a release has left out stays there", "model", m.name, "begins", begins)
		return nil
	}
	if err := m.db.awaitWithout(ctx, m.name, m.keepsMore); err != nil {
		return m.failure("rebuild", err)
	}
	err := m.db.eachKey(ctx, "r:"+kv.JoinText(m.name)+":", func(keys []string) error { return m.clean(ctx, keys, m.gone.without) })
	if err != nil {
		return m.failure("rebuild", err)
	}
	return m.failure("rebuild", m.db.drop(ctx, begins, isOfModel))
}

// keepsMore reports whether shape is of m, and of a release that keeps an index which m
// does not have.
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

// DropModel removes all that is stored of a model, by its stored name, that no release
// in use has any more: its records, and whatever its indexes, counters and history kept.
// A program that has the model gets an ErrInvalid. DropModel waits up to a minute for
// processes that have it to end, and then returns an ErrConflict. It reads all keys of
// the store, and is an ErrInvalid where the store cannot list them. After any error, what
// names the records of the model is still there: call DropModel again.
func (db *DB) DropModel(ctx context.Context, name string) error {
	ctx, end := db.begin(ctx, kv.Work{Model: name, Verb: "DropModel"})
	defer end()
	if err := db.Writable(); err != nil {
		return err
	}
	if m := db.model(name); name == "" || m != nil {
		return fmt.Errorf("drop model %s: %w: this program has it", kv.Quote(name), ErrInvalid)
	}
	db.noteGone(name)
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
	// These go last: until then the model is there.
	var ops []kv.Op
	for _, class := range modelItems {
		ops = append(ops, kv.OpDelete(class+":"+kv.JoinText(name)))
	}
	if err := db.store.Do(ctx, ops); err != nil {
		return fmt.Errorf("drop model %s: %w", kv.Quote(name), err)
	}
	return nil
}

// isOfModel reports whether key is of a model. A tree without records may have the name
// of a model.
func isOfModel(key string) bool {
	parts := strings.SplitN(key, ":", 4)
	if parts[0] != "rank" || len(parts) < 3 {
		return true
	}
	isEpoch := parts[2] != "" && strings.Trim(parts[2], "0123456789") == ""
	return !isEpoch && !slices.Contains([]string{"meta", "edge", "lease", "i"}, parts[2])
}

// awaitWithout returns when no other process lives one of whose shapes keeps accepts. An
// ErrConflict names one that does not end.
func (db *DB) awaitWithout(ctx context.Context, model string, keeps func(shape string) bool) error {
	if db.alone {
		return nil // No one else has the store.
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

// keeper returns what another process is called that lives one of whose shapes keeps accepts, or "".
func (db *DB) keeper(ctx context.Context, keeps func(shape string) bool) (string, error) {
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

// dropPasses is how often the keys are looked through: a store may miss some that move,
// and requests that were under way may arrive.
const dropPasses = 3

// drop removes the items whose keys begin with one of begins and that is agrees to, until
// there are none. If there are some after the last pass, the error is an ErrConflict.
func (db *DB) drop(ctx context.Context, begins []string, is func(key string) bool) error {
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

// eachKey calls f with the keys of the store that begin with begin. A store that cannot list
// them is an ErrInvalid.
func (db *DB) eachKey(ctx context.Context, begin string, f func(keys []string) error) error {
	keys := kv.PowersOf(db.store).Keys
	if keys == nil {
		return fmt.Errorf("%w: this store cannot list its keys, so those that begin with %s stay: copy what is needed to another store, or empty this one",
			ErrInvalid, kv.Quote(begin))
	}
	return keys(ctx, begin, f)
}

// dropKeys removes what is read under keys.
func (db *DB) dropKeys(ctx context.Context, keys []string) error {
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

// noteGone lets repair finish lines of what is gone, by doing nothing.
func (db *DB) noteGone(name string) {
	db.mu.Lock()
	db.gone[name] = true
	db.mu.Unlock()
	db.knowsMore()
}

// repairs returns what repairs lines under name, nil if this process knows nothing of it.
func (db *DB) repairs(name string) dataClass {
	if m := db.model(name); m != nil {
		return m
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	model, isNote := noteOf(name)
	if db.gone[name] || isNote && db.gone[model] {
		return notes{func(context.Context, kv.Store, []string) error { return nil }}
	}
	return nil
}
