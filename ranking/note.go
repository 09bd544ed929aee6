package ranking

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// No model has such a name in a journal.
func noteName(board ...string) string { return "rank:" + kv.JoinText(board...) }

type note struct {
	by     string
	at     time.Time // in the tree's period; zero without periods
	claims []keytree.Claim
}

// noter returns nil on a store with transactions, which need no notes.
func noter(db plug.DB, name, by string, at time.Time) func(context.Context, kv.Store, []keytree.Claim) (func(), error) {
	if kv.PowersOf(db.Store()).Atomic != nil {
		return nil
	}
	return func(ctx context.Context, s kv.Store, claims []keytree.Claim) (func(), error) {
		var texts []string
		if len(claims) > 0 {
			texts = []string{note{by, at, claims}.encode()}
		}
		return db.Note(ctx, s, name, texts)
	}
}

func (n note) encode() string {
	at := int64(0)
	if !n.at.IsZero() {
		at = n.at.UnixMilli()
	}
	b := wire.AppendText(nil, n.by)
	b = binary.AppendUvarint(b, uint64(at))
	b = binary.AppendUvarint(b, uint64(len(n.claims)))
	for _, c := range n.claims {
		b = wire.AppendText(b, c.ID)
		b = binary.AppendUvarint(b, c.Ver)
		b = binary.AppendUvarint(b, uint64(len(c.Scores)))
		for _, score := range c.Scores {
			b = binary.BigEndian.AppendUint64(b, score.Uint())
		}
	}
	if n.hasTies() {
		for _, c := range n.claims {
			for _, score := range c.Scores {
				b = binary.BigEndian.AppendUint64(b, score.Tie())
			}
		}
	}
	return string(b)
}

func (n note) hasTies() bool {
	return slices.ContainsFunc(n.claims, func(c keytree.Claim) bool {
		return slices.ContainsFunc(c.Scores, func(s keytree.Score) bool { return s.Tie() != 0 })
	})
}

func decodeNote(text string) (n note, err error) {
	r := wire.Reader{Rest: []byte(text)}
	n.by = r.Text("value")
	if at := r.Number("time", math.MaxInt64); at > 0 {
		n.at = time.UnixMilli(int64(at))
	}
	n.claims = make([]keytree.Claim, 0, r.Count("members", 3))
	for range cap(n.claims) {
		c := keytree.Claim{ID: r.Text("id"), Ver: r.Number("version", math.MaxUint64)}
		c.Scores = make([]keytree.Score, 0, r.Count("scores", 8))
		for range cap(c.Scores) {
			c.Scores = append(c.Scores, keytree.FromUint(r.Uint64()))
		}
		n.claims = append(n.claims, c)
	}
	if len(r.Rest) > 0 {
		for _, c := range n.claims {
			for i := range c.Scores {
				c.Scores[i] = c.Scores[i].WithTie(r.Uint64())
			}
		}
	}
	if r.Err != nil || len(r.Rest) > 0 {
		return n, fmt.Errorf("%w: a note of a ranking", kvmodel.ErrCorrupt)
	}
	return n, nil
}

const finishAtOnce = 100

// find returns the tree of a note, without an Own if its period has ended.
func finishNotes(ctx context.Context, s kv.Store, reports *reporter, texts []string, find func(note) tree) error {
	var errs []error
	due := new(keytree.Due)
	for _, text := range texts {
		n, err := decodeNote(text)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		t := find(n)
		if t.own == nil {
			continue
		}
		for some := range slices.Chunk(n.claims, finishAtOnce) {
			errs = append(errs, t.Finish(ctx, s, t.own, some, due))
		}
	}
	return kv.Join(append(errs, reports.now(ctx, due))...)
}
