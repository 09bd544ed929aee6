package kv_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func TestPatient_TheTripsOfACallShareOnePatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		ctx, cancel := kv.Patient(t.Context(), 5*time.Second)
		defer cancel()
		for range 3 {
			inner, cancel := kv.Patient(ctx, 5*time.Second)
			kv.Sleep(inner, 2*time.Second)
			cancel()
		}
		<-ctx.Done()
		proof.Equal(t, time.Since(start), 5*time.Second, "the call ended after")
		err := kv.Ended(ctx)
		if errors.Is(err, context.DeadlineExceeded) || err == nil || !strings.Contains(err.Error(), "within 5s") {
			t.Errorf("it ended with %v, want an error that names the patience", err)
		}
	})
}

func TestPatient_TheCallersOwnEndStaysRecognizable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limited, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for _, patience := range []time.Duration{0, time.Millisecond, time.Hour} {
			ctx, cancel := kv.Patient(limited, patience)
			<-ctx.Done()
			cancel()
			proof.Is(t, kv.Ended(ctx), context.DeadlineExceeded)
		}
		canceled, stop := context.WithCancel(t.Context())
		ctx, cancel := kv.Patient(canceled, time.Hour)
		defer cancel()
		proof.Is(t, kv.Ended(ctx), nil)
		stop()
		proof.Is(t, kv.Ended(ctx), context.Canceled)
	})
}

func TestPatient_WithoutPatienceACallHasNoDeadline(t *testing.T) {
	ctx, cancel := kv.Patient(t.Context(), 0)
	defer cancel()
	if _, limited := ctx.Deadline(); limited {
		t.Error("it has a deadline")
	}
}

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
		proof.NoDiff(t, cmp.Diff(want, got), "Join(%v)", errs)
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
	proof.Is(t, err, kv.ErrUnavailable)
	if want := `get "b": store unavailable`; kv.Unanswered(ops[:2]).Error() != want {
		t.Errorf("Unanswered of one = %v, want %s", kv.Unanswered(ops[:2]), want)
	}
}
