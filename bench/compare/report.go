package main

import (
	_ "embed"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/bench/compare/peers"
)

// head is what docs/benchmarks.md says besides its numbers.
//
//go:embed head.md
var head string

// charts is the folder of the charts, beside the page.
const charts = "benchmarks"

// writeReport writes benchmarks.md into dir, and its charts.
func writeReport(dir string, at *machine, results []result) error {
	if err := os.MkdirAll(filepath.Join(dir, charts), 0o755); err != nil {
		return err
	}
	draw := func(name, svg string) (string, error) {
		name = filepath.Join(charts, name)
		return name, os.WriteFile(filepath.Join(dir, name), []byte(svg), 0o644)
	}
	text, err := report(at, results, draw)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "benchmarks.md"), []byte(text), 0o644)
}

// report returns the page. draw stores a chart and returns where the page finds it.
func report(at *machine, results []result, draw func(name, svg string) (string, error)) (string, error) {
	var text strings.Builder
	text.WriteString(head)
	text.WriteString("\n## The peers\n\n| peer | written as | a crash of its machine takes |\n|---|---|---|\n")
	for _, k := range peers.All {
		fmt.Fprintf(&text, "| %s | %s | %s |\n", k.Name, k.Written, k.Durable)
	}
	text.WriteString("\n## The work\n\n| | |\n|---|---|\n")
	for _, w := range workloads {
		fmt.Fprintf(&text, "| %s | %s |\n", w.name, w.title)
	}
	if at == nil {
		text.WriteString("\n## Results\n\nNone have been kept yet. `make compare` prints those of your machine.\n")
		return text.String(), nil
	}
	writeMachine(&text, at)
	for _, t := range tables(results) {
		if err := t.write(&text, draw); err != nil {
			return "", err
		}
	}
	err := writeGrowth(&text, results, draw)
	return text.String(), err
}

func writeMachine(text *strings.Builder, at *machine) {
	fmt.Fprintf(text, "\n## The machine\n\n%s, %s, %d cores, %s, %s; load before the run: %s. Clients and servers share it.\n\n",
		at.Date, at.CPU, at.Cores, at.Memory, at.System, at.Load)
	for _, name := range slices.Sorted(maps.Keys(at.Versions)) {
		fmt.Fprintf(text, "- %s: %s\n", name, at.Versions[name])
	}
}

// columns are the tables that there are for each size, since all would be too wide.
var columns = []struct {
	title     string
	clients   int
	workloads []string
	cell      func(*result) string
}{
	{"Reads: p50 in µs, 1 client", 1, reads, p50Cell},
	{"Writes: p50 in µs, 1 client", 1, writes, p50Cell},
	{"Reads: ops/s, 32 clients", 32, reads, opsCell},
	{"Writes: ops/s, 32 clients", 32, writes, opsCell},
	{"The sample app's pages: p50 in µs, 1 client", 1, samplePages, p50Cell},
	{"The sample app's pages: pages/s, 32 clients", 32, samplePages, opsCell},
	{"Allocations of an op in the client's process, 1 client", 1, slices.Concat(reads, writes, samplePages),
		func(r *result) string { return short(r.Allocs) }},
}

var (
	reads  = []string{"W1", "W1hot", "W2", "W2deep", "W2next", "W5", "W6", "W7r", "W8r", "single", "queries", "fortunes"}
	writes = []string{"W3", "W4", "W7w", "W8w", "W9", "updates"}
)

func p50Cell(r *result) string { return cell(r.P50) }
func opsCell(r *result) string { return cell(r.Ops) }

func cell(s spread) string {
	return fmt.Sprintf("%s (%s-%s)", short(s.Median), short(s.Min), short(s.Max))
}

// write adds the tables of one size to the page.
func (t *table) write(text *strings.Builder, draw func(name, svg string) (string, error)) error {
	fmt.Fprintf(text, "\n## %s\n\nMedian (least-greatest) of the rounds.\n", t)
	for _, c := range columns {
		var rows []string
		for _, k := range peers.All {
			var cells []string
			measured := false
			for _, w := range c.workloads {
				r := t.find(k.Name, w, c.clients)
				if r == nil {
					cells = append(cells, "-")
					continue
				}
				cells, measured = append(cells, c.cell(r)), true
			}
			if measured {
				rows = append(rows, fmt.Sprintf("| %s | %s | %s |\n", k.Name, k.Durable, strings.Join(cells, " | ")))
			}
		}
		if len(rows) > 0 {
			fmt.Fprintf(text, "\n%s:\n\n| peer | a crash takes | %s |\n|---|---|%s\n%s", c.title,
				strings.Join(c.workloads, " | "), strings.Repeat("--:|", len(c.workloads)), strings.Join(rows, ""))
		}
	}
	name, err := draw(fmt.Sprintf("p50-%d-%v.svg", t.pages, t.rtt), t.chart())
	if err != nil {
		return err
	}
	fmt.Fprintf(text, "\n![p50 of one client, in µs, on logarithmic scales](%s)\n", name)
	return nil
}

func (t *table) chart() string {
	var titles []string
	var panels [][]bar
	for _, w := range workloads {
		var panel []bar
		for _, k := range peers.All {
			if r := t.find(k.Name, w.name, 1); r != nil && r.P50.Median > 0 {
				panel = append(panel, bar{k.Name, r.P50.Median, isOurs(k.Name)})
			}
		}
		if len(panel) > 0 && !strings.HasSuffix(w.name, "raw") {
			titles = append(titles, w.name+": "+w.title)
			panels = append(panels, panel)
		}
	}
	return bars(titles, panels, "µs")
}

func isOurs(peer string) bool { return strings.HasPrefix(peer, "ringtree-") }

// writeGrowth adds what becomes of p50 when there are more pages, if that was measured.
func writeGrowth(text *strings.Builder, results []result, draw func(name, svg string) (string, error)) error {
	var titles []string
	var panels [][]curve
	for _, w := range workloads {
		var panel []curve
		for _, k := range peers.All {
			c := curve{label: k.Name}
			for _, t := range tables(results) {
				if r := t.find(k.Name, w.name, 1); r != nil && t.rtt == 0 && r.P50.Median > 0 {
					c.x, c.y = append(c.x, float64(t.pages)), append(c.y, math.Max(r.P50.Median, 0.01))
				}
			}
			if len(c.x) > 1 {
				panel = append(panel, c)
			}
		}
		if len(panel) > 0 && !strings.HasSuffix(w.name, "raw") {
			titles = append(titles, w.name+": "+w.title)
			panels = append(panels, panel)
		}
	}
	if len(panels) == 0 {
		return nil
	}
	name, err := draw("growth.svg", curves(titles, panels, "p50 of one client in µs"))
	fmt.Fprintf(text, "\n## Growth\n\n![p50 of one client by the number of pages](%s)\n", name)
	return err
}
