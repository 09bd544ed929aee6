// Package kvotel shows to OpenTelemetry what a database does: a span for each verb, and in
// it one for each trip.
//
//	db, err := kvopen.Open(ctx, url, kvotel.Spans(otel.GetTracerProvider()))
package kvotel

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Spans makes a database begin spans. That of a verb is named Model.Index.Verb, as
// kvmodel.Work is, and stands in the span of the verb's context; work in the background has
// no span around it. That of a trip says how many ops it had, and why the store has failed
// if it did; then that of the verb says so, too. No span has keys or values.
func Spans(provider trace.TracerProvider) kvmodel.Option {
	t := tracer{provider.Tracer("github.com/ringtree/ringtree")}
	return kvmodel.Observe(kvmodel.Hooks{Verb: t.verb, Trip: t.trip})
}

type tracer struct{ trace.Tracer }

func (t tracer) verb(ctx context.Context, w kvmodel.Work) (context.Context, func()) {
	ctx, span := t.Start(ctx, w.String(), trace.WithAttributes(
		attribute.String("ringtree.model", w.Model), attribute.String("ringtree.index", w.Index), attribute.String("ringtree.verb", w.Verb)))
	return ctx, func() { span.End() }
}

func (t tracer) trip(ctx context.Context, trip kvmodel.Trip) {
	reads := 0
	for i := range trip.Ops {
		if !trip.Ops[i].Kind.Writes() {
			reads++
		}
	}
	_, span := t.Start(ctx, "trip", trace.WithTimestamp(trip.Start), trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.Int("ringtree.reads", reads), attribute.Int("ringtree.writes", len(trip.Ops)-reads)))
	if trip.Err != nil {
		span.SetStatus(codes.Error, kv.Failure(trip.Err).Error()) // The error itself may name a key.
		if around := trace.SpanFromContext(ctx); trip.For.Verb != "" {
			around.SetStatus(codes.Error, "a trip has failed")
		}
	}
	span.End(trace.WithTimestamp(trip.Start.Add(trip.Took)))
}
