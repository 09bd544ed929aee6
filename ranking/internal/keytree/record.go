package keytree

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/ringtree/ringtree/internal/frame"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Own is the Truth of a tree whose scores are in no other record.
type Own struct {
	keys    kv.Family
	now     func() time.Time
	expires time.Time

	// Note journals coming changes, so that another process can Finish them if this one dies before
	// it calls done. Without claims it only prepares for that. Nil: no journal.
	Note func(ctx context.Context, s kv.Store, claims []Claim) (done func(), err error)
}

type Claim struct {
	ID     string
	Ver    uint64
	Scores []Score
}

func NewOwn(name string, now func() time.Time, expires time.Time) *Own {
	return &Own{keys: treeKey.Family().And(plug.TreeName(name) + ":i:"), now: now, expires: expires}
}

func (o *Own) Key(id string) string { return o.keys.Key(id) }

func (o *Own) States(ctx context.Context, s kv.Store, ids []string) ([]State, error) {
	results, err := kv.GetEach(ctx, s, nil, []kv.Family{o.keys}, ids)
	if err != nil {
		return nil, err
	}
	states := make([]State, len(ids))
	for i, r := range results {
		if states[i], err = stateIn(func() string { return o.Key(ids[i]) }, r); err != nil {
			return nil, err
		}
	}
	return states, nil
}

func (o *Own) Drops(ctx context.Context, s kv.Store, ids []string) (drops []kv.Op, err error) {
	results, err := kv.GetAll(ctx, s, kv.Texts(ids, o.Key)...)
	if err != nil {
		return nil, err
	}
	for i, r := range results {
		if rec, err := recordIn(o.Key(ids[i]), r); err == nil && r.Err == nil && !rec.In {
			drops = append(drops, kv.OpDrop(o.Key(ids[i]), r.Version))
		}
	}
	return drops, nil
}

type record struct {
	State
	version kv.Version
}

func (o *Own) read(ctx context.Context, s kv.Store, id string) (record, error) {
	key := o.Key(id)
	r, _ := kv.One(ctx, s, kv.OpGet(key))
	return recordIn(key, r)
}

// same ignores versions. A damaged record equals no other.
func (st State) same(other State) bool {
	return st.Broken == nil && other.Broken == nil && st.In == other.In && (!st.In || st.Score == other.Score)
}

// The version of nextState is above the old one, and above all before the record was last absent.
func (o *Own) nextState(old record, to State) State {
	return State{In: to.In, Score: to.Score, Ver: max(old.Ver+1, uint64(o.now().UnixMilli()))}
}

func (o *Own) write(ctx context.Context, s kv.Store, id string, old record, st State) error {
	_, err := kv.One(ctx, s, o.put(o.Key(id), old.version, st))
	return err
}

func (o *Own) put(key string, old kv.Version, st State) kv.Op {
	return kv.OpReplace(key, old, encodeState(st)).For(o.ttl(st))
}

// fence raises the version of a record to past, so that a change prepared for an older version
// cannot commit. A damaged record stays as it is: see again.
func (o *Own) fence(ctx context.Context, s kv.Store, id string, past uint64) (st State, err error) {
	err = kv.Change(o.Key(id), func() error {
		r, err := o.read(ctx, s, id)
		st = r.State
		if err != nil || r.Broken != nil || r.Ver >= past {
			return err
		}
		st.Ver = past
		return o.write(ctx, s, id, r, st)
	})
	return st, err
}

func (o *Own) again(ctx context.Context, s kv.Store, d Doubt) error {
	return kv.Change(o.Key(d.ID), func() error {
		r, err := o.read(ctx, s, d.ID)
		if err != nil || r.Broken == nil {
			return err
		}
		st := o.nextState(r, *d.Again)
		st.Ver = max(st.Ver, d.Past)
		return o.write(ctx, s, d.ID, r, st)
	})
}

// Finish makes the uncommitted changes of a dead process fail, tidies the entries they touched, and
// corrects the counts there.
func (t *Tree) Finish(ctx context.Context, s kv.Store, own *Own, claims []Claim, due *Due) error {
	return each(ctx, s, claims, func(s kv.Store, _ int, c Claim) error {
		now, err := own.fence(ctx, s, c.ID, c.Ver)
		if err != nil {
			return err
		}
		for _, score := range c.Scores {
			if err := t.repair(ctx, s, c.ID, score, now, due); err != nil {
				return err
			}
		}
		return nil
	})
}

// Clear removes the entry of d, unless its record confirms it by now. It first rewrites a damaged
// record, and makes uncommitted changes up to version d.Past fail.
func (t *Tree) Clear(ctx context.Context, s kv.Store, own *Own, d Doubt, due *Due) error {
	if d.Again != nil {
		if err := own.again(ctx, s, d); err != nil {
			return err
		}
	}
	now, err := own.fence(ctx, s, d.ID, d.Past)
	if err != nil {
		return err
	}
	return t.begin(ctx, s, func(ep *epochs) error {
		return ep.tidy(ctx, s, due, Tidying{d.ID, d.Score, now})
	})
}

func (o *Own) ttl(st State) time.Duration {
	if o.expires.IsZero() && !st.In {
		return times.Tombstone
	}
	return until(o.expires, o.now())
}

const (
	inFlag = 1 << iota
	tieFlag
)

func encodeState(st State) []byte {
	var flags byte
	if st.In {
		flags |= inFlag
	}
	if st.Score.tie != 0 {
		flags |= tieFlag
	}
	b := append([]byte(magic), recordKind, flags)
	b = binary.BigEndian.AppendUint64(b, st.Score.n)
	b = appendUint48(b, st.Ver)
	if st.Score.tie != 0 {
		b = binary.BigEndian.AppendUint64(b, st.Score.tie)
	}
	return frame.Whole(b)
}

func recordIn(key string, r kv.Result) (record, error) {
	st, err := stateIn(func() string { return key }, r)
	return record{st, r.Version}, err
}

func stateIn(key func() string, r kv.Result) (State, error) {
	st, err := decodeState(r)
	if wire.IsCorrupt(err) {
		return State{Apart: true, Broken: wire.Corrupt(key(), err)}, nil
	}
	return st, err
}

func decodeState(r kv.Result) (State, error) {
	if r.Err != nil {
		return State{}, unlessAbsent(r.Err)
	}
	_, body, err := unseal(r.Value)
	if err != nil {
		return State{}, err
	}
	flags := body.Byte()
	st := State{In: flags&inFlag != 0, Score: FromUint(body.Uint64()), Ver: body.uint48()}
	if flags&tieFlag != 0 {
		st.Score.tie = body.Uint64()
	}
	return st, body.end("record")
}

type State struct {
	In    bool
	Score Score
	Ver   uint64
	Apart bool // not in, but its record exists

	// Broken: the record is damaged, the rest is unknown, and the next write replaces it.
	Broken error

	Value any // read along with the state
}

func (st State) confirms(e entry) bool { return st.In && e.score == st.Score }

// If the record exists, a dead entry stays pending until the record has changed once more and a
// query reads the entry, or until Mend.
func (st State) judge(e entry, now time.Time) plug.Verdict {
	return plug.Judge(e.ver, st.Ver, st.confirms(e), plug.Age(e.ver, st.In || st.Apart, now))
}

type Truth interface {
	// States takes one trip. Without a record a member is not in, at version 0.
	States(ctx context.Context, s kv.Store, ids []string) ([]State, error)
}

// knowing returns p with records as they will be at the end of the transaction; nil: none.
func (p *nodes) knowing(known map[string]*State) *nodes {
	if known == nil {
		return p
	}
	with := *p
	with.truth = knownTruth{p.truth, known}
	return &with
}

type knownTruth struct {
	Truth
	states map[string]*State
}

func (t knownTruth) States(ctx context.Context, s kv.Store, ids []string) ([]State, error) {
	states, err := t.Truth.States(ctx, s, ids)
	for i := range states {
		if st := t.states[ids[i]]; st != nil {
			states[i] = *st
		}
	}
	return states, err
}
