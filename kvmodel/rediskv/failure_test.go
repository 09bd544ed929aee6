package rediskv

import (
	"context"
	"errors"
	"testing"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

func TestStore_AWriteIsUnclearAloneThoughALookAtTheServerHasFailed(t *testing.T) {
	s := &Store{where: "here"}
	look := s.failed(kv.ErrUnavailable, context.DeadlineExceeded)
	op := kv.OpIncrement("k", 1)
	s.lose([]*kv.Op{&op}, look)
	if err := op.Result.Err; !errors.Is(err, kv.ErrUnclear) || errors.Is(err, kv.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the write ended in %v, want ErrUnclear alone, which wraps context.DeadlineExceeded", err)
	}
}

func TestStore_SaysOnceThatItCannotBeAsked(t *testing.T) {
	s := &Store{where: "here"}
	op := kv.OpGet("k")
	s.refuse([]*kv.Op{&op}, s.failed(kv.ErrUnavailable, errors.New("connection refused")), true)
	if want, got := "redis here: store unavailable: connection refused", op.Result.Err.Error(); got != want {
		t.Errorf("want %q, got %q", want, got)
	}
}
