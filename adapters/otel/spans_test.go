package kvotel_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	kvotel "github.com/ringtree/ringtree/adapters/otel"
	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// note is a record with a counter.
type note struct{ ID string }

// views returns the counter of notes in db.
func views(db *kvmodel.DB) *index.Counter[string] {
	notes := kvmodel.NewRecords(db, kvmodel.Schema[note, string]{
		Name: "Note", Version: 1, Key: kvmodel.StringKey[string](),
		ID: func(v *note) string { return v.ID }, SetID: func(v *note, id string) { v.ID = id },
	})
	return index.NewCounter(notes, "Views")
}

// recorded returns a provider of the SDK, and what returns the spans that have ended, each
// as its name and that of the span around it.
func recorded() (*sdktrace.TracerProvider, func() map[string]sdktrace.ReadOnlySpan) {
	recorder := tracetest.NewSpanRecorder()
	return sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)), func() map[string]sdktrace.ReadOnlySpan {
		names, found := map[string]string{}, map[string]sdktrace.ReadOnlySpan{}
		for _, span := range recorder.Ended() {
			names[span.SpanContext().SpanID().String()] = span.Name()
		}
		for _, span := range recorder.Ended() {
			found[names[span.Parent().SpanID().String()]+">"+span.Name()] = span
		}
		return found
	}
}

func TestSpans_OfTripsStandInThoseOfVerbs(t *testing.T) {
	provider, ended := recorded()
	db, err := kvopen.Open(t.Context(), "mem:", kvotel.Spans(provider))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(t.Context())
	ctx, request := provider.Tracer("test").Start(t.Context(), "GET /")
	if _, err := views(db).Get(ctx, "ring"); err != nil {
		t.Fatal(err)
	}
	request.End()
	found := ended()
	verb, trip := found["GET />Note.Views.Get"], found["Note.Views.Get>trip"]
	if verb == nil || trip == nil || len(found) != 3 {
		t.Fatalf("want a trip in a verb in the request, got %v", found)
	}
	wantAttributes(t, verb, "map[ringtree.index:Views ringtree.model:Note ringtree.verb:Get]")
	wantAttributes(t, trip, "map[ringtree.reads:2 ringtree.writes:0]")
	if trip.StartTime().Before(verb.StartTime()) || trip.EndTime().After(verb.EndTime()) {
		t.Errorf("the trip from %v to %v is not in the verb from %v to %v", trip.StartTime(), trip.EndTime(), verb.StartTime(), verb.EndTime())
	}
	if verb.Status().Code != codes.Unset || trip.Status().Code != codes.Unset {
		t.Errorf("nothing has failed: %v, %v", verb.Status(), trip.Status())
	}
}

func wantAttributes(t *testing.T, span sdktrace.ReadOnlySpan, want string) {
	t.Helper()
	all := map[string]string{}
	for _, a := range span.Attributes() {
		all[string(a.Key)] = a.Value.Emit()
	}
	if got := fmt.Sprint(all); got != want {
		t.Errorf("%s: want %s, got %s", span.Name(), want, got)
	}
}

// failing is a store that fails.
type failing struct{ kv.Store }

func (failing) Do(_ context.Context, ops []kv.Op) error {
	return kv.Fail(ops, fmt.Errorf("%w: the password is secret", kv.ErrUnavailable))
}

func TestSpans_SayThatTheStoreHasFailed(t *testing.T) {
	provider, ended := recorded()
	db, err := kvmodel.Open(failing{memkv.New(memkv.Options{})}, kvotel.Spans(provider))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := views(db).Get(t.Context(), "bob"); !errors.Is(err, kv.ErrUnavailable) {
		t.Errorf("want an ErrUnavailable, got %v", err)
	}
	found := ended()
	for _, name := range []string{">Note.Views.Get", "Note.Views.Get>trip"} {
		span := found[name]
		if span == nil {
			t.Fatalf("there is no span %s, but %v", name, found)
		}
		if s := span.Status(); s.Code != codes.Error || strings.Contains(s.Description, "secret") || strings.Contains(s.Description, "bob") {
			t.Errorf("%s: want the status of an error that tells nothing of the data, got %v", name, s)
		}
	}
}

func Example() {
	ctx := context.Background()
	db, err := kvopen.Open(ctx, "mem:", kvotel.Spans(otel.GetTracerProvider()))
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close(ctx)
}
