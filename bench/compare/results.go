package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/ringtree/ringtree/bench/compare/peers"
)

// line is a line of a file of results: the machine, where a run begins, or a result.
type line struct {
	Machine *machine `json:"machine,omitempty"`
	Result  *result  `json:"result,omitempty"`
}

// machine is where and with what a run was made.
type machine struct {
	Date     string            `json:"date"`
	CPU      string            `json:"cpu"`
	Cores    int               `json:"cores"`
	Memory   string            `json:"memory"`
	System   string            `json:"system"`
	Load     string            `json:"load"` // before the run began
	Versions map[string]string `json:"versions"`
}

// result is the medians of a workload's rounds on a peer.
type result struct {
	Peer     string  `json:"peer"`
	Durable  string  `json:"durable"`
	Workload string  `json:"workload"`
	Pages    int     `json:"pages"`
	Clients  int     `json:"clients"`
	RTT      float64 `json:"rtt_us"`
	Rounds   int     `json:"rounds"`
	P50      spread  `json:"p50_us"`
	P99      spread  `json:"p99_us"`
	Ops      spread  `json:"ops_s"`
	Allocs   float64 `json:"allocs_op"`
	Bytes    float64 `json:"bytes_op"`
	Trips    float64 `json:"trips_op,omitempty"`
	Failed   int     `json:"failed,omitempty"`
	Error    string  `json:"error,omitempty"`

	run int // which one of a file it is of, from 1
}

// spread is the median of several rounds, the least and the greatest.
type spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

func spreadOf(samples []sample, of func(sample) float64) spread {
	all := make([]float64, len(samples))
	for i, s := range samples {
		all[i] = of(s)
	}
	slices.Sort(all)
	return spread{all[len(all)/2], all[0], all[len(all)-1]}
}

// summary returns the result of a task's rounds.
func summary(kind peers.Kind, t task, pages int, rtt time.Duration, samples []sample) result {
	r := result{
		Peer: kind.Name, Durable: kind.Durable, Workload: t.Workload, Pages: pages, Clients: t.Clients,
		RTT: float64(rtt) / 1e3, Rounds: len(samples),
		P50:    spreadOf(samples, func(s sample) float64 { return s.P50 }),
		P99:    spreadOf(samples, func(s sample) float64 { return s.P99 }),
		Ops:    spreadOf(samples, func(s sample) float64 { return s.Ops }),
		Allocs: spreadOf(samples, func(s sample) float64 { return s.Allocs }).Median,
		Bytes:  spreadOf(samples, func(s sample) float64 { return s.Bytes }).Median,
		Trips:  spreadOf(samples, func(s sample) float64 { return s.Trips }).Median,
	}
	for _, s := range samples {
		r.Failed += s.Failed
		r.Error = cmp.Or(r.Error, s.Error)
	}
	return r
}

// readLines returns the machine of the last run and the results of all in a file. Where
// something was measured again, the last time counts.
func readLines(file string) (*machine, []result, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	var at *machine
	var all []result
	run := 0
	for in := json.NewDecoder(bufio.NewReader(f)); ; {
		var l line
		if err := in.Decode(&l); errors.Is(err, io.EOF) {
			return at, all, nil
		} else if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", file, err)
		}
		if l.Machine != nil {
			at = l.Machine
			run++
		}
		if l.Result != nil {
			all = slices.DeleteFunc(all, l.Result.again)
			l.Result.run = run
			all = append(all, *l.Result)
		}
	}
}

// again reports whether old is of the same thing.
func (r *result) again(old result) bool {
	return old.Peer == r.Peer && old.Workload == r.Workload && old.Pages == r.Pages && old.Clients == r.Clients && old.RTT == r.RTT
}

// thisMachine describes the machine, the servers that the peers need, and the modules.
func thisMachine(servers []string) *machine {
	m := &machine{
		Date: time.Now().UTC().Format(time.DateOnly), Cores: runtime.NumCPU(), CPU: runtime.GOARCH,
		System: runtime.GOOS, Versions: map[string]string{"go": runtime.Version()},
	}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for l := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(l, ":"); ok && strings.TrimSpace(name) == "model name" {
				m.CPU = strings.TrimSpace(value)
			}
		}
	}
	m.Memory = fmt.Sprintf("%.0f GB", float64(peers.Memory())/1e9)
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Load, _, _ = strings.Cut(string(text), " ")
	}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.System += " " + strings.TrimSpace(string(text))
	}
	for _, server := range servers {
		if path, err := peers.Program(server); err == nil {
			out, _ := exec.Command(path, "--version").Output()
			m.Versions[server] = strings.TrimSpace(string(out))
		}
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if slices.Contains(peers.Modules, dep.Path) {
				m.Versions[dep.Path] = dep.Version
			}
		}
	}
	return m
}
