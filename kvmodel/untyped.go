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
	"github.com/ringtree/ringtree/internal/tally"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/internal/work"
	"github.com/ringtree/ringtree/kvmodel/internal/core"
	"github.com/ringtree/ringtree/kvmodel/internal/enumeration"
	"github.com/ringtree/ringtree/kvmodel/internal/erase"
	"github.com/ringtree/ringtree/kvmodel/internal/revisions"
	"github.com/ringtree/ringtree/kvmodel/internal/write"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// untyped is a data class without its types: see [plug.Class].
type untyped struct{ m *class }

func (u untyped) Name() string       { return u.m.Name }
func (u untyped) Version() int       { return u.m.Version }
func (u untyped) Private() []string  { return u.m.Private }
func (u untyped) IsNumbered() bool   { return u.m.Numbers != nil }
func (u untyped) IsListed() bool     { return u.m.IsListed() }
func (u untyped) KeepsHistory() bool { return u.m.History > 0 }
func (u untyped) Children() []string { return u.m.Children }

func (u untyped) Counters() (names []string) {
	for i := range u.m.Counters {
		if u.m.Counters[i].Plain != nil {
			names = append(names, u.m.Counters[i].Name)
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
	for _, index := range u.m.Indexes() {
		if _, ok := index.(plug.Shown); ok {
			all = append(all, index)
		}
	}
	return all
}

func (u untyped) CheckID(id string) error     { return u.m.Parses(id) }
func (u untyped) Key(id string) string        { return u.m.Key(id) }
func (u untyped) HistoryKey(id string) string { return revisions.Key(u.m.Name, id) }

func (u untyped) CounterKey(counter, id string) string { return tally.Key(u.m.Name, counter, id) }

// State reads the head, the built item and, if indexes are being built, the progress.
func (u untyped) State(ctx context.Context) (st plug.State, err error) {
	is, err := u.m.Built.Read(ctx)
	if err != nil {
		return st, u.m.Failure("state", err)
	}
	st.Exists, st.Built = is.Exists || is.Damaged != nil, is.Damaged
	if st.IDs, err = u.about(ctx); err != nil {
		return st, err
	}
	far := ""
	if len(is.Building) > 0 {
		far = u.m.builds.Far(ctx)
	}
	mine := u.m.Definitions()
	for _, def := range mine {
		s := plug.IndexState{Name: core.NameOf(def), State: "not built"}
		switch {
		case slices.Contains(is.Whole, def) || !st.Exists:
			s.State = "built"
		case slices.Contains(is.Building, def):
			s.State, s.Far = "building", far
		}
		st.Indexes = append(st.Indexes, s)
	}
	for _, def := range plug.Without(slices.Concat(is.Whole, is.Building), mine) {
		st.Indexes = append(st.Indexes, plug.IndexState{Name: core.NameOf(def), State: "unknown"})
	}
	return st, nil
}

func (u untyped) about(ctx context.Context) (n int64, err error) {
	err = u.m.EachFrom(ctx, enumeration.Reached{}, func(ids []string, _ enumeration.Reached, left func() int64) error {
		rest := left()
		if n += int64(len(ids)) + rest; rest > 0 {
			return core.ErrStop
		}
		return nil
	})
	if errors.Is(err, core.ErrStop) || wire.IsCorrupt(err) || errors.Is(err, kv.ErrLost) {
		err = nil // a check reports the damage
	}
	return n, err
}

func (u untyped) See(ctx context.Context, s kv.Store, ids []string) ([]plug.Sight, error) {
	results, err := u.gets(ctx, s, u.m.Keys, ids)
	if err != nil {
		return nil, err
	}
	sights := make([]plug.Sight, len(ids))
	for i, id := range ids {
		sights[i] = u.sight(id, results[i*len(u.m.Keys):][:len(u.m.Keys)])
	}
	return sights, nil
}

func (u untyped) gets(ctx context.Context, s kv.Store, families []kv.Family, ids []string) ([]kv.Result, error) {
	for _, id := range ids {
		if err := kv.CheckKey(u.m.Key(id)); err != nil {
			return nil, u.m.Failure(id, err)
		}
	}
	return kv.GetEach(ctx, s, nil, families, ids)
}

func (u untyped) sight(id string, results []kv.Result) plug.Sight {
	s := plug.Sight{ID: id, Places: make([][]string, len(u.shown()))}
	if results[0].Err == nil {
		s = u.Decode(id, results[0].Value)
	}
	u.count(&s, results[1:])
	return s
}

func (u untyped) count(s *plug.Sight, results []kv.Result) {
	for i := range u.m.Counters {
		c := &u.m.Counters[i]
		if c.Plain == nil {
			continue
		}
		n, err := c.Plain.Number(0, results[i])
		if err != nil && s.Err == nil {
			s.Err = u.m.Failure(s.ID, wire.Corrupt(c.Key(s.ID), err))
		}
		s.Counts = append(s.Counts, n)
	}
}

func (u untyped) Decode(id string, value []byte) plug.Sight {
	shown := u.shown()
	s := plug.Sight{ID: id, Bytes: len(value), Places: make([][]string, len(shown))}
	env, err := envelope.Decode(value)
	if err != nil {
		s.Err = u.m.Failure(id, wire.Corrupt(u.m.Key(id), err))
		return s
	}
	s.Envelope = env
	if env.Deleted {
		return s
	}
	v, err := u.m.DecodeBody(env.Model, env.Body, false)
	if err != nil {
		s.Err = u.m.Failure(id, wire.Corrupt(u.m.Key(id), err))
		return s
	}
	if id == "" {
		s.ID = u.m.IdOf(v)
	}
	if s.Ended = env.HasEnded(u.m.Db.Now()); s.Ended {
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
	v := u.m.Empty()
	if s != nil {
		var err error
		if v, err = u.m.DecodeBody(s.Envelope.Model, s.Envelope.Body, false); err != nil {
			return nil, u.m.Failure(s.ID, wire.Corrupt(u.m.Key(s.ID), err))
		}
	}
	return u.m.EncodeBody(nil, v)
}

func (u untyped) Fixed(id string) ([]byte, error) {
	v, err := u.m.WithID(id)
	if err != nil {
		return nil, u.m.Failure(id, fmt.Errorf("%w: %w", ErrInvalid, err))
	}
	f := u.m.Schema(v)
	core.Set(f.Revision, 1)
	core.Set(f.Created, u.m.Db.Now())
	core.Set(f.Updated, u.m.Db.Now())
	return u.m.EncodeBody(nil, v)
}

func (u untyped) Edit(ctx context.Context, id string, rev uint64, f func(body []byte) ([]byte, error)) error {
	isSame := false
	_, err := write.EditInTurn(ctx, u.m.Model, "Update", false, write.Edit{
		ID:   id,
		Only: func(rec *plug.Seen) bool { isSame = rec.Rev == rev; return isSame },
		Apply: func(old plug.Record) (plug.Record, error) {
			if old == nil {
				return nil, kv.ErrNotFound
			}
			body, err := u.m.EncodeBody(nil, old)
			if err == nil {
				body, err = f(body)
			}
			if err != nil {
				return nil, err
			}
			v, err := u.m.DecodeBody(u.m.Version, body, false)
			if err == nil && u.m.IdOf(v) != id {
				err = errors.New("an edit must not change the id")
			}
			if err != nil {
				return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
			}
			return v, nil
		},
	})
	if err == nil && !isSame {
		err = u.m.Failure(id, fmt.Errorf("%w: it is no longer at rev %d", kv.ErrConflict, rev))
	}
	return err
}

func (u untyped) Stands(value []byte) (time.Duration, error) {
	env, err := envelope.Decode(value)
	if err != nil {
		return 0, err
	}
	if env.HasEnded(u.m.Db.Now()) {
		return -1, nil
	}
	return u.m.Stored(env), nil
}

func (u untyped) IDs(ctx context.Context, from string, f func(ids []string, to string) error) error {
	e := &each{Model: u.m.Model, ctx: ctx, Walk: Walk{From: from}}
	at, err := e.from()
	if err != nil {
		return err
	}
	return u.m.EachFrom(ctx, at, func(ids []string, to enumeration.Reached, _ func() int64) error {
		return f(ids, e.cursor(to))
	})
}

func (u untyped) Check(ctx context.Context, s kv.Store, ids []string) ([]plug.Sight, error) {
	sights := make([]plug.Sight, 0, len(ids))
	var checks []check
	for _, index := range u.m.Indexes() {
		checks = append(checks, check{index: index})
	}
	for some := range slices.Chunk(ids, core.RecordsAtOnce) {
		families := u.m.Keys
		results, err := u.gets(ctx, s, families, some)
		if err != nil {
			return nil, err
		}
		for i, id := range some {
			rec, err := u.m.DecodeCounted(id, results[i*len(families):][:len(families)])
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

// checked adds rec, at position at, to the checks of its indexes, without its values, and returns
// its Sight so far.
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
			u.m.As(&own, c.index)
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

// run checks the records from to to-1, in halves if something is damaged.
func (c *check) run(ctx context.Context, s kv.Store, from, to int) error {
	if from == to {
		return nil
	}
	texts, err := c.index.Check(ctx, s, c.recs[from:to])
	text, damaged := plug.Damage(err)
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

// Mend raises the rev, since an entry that marks the record as removed may have the current one.
func (u untyped) Mend(ctx context.Context, id string) error {
	if err := u.m.Db.Writable(); err != nil {
		return err
	}
	return u.m.InTurn(ctx, id, func(id string) error {
		rec, err := u.m.Readable(ctx, u.m.Db.Store, id)
		if err != nil {
			return err
		}
		var touched []envelope.Touched
		for _, index := range u.m.Indexes() {
			if rec.Value != nil {
				touched = append(touched, envelope.Touched{Index: index.Name(), Places: index.Places(rec.Value)})
			}
		}
		u.m.Db.Recent.Drop(u.m.Key(id))
		return u.m.Repair(ctx, u.m.Db.Store, id, rec.Rev+1, touched, true)
	})
}

func (u untyped) Remove(ctx context.Context, id string, places [][]string) error {
	var touched []envelope.Touched
	for i, index := range u.shown() {
		touched = append(touched, envelope.Touched{Index: index.Name(), Places: places[i]})
	}
	u.m.Db.Recent.Drop(u.m.Key(id))
	return u.m.InTurn(ctx, id, func(id string) error { return u.m.Repair(ctx, u.m.Db.Store, id, 0, touched, true) })
}

func (u untyped) Enlist(ctx context.Context, ids []string) error {
	return cmp.Or(u.m.Db.Writable(), u.m.Archive(ctx, ids))
}

func (u untyped) Prepare(ctx context.Context, whole func(index string) bool) error {
	if err := u.m.Writable(ctx); err != nil {
		return err
	}
	if err := u.m.Distrust(ctx); err != nil {
		return err
	}
	tokens, err := u.m.Built.Build(ctx)
	if err != nil {
		return err
	}
	var kept []string
	for _, index := range u.m.Indexes() {
		if whole(index.Name()) {
			kept = append(kept, core.Definition(index))
		}
	}
	return u.m.Built.Mark(ctx, tokens, kept...)
}

func (u untyped) Accept(ctx context.Context) error {
	return cmp.Or(u.m.Db.Writable(), u.m.Accept(ctx))
}

func (u untyped) Purge(ctx context.Context, id string) error {
	if err := u.m.Parses(id); err != nil {
		return u.m.Failure(id, fmt.Errorf("%w: %w", ErrInvalid, err))
	}
	return erase.Purge(ctx, u.m.Model, id, false)
}

func (u untyped) Resave(ctx context.Context, ids []string, dry bool) (n int, err error) {
	recs, err := u.m.See(ctx, u.m.Db.Store, ids)
	if recs == nil {
		return 0, err
	}
	for _, rec := range recs {
		switch {
		case rec.Damaged():
			return n, rec.Err // Upgrade may have refused it.
		case rec.Value == nil || rec.Envelope.Model >= u.m.Version:
			continue
		}
		n++
		if !dry {
			err = u.m.InTurn(ctx, rec.ID, func(id string) error { return u.rewrite(ctx, id) })
		}
		if err != nil {
			return n, u.m.Failure(rec.ID, err)
		}
	}
	return n, nil
}

// rewrite stores the record id in the current version. Its places stay the same.
func (u untyped) rewrite(ctx context.Context, id string) error {
	return kv.Change(u.m.Key(id), func() error {
		rec, err := u.m.Readable(ctx, u.m.Db.Store, id)
		if err != nil || rec.Value == nil || rec.Envelope.Model >= u.m.Version {
			return err
		}
		env := *rec.Envelope
		env.Model, env.Rev = u.m.Version, rec.Rev+1
		if env.Body, err = u.m.EncodeBody(rec.Envelope, rec.Value); err != nil {
			return err
		}
		u.m.Db.Recent.Drop(u.m.Key(id))
		_, err = kv.One(ctx, u.m.Db.Store, u.m.Store(rec, &env))
		return err
	})
}

func (u untyped) Orphans(ctx context.Context, id string) error {
	if err := u.m.Db.Writable(); err != nil {
		return err
	}
	return erase.DeleteOrphans(ctx, u.m.Model, id)
}

func (u untyped) Build(ctx context.Context, again bool) error {
	if !again {
		missing, err := u.m.builds.Missing(ctx)
		if err != nil && !errors.Is(err, ErrNeedsRebuild) || err == nil && len(missing) == 0 {
			return err
		}
	}
	return u.m.rebuildAll(ctx)
}
