package main

import (
	_ "embed"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ringtree/ringtree/bench/compare/place"
)

// head is the text of docs/benchmarks.md without its numbers.
//
//go:embed head.txt
var head string

// writePage writes benchmarks.md into dir, and the table of the README.md beside dir.
func writePage(dir string, at *machine, results []result) error {
	if err := os.WriteFile(filepath.Join(dir, "benchmarks.md"), []byte(report(at, results)), 0o644); err != nil {
		return err
	}
	file := filepath.Join(dir, "..", "README.md")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(text), readmeBegin)
	_, after, ends := strings.Cut(rest, readmeEnd)
	if !found || !ends {
		return fmt.Errorf("%s has no place for the table", file)
	}
	return os.WriteFile(file, []byte(before+readmeBegin+readmeTable(results)+readmeEnd+after), 0o644)
}

func report(at *machine, results []result) string {
	var text strings.Builder
	text.WriteString(head)
	writeWork(&text)
	if at == nil {
		text.WriteString("\n## Results\n\nNone have been kept yet. `make compare` prints those of your machine.\n")
		return text.String()
	}
	fmt.Fprintf(&text, "\n## The machine\n\n%s, %s, %d cores, %s, %s; load before: %s.\n", at.Date, at.CPU, at.Cores, at.Memory, at.System, at.Load)
	fmt.Fprintf(&text, "%s.\n", versions(at.Versions))

	near := table{results, sizeOf(results), 0}
	near.writeSplit(&text, "Pages", "A second by 1 and 16 clients, p99 by 16 in ms, and of one client CPU, allocations, and p50 in µs.", near.pages)
	near.writeSplit(&text, "Pages of the link site", "A second by 1 and 16 clients.", near.linkSite)
	near.writeSplit(&text, "Operations", "p50 of one client in µs.", func(of []kind) string {
		return near.operations(of, operations, 1, func(r *result) float64 { return r.P50.Median })
	})
	near.writeSplit(&text, "Writes", "A second by 16 clients.", func(of []kind) string {
		return near.operations(of, writes, 16, func(r *result) float64 { return r.Ops.Median })
	})
	far := table{results, near.size, float64(awayBy.Microseconds())}
	far.writeSplit(&text, fmt.Sprintf("Pages, %v µs away", far.rtt), "A second by 1 and 16 clients, p99 by 16 in ms.", far.rates)
	writeGrowth(&text, results)
	return text.String()
}

var (
	number = regexp.MustCompile(`\d+(\.\d+)+(-\d{8})?`)
	owner  = regexp.MustCompile(`^(github\.com/\w+|[\w.]+\.\w+)/|/v\d+$`)
)

// versions returns the names of programs and modules, each with its number.
func versions(of map[string]string) string {
	var all []string
	for name, version := range of {
		all = append(all, owner.ReplaceAllString(name, "")+" "+number.FindString(version))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func writeWork(text *strings.Builder) {
	text.WriteString("\n| | |\n|---|---|\n")
	for _, name := range operations {
		i := slices.IndexFunc(workloads, func(w workload) bool { return w.name == name })
		fmt.Fprintf(text, "| %s | %s |\n", name, workloads[i].title)
	}
}

// writes are the operations that write.
var (
	operations = []string{"W1", "W2", "W2deep", "W3", "W4", "W5", "W6", "W7r", "W7w", "W8r", "W8w", "W9"}
	writes     = []string{"W3", "W4", "W7w", "W8w", "W9"}
)

func sizeOf(results []result) (most int) {
	n := map[int]int{}
	for _, r := range results {
		if n[r.Size]++; n[r.Size] > n[most] {
			most = r.Size
		}
	}
	return most
}

type table struct {
	results []result
	size    int
	rtt     float64
}

const usualWrites = 10

// find returns nil if it was not measured.
func (t table) find(peer, workload string, clients int) *result {
	i := slices.IndexFunc(t.results, func(r result) bool {
		return r.Peer == peer && r.Workload == workload && r.Clients == clients && r.Size == t.size && r.RTT == t.rtt &&
			(workload != "pages" || r.Writes == usualWrites) && r.Error == ""
	})
	if i < 0 {
		return nil
	}
	return &t.results[i]
}

// writeSplit adds a section with a table for each kind of loss.
func (t table) writeSplit(text *strings.Builder, title, what string, rows func(of []kind) string) {
	var parts strings.Builder
	for _, durable := range place.Losses {
		of := slices.DeleteFunc(slices.Clone(kinds), func(k kind) bool { return k.durable != durable })
		if part := rows(of); part != "" {
			fmt.Fprintf(&parts, "\nA crash takes %s:\n\n%s", durable, part)
		}
	}
	if parts.Len() > 0 {
		fmt.Fprintf(text, "\n## %s\n\n%s\n%s", title, what, parts.String())
	}
}

// rowsOf returns a table with a row for each peer that has a cell, or "".
func rowsOf(of []kind, columns []string, cells func(peer string) []string) string {
	var rows strings.Builder
	for _, k := range of {
		if found := cells(k.name); slices.ContainsFunc(found, func(cell string) bool { return cell != "-" }) {
			fmt.Fprintf(&rows, "| %s | %s |\n", k.name, strings.Join(found, " | "))
		}
	}
	if rows.Len() == 0 {
		return ""
	}
	return fmt.Sprintf("| peer | %s |\n|---|%s\n%s", strings.Join(columns, " | "), strings.Repeat("--:|", len(columns)), rows.String())
}

func (t table) pages(of []kind) string {
	columns := append(slices.Clone(rates), "CPU", "allocs")
	for _, v := range slices.Concat(reading, writing) {
		columns = append(columns, v.name)
	}
	return rowsOf(of, columns, func(peer string) []string {
		one := t.find(peer, "pages", 1)
		cells := append(t.ratesOf(peer, "pages"), cpuCell(one), cell(one, func(r *result) float64 { return r.Allocs }))
		for _, kind := range columns[len(cells):] {
			cells = append(cells, kindCell(one, kind))
		}
		return cells
	})
}

var rates = []string{"1/s", "16/s", "p99"}

func (t table) ratesOf(peer, workload string) []string {
	one, many := t.find(peer, workload, 1), t.find(peer, workload, 16)
	return []string{cell(one, rate), cell(many, rate), cell(many, p99)}
}

func (t table) rates(of []kind) string {
	return rowsOf(of, rates, func(peer string) []string { return t.ratesOf(peer, "pages") })
}

func (t table) linkSite(of []kind) string {
	return rowsOf(of, rates[:2], func(peer string) []string { return t.ratesOf(peer, "forum")[:2] })
}

func rate(r *result) float64 { return r.Ops.Median }
func p99(r *result) float64  { return r.P99.Median / 1e3 }

func (t table) operations(of []kind, work []string, clients int, value func(*result) float64) string {
	return rowsOf(of, work, func(peer string) (cells []string) {
		for _, w := range work {
			cells = append(cells, cell(t.find(peer, w, clients), value))
		}
		return cells
	})
}

// cell returns "-" without a result.
func cell(r *result, value func(*result) float64) string {
	if r == nil {
		return "-"
	}
	return short(value(r))
}

func kindCell(r *result, kind string) string {
	if r == nil || r.Kinds[kind].P50 == 0 {
		return "-"
	}
	return short(r.Kinds[kind].P50)
}

func cpuCell(r *result) string {
	text := cell(r, func(r *result) float64 { return r.CPU.Median })
	if r != nil && r.ServerCPU > 0 {
		text += "+" + short(r.ServerCPU)
	}
	return text
}

const awayBy = 500 * time.Microsecond

// growing workloads of growers are reported for several sizes.
var (
	growing = []string{"W2", "W6"}
	growers = []string{"gorm-sqlite", "pgx", "ringtree-file-periodic", "ringtree-redis"}
)

func writeGrowth(text *strings.Builder, results []result) {
	sizes := map[int]bool{}
	for _, r := range results {
		if r.Clients == 1 && r.RTT == 0 && slices.Contains(growing, r.Workload) {
			sizes[r.Size] = true
		}
	}
	var columns []string
	for _, w := range growing {
		for _, size := range slices.Sorted(maps.Keys(sizes)) {
			columns = append(columns, w+" "+short(float64(size)))
		}
	}
	if len(sizes) < 2 {
		return
	}
	t := table{results: results}
	t.writeSplit(text, "Growth", "p50 in µs with one client, by the number of pages.", func(of []kind) string {
		return rowsOf(of, columns, func(peer string) (cells []string) {
			for _, w := range growing {
				for _, size := range slices.Sorted(maps.Keys(sizes)) {
					cells = append(cells, cell(table{results, size, 0}.find(peer, w, 1), func(r *result) float64 { return r.P50.Median }))
				}
			}
			if slices.Index(cells, "-") >= 0 {
				return []string{"-"}
			}
			return cells
		})
	})
}

const (
	readmeBegin = "<!-- pages: written by compare -->\n"
	readmeEnd   = "<!-- end of pages -->"
)

var readmePeers = []string{
	"gorm-postgres", "pgx", "sqlite-full", "ringtree-file",
	"gorm-sqlite", "pgx-async", "sqlite", "ringtree-file-periodic", "ringtree-redis", "ringtree-redis-near", "ringtree-memcached",
}

// readmeTable returns "" without results.
func readmeTable(results []result) string {
	t := table{results, sizeOf(results), 0}
	var rows strings.Builder
	for _, k := range kinds {
		one, many := t.find(k.name, "pages", 1), t.find(k.name, "pages", 16)
		if slices.Contains(readmePeers, k.name) && one != nil && many != nil {
			fmt.Fprintf(&rows, "| %s | %s | %s | %s | %s |\n", k.name, k.durable, cell(one, rate), cell(many, rate), cpuCell(one))
		}
	}
	if rows.Len() == 0 {
		return ""
	}
	return "Compare rows with the same loss in a crash. All ran on one machine.\n\n" +
		"| system | a crash loses | pages/s, one client | pages/s, 16 clients | CPU µs a page |\n|---|---|--:|--:|--:|\n" + rows.String()
}

func short(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%.3gM", v/1e6)
	case v >= 10_000:
		return fmt.Sprintf("%.3gk", v/1e3)
	case v >= 10:
		return fmt.Sprintf("%.0f", v)
	default:
		return fmt.Sprintf("%.2g", v)
	}
}
