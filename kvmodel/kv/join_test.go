package kv_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

func TestJoin_TellsEachKindOfFailureOnce(t *testing.T) {
	unavailable := kv.Unavailable(context.DeadlineExceeded)
	for want, errs := range map[string][]error{
		"":                  {nil, nil},
		"store unavailable": {nil, kv.ErrUnavailable, nil},
		"store unavailable (and 2 more like it); not found; not found":             {kv.ErrUnavailable, kv.ErrNotFound, unavailable, kv.ErrNotFound, unavailable},
		"unclear whether the write happened: store unavailable; store unavailable": {fmt.Errorf("%w: %w", kv.ErrUnclear, kv.ErrUnavailable), kv.ErrUnavailable},
		"a; b; c; and 2 other errors":                                              {errors.New("a"), errors.New("b"), errors.New("c"), errors.New("d"), errors.New("e")},
	} {
		got, err := "", kv.Join(errs...)
		if err != nil {
			got = err.Error()
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Join(%v) mismatch (-want +got):\n%s", errs, diff)
		}
		for _, of := range errs {
			if of != nil && !errors.Is(err, of) {
				t.Errorf("Join(%v) is not %v", errs, of)
			}
		}
	}
}

func TestUnanswered_SaysHowManyMoreOpsFailedTheSameWay(t *testing.T) {
	ops := []kv.Op{kv.OpGet("a"), kv.OpGet("b"), kv.OpSet("c", nil), kv.OpGet("d")}
	ops[0].Result.Err = kv.ErrNotFound
	ops[1].Result.Err = kv.ErrUnavailable
	ops[2].Result.Err = kv.ErrUnclear
	ops[3].Result.Err = kv.ErrUnavailable
	err := kv.Unanswered(ops)
	if want := `get "b": store unavailable (and 1 more op of the trip)`; err == nil || err.Error() != want {
		t.Errorf("Unanswered = %v, want %s", err, want)
	}
	if !errors.Is(err, kv.ErrUnavailable) {
		t.Errorf("%v is not an ErrUnavailable", err)
	}
	if want := `get "b": store unavailable`; kv.Unanswered(ops[:2]).Error() != want {
		t.Errorf("Unanswered of one = %v, want %s", kv.Unanswered(ops[:2]), want)
	}
}
