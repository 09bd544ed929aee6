package keytree

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Own is the Truth of a tree whose members have no other record that holds the
// score: records that exist for the tree alone, one for each member.
type Own struct {
	prefix  string // of the texts of its keys
	now     func() time.Time
	expires time.Time
}

// NewOwn returns the records of the tree called name.
func NewOwn(name string, now func() time.Time, expires time.Time) *Own {
	return &Own{shorten(name) + ":i:", now, expires}
}

// tombstoneTTL is how long a record stays after its member was removed, so that a
// change in progress learns of it.
const tombstoneTTL = 24 * time.Hour

func (o *Own) key(id string) string { return treeKey.KeyOfText(nil, o.prefix+id) }

// States returns what the records of ids say.
func (o *Own) States(ctx context.Context, s kv.Store, ids []string) ([]State, error) {
	results, err := kv.GetAll(ctx, s, kv.Texts(ids, o.key)...)
	if err != nil {
		return nil, err
	}
	states := make([]State, len(ids))
	for i, r := range results {
		if states[i], err = decodeState(r); err != nil {
			return nil, err
		}
	}
	return states, nil
}

// record is a record as it was read.
type record struct {
	State
	version kv.Version // 0: absent
}

func (o *Own) read(ctx context.Context, s kv.Store, id string) (record, error) {
	r, _ := kv.One(ctx, s, kv.OpGet(o.key(id)))
	st, err := decodeState(r)
	return record{st, r.Version}, err
}

// next returns the state of the record after its member gets score, or is removed.
// Its version is greater than the old one, and than all versions from before the
// record was last absent.
func (o *Own) next(old record, in bool, score Score) State {
	return State{In: in, Score: score, Ver: max(old.Ver+1, uint64(o.now().UnixMilli()))}
}

// write replaces old with st.
func (o *Own) write(ctx context.Context, s kv.Store, id string, old record, st State) error {
	_, err := kv.One(ctx, s, kv.OpReplace(o.key(id), old.version, encodeState(st)).For(o.ttl(st)))
	return err
}

// fence raises the version of the record of id to past, if it is lower, and returns
// its state. A change prepared for an older version cannot commit then.
func (o *Own) fence(ctx context.Context, s kv.Store, id string, past uint64) (State, error) {
	r, err := o.read(ctx, s, id)
	if err != nil || r.Ver >= past {
		return r.State, err
	}
	st := r.State
	st.Ver = past
	return st, o.write(ctx, s, id, r, st)
}

// Clear removes the entry of d, unless its record confirms it by now. It first makes
// any change fail that was prepared for a version up to d.Past and has not
// committed.
func (t *Tree) Clear(ctx context.Context, s kv.Store, own *Own, d Doubt, due *Due) error {
	now, err := own.fence(ctx, s, d.ID, d.Past)
	if err != nil {
		return err
	}
	return t.begin(ctx, s, func(ep *epochs) error {
		return ep.remove(ctx, s, due, d.ID, d.Score, now)
	})
}

func (o *Own) ttl(st State) time.Duration {
	if o.expires.IsZero() && !st.In {
		return tombstoneTTL
	}
	return until(o.expires, o.now())
}

func encodeState(st State) []byte {
	b := appendFlag(append([]byte(magic), recordKind), st.In)
	b = binary.BigEndian.AppendUint64(b, uint64(st.Score))
	return seal(appendUint48(b, st.Ver))
}

func decodeState(r kv.Result) (State, error) {
	if r.Err != nil {
		return State{}, unlessAbsent(r.Err)
	}
	_, body, err := unseal(r.Value)
	if err != nil {
		return State{}, err
	}
	st := State{In: body.Byte()&1 != 0, Score: Score(body.Uint64()), Ver: body.uint48()}
	return st, body.end("record")
}
