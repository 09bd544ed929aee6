package kvmodel

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/internal/enumeration"
	"github.com/ringtree/ringtree/kvmodel/internal/revisions"
	"github.com/ringtree/ringtree/kvmodel/internal/work"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// untyped is a data class without its types: see [plug.Class].
type untyped struct{ m *class }

func (u untyped) Name() string       { return u.m.name }
func (u untyped) Version() int       { return u.m.version }
func (u untyped) Private() []string  { return u.m.private }
func (u untyped) IsNumbered() bool   { return u.m.numbers != nil }
func (u untyped) IsListed() bool     { return u.m.isListed() }
func (u untyped) KeepsHistory() bool { return u.m.history > 0 }
func (u untyped) Children() []string { return u.m.children }

func (u untyped) Counters() (names []string) {
	for i := range u.m.counters {
		if u.m.counters[i].plain != nil {
			names = append(names, u.m.counters[i].Name)
		}
	}
	return names
}

func (u untyped) Windows() (all []plug.Window) {
	for _, index := range u.shown() {
		all = append(all, index.(plug.Shown).Window())
	}
	return all
}

func (u untyped) Defs() (all []string) {
	for _, index := range u.shown() {
		all = append(all, index.Def())
	}
	return all
}

// shown returns the indexes with windows, as all of this module have.
func (u untyped) shown() (all []plug.Index) {
	for _, index := range u.m.indexes() {
		if _, ok := index.(plug.Shown); ok {
			all = append(all, index)
		}
	}
	return all
}

func (u untyped) CheckID(id string) error     { return u.m.parses(id) }
func (u untyped) Key(id string) string        { return u.m.key(id) }
func (u untyped) HistoryKey(id string) string { return revisions.Key(u.m.name, id) }

func (u untyped) CounterKey(counter, id string) string { return CounterKey(u.m.name, counter, id) }

// State reads the head, the built item and, if indexes are being built, the progress.
func (u untyped) State(ctx context.Context) (st plug.State, err error) {
	is, err := u.m.built.Status(ctx)
	if err != nil && !wire.IsCorrupt(err) {
		return st, u.m.failure("state", err)
	}
	st.Exists, st.Built = is.Exists || err != nil, err
	if st.IDs, err = u.about(ctx); err != nil {
		return st, err
	}
	far := ""
	if len(is.Building) > 0 {
		far = u.m.builds.far(ctx)
	}
	mine := u.m.definitions()
	for _, def := range mine {
		s := plug.IndexState{Name: names([]string{def})[0], State: "not built"}
		switch {
		case slices.Contains(is.Whole, def) || !st.Exists:
			s.State = "built"
		case slices.Contains(is.Building, def):
			s.State, s.Far = "building", far
		}
		st.Indexes = append(st.Indexes, s)
	}
	for _, def := range plug.Without(slices.Concat(is.Whole, is.Building), mine) {
		st.Indexes = append(st.Indexes, plug.IndexState{Name: names([]string{def})[0], State: "unknown"})
	}
	return st, nil
}

// about returns the approximate number of ids. If they are listed, it reads the first.
func (u untyped) about(ctx context.Context) (n int64, err error) {
	err = u.m.eachFrom(ctx, enumeration.Reached{}, func(ids []string, _ enumeration.Reached, left func() int64) error {
		rest := left()
		if n += int64(len(ids)) + rest; rest > 0 {
			return errStop
		}
		return nil
	})
	if errors.Is(err, errStop) || wire.IsCorrupt(err) || errors.Is(err, kv.ErrLost) {
		err = nil // a check reports the damage
	}
	return n, err
}

func (u untyped) See(ctx context.Context, s kv.Store, ids []string) ([]plug.Sight, error) {
	results, err := u.gets(ctx, s, u.m.keys, ids)
	if err != nil {
		return nil, err
	}
	sights := make([]plug.Sight, len(ids))
	for i, id := range ids {
		sights[i] = u.sight(id, results[i*len(u.m.keys):][:len(u.m.keys)])
	}
	return sights, nil
}

// gets returns the results of gets of ids in families.
func (u untyped) gets(ctx context.Context, s kv.Store, families []kv.Family, ids []string) ([]kv.Result, error) {
	for _, id := range ids {
		if err := kv.CheckKey(u.m.key(id)); err != nil {
			return nil, u.m.failure(id, err)
		}
	}
	return kv.GetEach(ctx, s, nil, families, ids)
}

// sight returns the record id, given the results for its key and its counters.
func (u untyped) sight(id string, results []kv.Result) plug.Sight {
	s := plug.Sight{ID: id, Places: make([][]string, len(u.shown()))}
	if results[0].Err == nil {
		s = u.Decode(id, results[0].Value)
	}
	u.count(&s, results[1:])
	return s
}

// count sets the counters of s from the results of their gets.
func (u untyped) count(s *plug.Sight, results []kv.Result) {
	for i := range u.m.counters {
		c := &u.m.counters[i]
		if c.plain == nil {
			continue
		}
		n, err := c.plain.Number(0, results[i])
		if err != nil && s.Err == nil {
			s.Err = u.m.failure(s.ID, wire.Corrupt(c.key(s.ID), err))
		}
		s.Counts = append(s.Counts, n)
	}
}

func (u untyped) Decode(id string, value []byte) plug.Sight {
	shown := u.shown()
	s := plug.Sight{ID: id, Bytes: len(value), Places: make([][]string, len(shown))}
	env, err := envelope.Decode(value)
	if err != nil {
		s.Err = u.m.failure(id, wire.Corrupt(u.m.key(id), err))
		return s
	}
	s.Envelope = env
	if env.Deleted {
		return s
	}
	v, err := u.m.decodeBody(env.Model, env.Body, false)
	if err != nil {
		s.Err = u.m.failure(id, wire.Corrupt(u.m.key(id), err))
		return s
	}
	if id == "" {
		s.ID = u.m.idOf(v)
	}
	if s.Ended = env.HasEnded(u.m.db.now()); s.Ended {
		return s
	}
	for i, index := range shown {
		s.Places[i] = index.Places(v)
	}
	return s
}

func (u untyped) Earlier(value []byte) (bodies [][]byte) {
	log, _ := revisions.Decode(value)
	for _, e := range log {
		if e.Kept {
			bodies = append(bodies, e.Body)
		}
	}
	return bodies
}

func (u untyped) Body(s *plug.Sight) ([]byte, error) {
	v := u.m.empty()
	if s != nil {
		var err error
		if v, err = u.m.decodeBody(s.Envelope.Model, s.Envelope.Body, false); err != nil {
			return nil, u.m.failure(s.ID, wire.Corrupt(u.m.key(s.ID), err))
		}
	}
	return u.m.encodeBody(nil, v)
}

func (u untyped) Fixed(id string) ([]byte, error) {
	v, err := u.m.withID(id)
	if err != nil {
		return nil, u.m.failure(id, fmt.Errorf("%w: %w", ErrInvalid, err))
	}
	f := u.m.schema(v)
	set(f.revision, 1)
	set(f.created, u.m.db.now())
	set(f.updated, u.m.db.now())
	return u.m.encodeBody(nil, v)
}

func (u untyped) Edit(ctx context.Context, id string, rev uint64, f func(body []byte) ([]byte, error)) error {
	isSame := false
	_, err := u.m.edit(ctx, "Update", false, edit{
		id:   id,
		only: func(rec *plug.Seen) bool { isSame = rec.Rev == rev; return isSame },
		apply: func(old plug.Record) (plug.Record, error) {
			if old == nil {
				return nil, kv.ErrNotFound
			}
			body, err := u.m.encodeBody(nil, old)
			if err == nil {
				body, err = f(body)
			}
			if err != nil {
				return nil, err
			}
			v, err := u.m.decodeBody(u.m.version, body, false)
			if err == nil && u.m.idOf(v) != id {
				err = errors.New("an edit must not change the id")
			}
			if err != nil {
				return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
			}
			return v, nil
		},
	})
	if err == nil && !isSame {
		err = u.m.failure(id, fmt.Errorf("%w: it is no longer at rev %d", kv.ErrConflict, rev))
	}
	return err
}

func (u untyped) Stands(value []byte) (time.Duration, error) {
	env, err := envelope.Decode(value)
	if err != nil {
		return 0, err
	}
	if env.HasEnded(u.m.db.now()) {
		return -1, nil
	}
	return u.m.stored(env), nil
}

func (u untyped) IDs(ctx context.Context, from string, f func(ids []string, to string) error) error {
	e := &each{model: u.m.model, ctx: ctx, Walk: Walk{From: from}}
	at, err := e.from()
	if err != nil {
		return err
	}
	return u.m.eachFrom(ctx, at, func(ids []string, to enumeration.Reached, _ func() int64) error {
		return f(ids, e.cursor(to))
	})
}

func (u untyped) Check(ctx context.Context, s kv.Store, ids []string) ([]plug.Sight, error) {
	sights := make([]plug.Sight, 0, len(ids))
	var checks []check
	for _, index := range u.m.indexes() {
		checks = append(checks, check{index: index})
	}
	for some := range slices.Chunk(ids, recordsAtOnce) {
		families := u.m.keys
		results, err := u.gets(ctx, s, families, some)
		if err != nil {
			return nil, err
		}
		for i, id := range some {
			rec, err := u.m.decodeCounted(id, results[i*len(families):][:len(families)])
			if err != nil && !wire.IsCorrupt(err) {
				return nil, err
			}
			sights = append(sights, u.checked(rec, len(sights), checks))
		}
	}
	works := make([]func(kv.Store) error, len(checks))
	for k := range checks {
		c := &checks[k]
		c.sights = sights
		works[k] = func(s kv.Store) error { return c.run(ctx, s, 0, len(c.recs)) }
	}
	return sights, work.FirstError(kv.Together(ctx, s, works...)...)
}

// checked adds rec, at position at, to the checks of its indexes, and returns its Sight so far.
// Neither keeps the values of the record in memory.
func (u untyped) checked(rec *plug.Seen, at int, checks []check) plug.Sight {
	s := plug.Sight{ID: rec.ID, Err: rec.Err}
	if rec.Err != nil {
		s.Wrong = []plug.Wrong{{Kind: plug.DamagedRecord, ID: rec.ID, Text: rec.Err.Error()}}
	}
	if env := rec.Envelope; env != nil {
		s.Envelope = &envelope.Envelope{Model: env.Model, Rev: env.Rev, Deleted: env.Deleted, Expires: env.Expires}
	}
	for k := range checks {
		c, own := &checks[k], *rec
		if rec.Value != nil {
			u.m.as(&own, c.index)
			own.Value, own.Counts, own.Envelope, own.Mark = nil, nil, s.Envelope, bytes.Clone(own.Mark)
			c.at, c.recs = append(c.at, at), append(c.recs, &own)
		}
		if _, ok := c.index.(plug.Shown); ok {
			s.Places = append(s.Places, own.Places)
		}
	}
	return s
}

// check is the check of some records in one index.
type check struct {
	index  plug.Index
	recs   []*plug.Seen
	at     []int // positions of recs in sights
	sights []plug.Sight
}

// run checks the records from to to-1. If something is damaged, it checks halves to find the
// affected records.
func (c *check) run(ctx context.Context, s kv.Store, from, to int) error {
	if from == to {
		return nil
	}
	texts, err := c.index.Check(ctx, s, c.recs[from:to])
	text, damaged := plug.Damage(err, ErrNeedsRebuild)
	switch {
	case damaged && to-from == 1:
		c.wrong(from, plug.DamagedItem, text)
		return nil
	case damaged:
		half := (from + to) / 2
		return cmp.Or(c.run(ctx, s, from, half), c.run(ctx, s, half, to))
	}
	for i := range texts {
		for _, text := range texts[i] {
			c.wrong(from+i, plug.MissingEntry, text)
		}
	}
	return err
}

func (c *check) wrong(i int, kind, text string) {
	s := &c.sights[c.at[i]]
	s.Wrong = append(s.Wrong, plug.Wrong{Kind: kind, Index: c.index.Name(), ID: s.ID, Text: text})
}

// Mend raises the rev of the record, since an entry that marks it as removed may have the current
// one.
func (u untyped) Mend(ctx context.Context, id string) error {
	if err := u.m.db.Writable(); err != nil {
		return err
	}
	return u.m.inTurn(ctx, id, func(id string) error {
		rec, err := u.m.readable(ctx, u.m.db.store, id)
		if err != nil {
			return err
		}
		var touched []envelope.Touched
		for _, index := range u.m.indexes() {
			if rec.Value != nil {
				touched = append(touched, envelope.Touched{Index: index.Name(), Places: index.Places(rec.Value)})
			}
		}
		u.m.db.recent.Drop(u.m.key(id))
		return u.m.repair(ctx, u.m.db.store, id, rec.Rev+1, touched, true)
	})
}

func (u untyped) Settle(ctx context.Context, id string, places [][]string) error {
	var touched []envelope.Touched
	for i, index := range u.shown() {
		touched = append(touched, envelope.Touched{Index: index.Name(), Places: places[i]})
	}
	u.m.db.recent.Drop(u.m.key(id))
	return u.m.inTurn(ctx, id, func(id string) error { return u.m.repair(ctx, u.m.db.store, id, 0, touched, true) })
}

func (u untyped) Enlist(ctx context.Context, ids []string) error {
	return cmp.Or(u.m.db.Writable(), u.m.archive(ctx, ids))
}

func (u untyped) Prepare(ctx context.Context, whole func(index string) bool) error {
	if err := u.m.writable(ctx); err != nil {
		return err
	}
	if err := u.m.distrust(ctx); err != nil {
		return err
	}
	tokens, err := u.m.built.Build(ctx)
	if err != nil {
		return err
	}
	var kept []string
	for _, index := range u.m.indexes() {
		if whole(index.Name()) {
			kept = append(kept, definition(index))
		}
	}
	return u.m.built.Mark(ctx, tokens, kept...)
}

func (u untyped) Accept(ctx context.Context) error {
	return cmp.Or(u.m.db.Writable(), u.m.accept(ctx))
}

func (u untyped) Purge(ctx context.Context, id string) error {
	if err := u.m.parses(id); err != nil {
		return u.m.failure(id, fmt.Errorf("%w: %w", ErrInvalid, err))
	}
	return u.m.purge(ctx, id, false)
}

func (u untyped) Resave(ctx context.Context, ids []string, dry bool) (n int, err error) {
	recs, err := u.m.see(ctx, u.m.db.store, ids)
	if recs == nil {
		return 0, err
	}
	for _, rec := range recs {
		switch {
		case rec.Damaged():
			return n, rec.Err // Upgrade may have refused it.
		case rec.Value == nil || rec.Envelope.Model >= u.m.version:
			continue
		}
		n++
		if !dry {
			err = u.m.inTurn(ctx, rec.ID, func(id string) error { return u.rewrite(ctx, id) })
		}
		if err != nil {
			return n, u.m.failure(rec.ID, err)
		}
	}
	return n, nil
}

// rewrite stores the record id in the current version. Its values, and so its places, stay the
// same.
func (u untyped) rewrite(ctx context.Context, id string) error {
	return kv.Change(u.m.key(id), func() error {
		rec, err := u.m.readable(ctx, u.m.db.store, id)
		if err != nil || rec.Value == nil || rec.Envelope.Model >= u.m.version {
			return err
		}
		env := *rec.Envelope
		env.Model, env.Rev = u.m.version, rec.Rev+1
		if env.Body, err = u.m.encodeBody(rec.Envelope, rec.Value); err != nil {
			return err
		}
		u.m.db.recent.Drop(u.m.key(id))
		_, err = kv.One(ctx, u.m.db.store, u.m.store(rec, &env))
		return err
	})
}

func (u untyped) Orphans(ctx context.Context, id string) error {
	if err := u.m.db.Writable(); err != nil {
		return err
	}
	return u.m.deleteOrphansOf(ctx, id)
}

func (u untyped) Build(ctx context.Context, again bool) error {
	if !again {
		missing, err := u.m.builds.missing(ctx)
		if err != nil && !errors.Is(err, ErrNeedsRebuild) || err == nil && len(missing) == 0 {
			return err
		}
	}
	return u.m.rebuildAll(ctx)
}
