package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// goal is a bound for a number that is made of one peer's result, and of another's for a
// ratio.
type goal struct {
	workload string
	clients  int
	ours     string
	against  string // the peer of a ratio, or with a dot the workload of the same peer
	what     metric
	sign     string // <= or >=
	limit    float64
	pages    int // it holds for so many pages and more; 0: for any number
}

// metric is what a goal is about.
type metric struct {
	name  string
	value func(ours, theirs *result) float64
	unit  string
}

var (
	faster     = metric{"p50, times as fast as", func(o, t *result) float64 { return t.P50.Median / o.P50.Median }, "x"}
	throughput = metric{"ops/s, times those of", func(o, t *result) float64 { return o.Ops.Median / t.Ops.Median }, "x"}
	above      = metric{"p50, part above", func(o, t *result) float64 { return 100 * (o.P50.Median/t.P50.Median - 1) }, "%"}
	// As in testing.AllocsPerRun, without the fraction, which is of work in the background.
	allocs    = metric{"allocations", func(o, _ *result) float64 { return math.Floor(o.Allocs) }, ""}
	kilobytes = metric{"allocated", func(o, _ *result) float64 { return o.Bytes / 1e3 }, "KB"}
	p50       = metric{"p50", func(o, _ *result) float64 { return o.P50.Median }, "us"}
	trips     = metric{"trips", func(o, _ *result) float64 { return o.Trips }, ""}
)

const (
	gormPostgres = "gorm-postgres"
	onRedis      = "ringtree-redis"
	onNear       = "ringtree-redis-near"
	onMemcached  = "ringtree-memcached"
	onBolt       = "ringtree-bolt"
	inMemory     = "ringtree-memory"
	deepPages    = 2 * depth // from so many on, there is a page that deep
)

// goals returns the goals without an RTT.
func goals() (all []goal) {
	both := []string{onRedis, onMemcached}
	onlyRedis := both[:1]
	ratio := func(ours []string, what metric, clients int, against string, limits map[string]float64) {
		for _, name := range ours {
			for _, w := range workloads {
				if limit, ok := limits[w.name]; ok {
					all = append(all, goal{workload: w.name, clients: clients, ours: name, against: against, what: what, sign: ">=", limit: limit})
				}
			}
		}
	}
	ratio(onlyRedis, faster, 1, gormPostgres, map[string]float64{"W1": 3})
	ratio(both[1:], faster, 1, gormPostgres, map[string]float64{"W1": 2})
	ratio(both, faster, 1, gormPostgres, map[string]float64{
		"W2": 1.5, "W3": 2.5, "W4": 15, "W5": 1.8, "W7w": 15, "W7r": 2.2, "W8w": 7, "W8r": 5, "W9": 2.2})
	ratio(both, faster, 1, "pgx", map[string]float64{"W1": 1.5, "W2": 1.2, "W3": 1.4, "W5": 1.5, "W9": 1.2})
	ratio(onlyRedis, faster, 1, "rueidis", map[string]float64{
		"W2": 0.8, "W3": 0.5, "W5": 0.8, "W6": 0.5, "W7w": 0.8, "W7r": 0.8, "W8w": 0.8, "W8r": 0.8, "W9": 0.4})
	ratio(both, throughput, 32, gormPostgres, map[string]float64{"W3": 5, "W4": 30})
	ratio(onlyRedis, throughput, 32, "rueidis", map[string]float64{"W4": 0.5})
	near := []string{onNear}
	ratio(near, faster, 1, gormPostgres, map[string]float64{"W1hot": 10, "W2": 8})
	all = append(all,
		goal{"W1hot", 1, onNear, "", p50, "<=", 2, 0},
		goal{"W2", 1, onNear, "", p50, "<=", 40, 0},
		goal{"W2", 1, onNear, "", trips, "<=", 0.05, 0})
	for _, name := range both {
		all = append(all,
			goal{"W2deep", 1, name, gormPostgres, faster, ">=", 20, deepPages},
			goal{"W2deep", 1, name, "pgx", faster, ">=", 20, deepPages},
			goal{"W2deep", 1, name, ".W2", above, "<=", 30, deepPages},
			goal{"W6", 1, name, gormPostgres, faster, ">=", 90, 100_000},
			goal{"W6", 1, name, gormPostgres, faster, ">=", 400, 1_000_000},
			goal{"W2", 1, name, "", trips, "<=", 1.05, 0},
			goal{"W5", 1, name, "", trips, "<=", 1.05, 0},
			goal{"W4", 32, name, "", trips, "<=", 1.1, 0})
		for _, w := range []string{"W1", "W6", "W7r"} {
			all = append(all, goal{w, 1, name, "." + rawOf(w), above, "<=", 15, 0})
		}
		for _, w := range []string{"W2", "W5"} {
			all = append(all, goal{w, 1, name, "." + rawOf(w), above, "<=", 25, 0})
		}
	}
	most := func(workload, name string, what metric, limit float64) {
		all = append(all, goal{workload, 1, name, "", what, "<=", limit, 0})
	}
	most("W1", onRedis, allocs, 10)
	most("W1", onMemcached, allocs, 24)
	most("W1", inMemory, allocs, 7)
	most("W2", onRedis, allocs, 145)
	most("W2", onMemcached, allocs, 250)
	most("W2", inMemory, allocs, 130)
	most("W2", onRedis, kilobytes, 60)
	most("W9", onRedis, allocs, 110)
	most("W9", onBolt, allocs, 90) // in a transaction, and the next, too
	most("W9", inMemory, allocs, 90)
	order := namesOf(workloads, workloadName)
	slices.SortStableFunc(all, func(a, b goal) int {
		return cmp.Compare(slices.Index(order, a.workload), slices.Index(order, b.workload))
	})
	return all
}

// rawOf returns the name of the workload that makes the requests of another without the layer.
func rawOf(workload string) string { return strings.TrimRight(workload, "r") + "raw" }

// neverSlower returns the goals of a network: no operation is slower than GORM's on PostgreSQL.
func neverSlower() (all []goal) {
	for _, name := range []string{onRedis, onMemcached} {
		for _, w := range workloads {
			if !strings.HasSuffix(w.name, "raw") && w.name != "W2next" {
				all = append(all, goal{w.name, 1, name, gormPostgres, faster, ">=", 1, 0})
			}
		}
	}
	return all
}

func (g goal) String() string {
	text := fmt.Sprintf("%s %s, %d clients: %s %s", g.workload, g.ours, g.clients, g.what.name, strings.TrimPrefix(g.against, "."))
	if g.clients == 1 {
		text = strings.Replace(text, "1 clients", "1 client", 1)
	}
	return strings.TrimSpace(text)
}

// table is the results for one number of pages and one RTT.
type table struct {
	pages   int
	rtt     float64
	results []result
}

// tables sorts results into tables, those without an RTT first.
func tables(results []result) (all []*table) {
	for _, r := range results {
		i := slices.IndexFunc(all, func(t *table) bool { return t.pages == r.Pages && t.rtt == r.RTT })
		if i < 0 {
			i = len(all)
			all = append(all, &table{pages: r.Pages, rtt: r.RTT})
		}
		all[i].results = append(all[i].results, r)
	}
	slices.SortFunc(all, func(a, b *table) int { return cmp.Or(cmp.Compare(a.rtt, b.rtt), cmp.Compare(a.pages, b.pages)) })
	return all
}

// find returns a result, nil if it was not measured.
func (t *table) find(peer, workload string, clients int) *result {
	i := slices.IndexFunc(t.results, func(r result) bool {
		return r.Peer == peer && r.Workload == workload && r.Clients == clients && r.Error == ""
	})
	if i < 0 {
		return nil
	}
	return &t.results[i]
}

// value returns the number that g is about, or why there is none.
func (t *table) value(g goal) (value float64, without string) {
	if t.pages < g.pages {
		return 0, fmt.Sprintf("needs %d pages", g.pages)
	}
	ours, theirs := t.find(g.ours, g.workload, g.clients), (*result)(nil)
	if own, ok := strings.CutPrefix(g.against, "."); ok {
		theirs = t.find(g.ours, own, g.clients)
	} else {
		theirs = t.find(g.against, g.workload, g.clients)
	}
	switch {
	case ours == nil || theirs == nil && g.against != "":
		return 0, "not measured"
	case theirs != nil && ours.run != theirs.run:
		return 0, "not measured in one run"
	}
	return g.what.value(ours, theirs), ""
}

// bound returns what the value must be.
func (g goal) bound() string { return fmt.Sprintf("%s %v%s", g.sign, g.limit, g.what.unit) }

func (g goal) met(value float64) bool {
	if g.sign == "<=" {
		return value <= g.limit
	}
	return value >= g.limit
}

// printGate prints each goal with its value. The error says how many are short.
func printGate(out io.Writer, results []result) error {
	short, measured := 0, 0
	for _, t := range tables(results) {
		all := goals()
		if t.rtt > 0 {
			all = neverSlower()
		}
		fmt.Fprintf(out, "\n%s\n", t)
		var left []string
		for _, g := range all {
			value, without := t.value(g)
			if without != "" {
				left = append(left, without+": "+g.String()+" "+g.bound())
				continue
			}
			verdict := "ok"
			measured++
			if !g.met(value) {
				verdict = "SHORT"
				short++
			}
			fmt.Fprintf(out, "%-76s %10.2f%-2s %-8s %s\n", g, value, g.what.unit, g.bound(), verdict)
		}
		for _, why := range left {
			fmt.Fprintln(out, "left out,", why)
		}
	}
	if short > 0 {
		return fmt.Errorf("%d of %d goals are short", short, measured)
	}
	return nil
}

// String returns the title of t.
func (t *table) String() string {
	text := fmt.Sprintf("%d pages", t.pages)
	if t.rtt > 0 {
		text += fmt.Sprintf(", %v us away", t.rtt)
	}
	return text
}
