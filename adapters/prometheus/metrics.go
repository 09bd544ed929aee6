// Package kvprometheus exports the metrics of a database to Prometheus:
//
//	metrics := kvprometheus.New()
//	db, err := kvopen.Open(ctx, url, metrics.Option())
//	metrics.Watch(db)
//	prometheus.MustRegister(metrics)
//
// docs/observation.md lists the metrics to watch.
package kvprometheus

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Metrics is a prometheus.Collector of a database: the durations and failures of its trips, by
// verb, and its Stats.
type Metrics struct {
	trips  *prometheus.HistogramVec
	failed *prometheus.CounterVec
	db     atomic.Pointer[kvmodel.DB]
}

var verb = []string{"model", "index", "verb"}

// New returns the metrics of a database that is opened with their Option.
func New() *Metrics {
	return &Metrics{
		trips: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "ringtree_trip_seconds", Help: "How long requests to the store take.",
			Buckets: prometheus.ExponentialBuckets(0.00025, 2, 16),
		}, verb),
		failed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ringtree_trips_failed_total", Help: "Requests that the store has failed: lost, unclear or unavailable.",
		}, append([]string{"kind"}, verb...)),
	}
}

// Option makes a database report its trips.
func (m *Metrics) Option() kvmodel.Option {
	return kvmodel.Observe(kvmodel.Hooks{Trip: m.trip})
}

func (m *Metrics) trip(_ context.Context, t kv.Trip) {
	m.trips.WithLabelValues(t.For.Model, t.For.Index, t.For.Verb).Observe(t.Took.Seconds())
	if t.Err != nil {
		m.failed.WithLabelValues(kindOf(t.Err), t.For.Model, t.For.Index, t.For.Verb).Inc()
	}
}

func kindOf(err error) string {
	switch {
	case errors.Is(err, kvmodel.ErrLost):
		return "lost"
	case errors.Is(err, kvmodel.ErrUnclear):
		return "unclear"
	}
	return "unavailable"
}

// Watch adds the Stats of db.
func (m *Metrics) Watch(db *kvmodel.DB) { m.db.Store(db) }

// Describe describes all metrics.
func (m *Metrics) Describe(descs chan<- *prometheus.Desc) {
	m.trips.Describe(descs)
	m.failed.Describe(descs)
	for _, n := range append(numbers, ofDisk...) {
		descs <- n.desc
	}
	descs <- failures
}

// Collect collects all metrics. It makes no trip.
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	m.trips.Collect(out)
	m.failed.Collect(out)
	db := m.db.Load()
	if db == nil {
		return
	}
	s, shown := db.Stats(), numbers
	if s.Disk != nil {
		shown = append(shown, ofDisk...)
	}
	for _, n := range shown {
		out <- prometheus.MustNewConstMetric(n.desc, n.kind, n.value(s))
	}
	for kind, n := range s.Failures {
		out <- prometheus.MustNewConstMetric(failures, prometheus.CounterValue, float64(n), kind)
	}
}

// number is one of Stats.
type number struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(kvmodel.Stats) float64
}

func gauge(name, help string, value func(kvmodel.Stats) float64) number {
	return number{describe(name, help), prometheus.GaugeValue, value}
}

func total(name, help string, value func(kvmodel.Stats) float64) number {
	return number{describe(name, help), prometheus.CounterValue, value}
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("ringtree_"+name, help, labels, nil)
}

var failures = describe("failures_total", "What has failed after replies, by kind.", "kind")

var numbers = []number{
	gauge("servers_lost", "Servers that have lost their memory.", func(s kvmodel.Stats) float64 { return float64(s.Lost) }),
	gauge("servers_away", "Servers that refuse or do not answer.", func(s kvmodel.Stats) float64 { return float64(len(s.Away)) }),
	gauge("indexes_unbuilt", "Indexes that cannot be read.", func(s kvmodel.Stats) float64 { return float64(len(s.Unbuilt)) }),
	gauge("builds", "Builds of indexes under way.", func(s kvmodel.Stats) float64 { return float64(len(s.Builds)) }),
	gauge("changes_open", "Changes that are not complete.", func(s kvmodel.Stats) float64 { return float64(s.Lines) }),
	gauge("oldest_change_seconds", "For how long the oldest of them is not.", func(s kvmodel.Stats) float64 { return s.Oldest.Seconds() }),
	gauge("background_queued", "Works after replies that wait for their turn.", func(s kvmodel.Stats) float64 { return float64(s.Queued) }),
	gauge("background_room", "How many may wait.", func(s kvmodel.Stats) float64 { return float64(s.Room) }),
	gauge("background_waiting", "Works that will be tried again.", func(s kvmodel.Stats) float64 { return float64(s.Waiting) }),
	gauge("counts_in_doubt", "Derived counts that will be counted again.", func(s kvmodel.Stats) float64 { return float64(s.InDoubt) }),
	gauge("cascades", "Deletions whose children are being deleted.", func(s kvmodel.Stats) float64 { return float64(len(s.Cascades)) }),
	total("races_lost_total", "Changes that have started over.", func(s kvmodel.Stats) float64 { return float64(s.Retries) }),
}

// ofDisk are the numbers of a store in a file.
var ofDisk = []number{
	total("disk_commits_total", "Commits.", func(s kvmodel.Stats) float64 { return float64(s.Disk.Commits) }),
	total("disk_commit_seconds_total", "How long they took.", func(s kvmodel.Stats) float64 { return s.Disk.Committing.Seconds() }),
	gauge("disk_unmoved_bytes", "What is committed and not yet where it is to stay.", func(s kvmodel.Stats) float64 { return float64(s.Disk.Unmoved) }),
	gauge("disk_lost_commits", "Commits that a crash of the machine had taken.", func(s kvmodel.Stats) float64 { return float64(s.Disk.Lost) }),
	gauge("disk_damaged_items", "Items that were found damaged or missing.", func(s kvmodel.Stats) float64 { return float64(s.Disk.Damaged) }),
	gauge("disk_behind_seconds", "By how much what is shipped, or a copy, is behind.", func(s kvmodel.Stats) float64 { return s.Disk.Behind.Seconds() }),
	gauge("disk_trouble", "1: something fails in the background.", func(s kvmodel.Stats) float64 {
		if s.Disk.Trouble != nil {
			return 1
		}
		return 0
	}),
}
