package kv_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("the call ended after %v, want 5s", took)
		}
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
			if err := kv.Ended(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("with a patience of %v it ended with %v", patience, err)
			}
		}
		canceled, stop := context.WithCancel(t.Context())
		ctx, cancel := kv.Patient(canceled, time.Hour)
		defer cancel()
		if err := kv.Ended(ctx); err != nil {
			t.Errorf("it has ended before it was canceled: %v", err)
		}
		stop()
		if err := kv.Ended(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("when it was canceled, it ended with %v", err)
		}
	})
}

func TestPatient_WithoutPatienceACallHasNoDeadline(t *testing.T) {
	ctx, cancel := kv.Patient(t.Context(), 0)
	defer cancel()
	if _, limited := ctx.Deadline(); limited {
		t.Error("it has a deadline")
	}
}
