package kvprometheus_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"

	kvprometheus "github.com/ringtree/ringtree/adapters/prometheus"
	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// gather returns what a registry shows, by name and labels.
func gather(t *testing.T, m *kvprometheus.Metrics) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.Metric {
			name := family.GetName()
			for _, label := range metric.Label {
				name += fmt.Sprintf(" %s=%s", label.GetName(), label.GetValue())
			}
			found[name] = valueOf(metric)
		}
	}
	return found
}

func valueOf(m *dto.Metric) float64 {
	if m.Histogram != nil {
		return float64(m.Histogram.GetSampleCount())
	}
	return m.GetGauge().GetValue() + m.GetCounter().GetValue()
}

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

func want(t *testing.T, found map[string]float64, name string, value float64) {
	t.Helper()
	if got, there := found[name]; !there || got != value {
		t.Errorf("%s: want %v, got %v (there: %v)", name, value, got, there)
	}
}

func TestMetrics_CountTripsByVerbAndShowStats(t *testing.T) {
	m := kvprometheus.New()
	db, err := kvopen.Open(t.Context(), "bolt:"+filepath.Join(t.TempDir(), "a.db"), m.Option())
	if err != nil {
		t.Fatal(err)
	}
	m.Watch(db)
	hits := views(db)
	if err := hits.Set(t.Context(), "bob", 7); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := hits.Get(t.Context(), "bob"); err != nil {
			t.Fatal(err)
		}
	}
	found := gather(t, m)
	want(t, found, "ringtree_trip_seconds index=Views model=Note verb=Get", 3)
	want(t, found, "ringtree_servers_lost", 0)
	want(t, found, "ringtree_background_room", 1000)
	want(t, found, "ringtree_disk_commits_total", float64(db.Stats().Disk.Commits))
	want(t, found, "ringtree_disk_trouble", 0)
	if found["ringtree_disk_commit_seconds_total"] <= 0 {
		t.Error("the commits took no time")
	}
	if err := db.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// failing is a store that fails.
type failing struct {
	kv.Store
	err error
}

func (f failing) Do(_ context.Context, ops []kv.Op) error { return kv.Fail(ops, f.err) }

func TestMetrics_CountFailuresByKind(t *testing.T) {
	for kind, err := range map[string]error{"lost": kv.ErrLost, "unclear": kv.ErrUnclear, "unavailable": kv.ErrUnavailable} {
		m := kvprometheus.New()
		db, openErr := kvmodel.Open(failing{memkv.New(memkv.Options{}), err}, m.Option())
		if openErr != nil {
			t.Fatal(openErr)
		}
		if _, got := views(db).Get(t.Context(), "bob"); !errors.Is(got, err) {
			t.Errorf("want %v, got %v", err, got)
		}
		want(t, gather(t, m), "ringtree_trips_failed_total index=Views kind="+kind+" model=Note verb=Get", 1)
	}
}

func Example() {
	ctx := context.Background()
	metrics := kvprometheus.New()
	db, err := kvopen.Open(ctx, "mem:", metrics.Option())
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close(ctx)
	metrics.Watch(db)
	prometheus.MustRegister(metrics)
	http.Handle("/metrics", promhttp.Handler())
}
