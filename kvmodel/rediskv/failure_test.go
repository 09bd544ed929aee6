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
