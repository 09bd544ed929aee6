package kvmodel

import (
	"context"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/internal/core"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// History is the earlier revisions of a model's records.
type History[T any, K comparable] struct{ r *Records[T, K] }

// NewHistory returns the history of r. The schema of r says how many revisions are kept.
func NewHistory[T any, K comparable](r *Records[T, K]) *History[T, K] { return &History[T, K]{r} }

func (h *History[T, K]) db() core.Scope { return h.r.m.Db.Of("History") }

// Revision is one version of a record's values.
type Revision[T any] struct {
	Rev  int64     // 1, 2, 3, ... for each record
	At   time.Time // time of the write, on the writer's clock
	Item *T        // nil: the record was deleted, or too large to keep
}

// Of returns the last n revisions of the record with id, newest first, beginning with the current
// record unless it is older than the history. One trip. With an ErrCorrupt it returns the readable
// revisions newer than the damage.
func (h *History[T, K]) Of(ctx context.Context, id K, n int) ([]Revision[T], error) {
	ctx, end := h.db().Begin(ctx, "Of")
	defer end()
	m, text := h.r.m, h.r.schema.Key.Text(id)
	rec, log, version, damaged := m.ReadHistory(ctx, m.Db.Store, text)
	if damaged != nil && version == 0 {
		return nil, m.Failure(text, damaged)
	}
	var revisions []Revision[T]
	for _, e := range log.Chain(rec.Envelope) {
		if len(revisions) == n {
			break
		}
		rev := Revision[T]{Rev: e.Number, At: e.At}
		if e.Kept {
			item, err := m.DecodeBody(e.Model, e.Body, false)
			if err != nil {
				return nil, m.Failure(text, fmt.Errorf("revision %d: %w", e.Number, err))
			}
			rev.Item = item.(*T)
		}
		revisions = append(revisions, rev)
	}
	return revisions, m.Failure(text, damaged)
}

// Restore sets the record with id, even if deleted, to revision rev, as a normal change with a
// revision of its own. ErrNotFound if rev is not kept.
func (h *History[T, K]) Restore(ctx context.Context, id K, rev int64) (*T, error) {
	ctx, end := h.db().Begin(ctx, "Restore")
	defer end()
	ctx, cancel := h.r.m.Db.Patient(ctx)
	defer cancel()
	revisions, err := h.Of(ctx, id, h.r.m.History)
	if err != nil && !wire.IsCorrupt(err) {
		return nil, err
	}
	for _, r := range revisions {
		if r.Rev == rev && r.Item != nil {
			return h.r.Upsert(ctx, id, func(v *T) error { *v = *r.Item; return nil })
		}
	}
	if err != nil {
		return nil, err
	}
	text := h.r.schema.Key.Text(id)
	return nil, h.r.m.Failure(text, fmt.Errorf("%w: revision %d", kv.ErrNotFound, rev))
}
