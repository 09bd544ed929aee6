package kvmodel

import (
	"context"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/kvmodel/internal/core"
)

// Access for tests.

// KeepDeletions makes models created until t ends remember n deletions.
func KeepDeletions(t interface{ Cleanup(func()) }, n int) {
	was := core.MaxDeletions
	core.MaxDeletions = n
	t.Cleanup(func() { core.MaxDeletions = was })
}

// RevOf returns the rev of a stored record.
func RevOf(data []byte) (uint64, error) {
	e, err := envelope.Decode(data)
	return e.Revision(), err
}

// BodyOf returns the model version and the body of a stored record.
func BodyOf(data []byte) (int, []byte, error) {
	e, err := envelope.Decode(data)
	if err != nil {
		return 0, nil, err
	}
	return e.Model, e.Body, nil
}

// EncodeLive returns the stored form of a live record.
func EncodeLive(model int, rev uint64, body []byte) []byte {
	e := envelope.Envelope{Model: model, Rev: rev, Body: body}
	return e.Encode(nil)
}

// Accept acknowledges the loss of parts of the model's enumeration and of its built item.
func (r *Records[T, K]) Accept(ctx context.Context) error { return r.m.Model.Accept(ctx) }

// TextsOf returns the texts of ids, as calls for many records make them.
func TextsOf[K any](k KeyOf[K], ids []K) []string { return k.texts(ids) }
