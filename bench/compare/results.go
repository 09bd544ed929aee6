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

	"github.com/ringtree/ringtree/bench/compare/place"
	"github.com/ringtree/ringtree/bench/internal/sqlite"
)

// line is a line of the results: first the machine, then a result each.
type line struct {
	Machine *machine `json:"machine,omitempty"`
	Result  *result  `json:"result,omitempty"`
}

type machine struct {
	Date     string            `json:"date"`
	CPU      string            `json:"cpu"`
	Cores    int               `json:"cores"`
	Memory   string            `json:"memory"`
	System   string            `json:"system"`
	Load     string            `json:"load"`
	Versions map[string]string `json:"versions"`
}

// result is the medians of a workload's rounds on a peer.
type result struct {
	Peer      string             `json:"peer"`
	Durable   string             `json:"durable"`
	Workload  string             `json:"workload"`
	Size      int                `json:"size"`
	Clients   int                `json:"clients"`
	RTT       float64            `json:"rtt_us"`
	Writes    int                `json:"writes_percent,omitempty"`
	Rounds    int                `json:"rounds"`
	P50       spread             `json:"p50_us"`
	P99       spread             `json:"p99_us"`
	Ops       spread             `json:"ops_s"`
	CPU       spread             `json:"cpu_us_op"`
	ServerCPU float64            `json:"server_cpu_us_op,omitempty"`
	Slow      float64            `json:"time_above_5ms_percent"`
	Allocs    float64            `json:"allocs_op"`
	Bytes     float64            `json:"bytes_op"`
	Written   float64            `json:"written_op,omitempty"`
	Kinds     map[string]latency `json:"kinds,omitempty"`
	Files     int64              `json:"files_bytes,omitempty"`
	Cached    float64            `json:"files_cached_percent,omitempty"`
	Failed    int                `json:"failed,omitempty"`
	Error     string             `json:"error,omitempty"`
}

// spread is the median, minimum and maximum of the rounds.
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

func medianOf(samples []sample, of func(sample) float64) float64 { return spreadOf(samples, of).Median }

func summary(k kind, t task, samples []sample) result {
	r := result{
		Peer: k.name, Durable: k.durable, Workload: t.Workload, Clients: t.Clients, Rounds: len(samples),
		P50:       spreadOf(samples, func(s sample) float64 { return s.P50 }),
		P99:       spreadOf(samples, func(s sample) float64 { return s.P99 }),
		Ops:       spreadOf(samples, func(s sample) float64 { return s.Ops }),
		CPU:       spreadOf(samples, func(s sample) float64 { return s.CPU }),
		ServerCPU: medianOf(samples, func(s sample) float64 { return s.ServerCPU }),
		Slow:      medianOf(samples, func(s sample) float64 { return s.Slow }),
		Allocs:    medianOf(samples, func(s sample) float64 { return s.Allocs }),
		Bytes:     medianOf(samples, func(s sample) float64 { return s.Bytes }),
		Written:   medianOf(samples, func(s sample) float64 { return s.Written }),
		Kinds:     map[string]latency{},
	}
	for _, s := range samples {
		r.Failed += s.Failed
		r.Error = cmp.Or(r.Error, s.Error)
		for kind := range s.Kinds {
			r.Kinds[kind] = latency{
				medianOf(samples, func(s sample) float64 { return s.Kinds[kind].P50 }),
				medianOf(samples, func(s sample) float64 { return s.Kinds[kind].P99 }),
			}
		}
	}
	return r
}

func readLines(file string) (*machine, []result, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	var at *machine
	var all []result
	for in := json.NewDecoder(bufio.NewReader(f)); ; {
		var l line
		if err := in.Decode(&l); errors.Is(err, io.EOF) {
			return at, all, nil
		} else if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", file, err)
		}
		if l.Machine != nil {
			at = l.Machine
		}
		if l.Result != nil {
			all = append(all, *l.Result)
		}
	}
}

var modules = []string{
	"gorm.io/gorm", "gorm.io/driver/postgres", "github.com/jackc/pgx/v5", sqlite.Module,
	"github.com/redis/rueidis", "go.etcd.io/bbolt", "github.com/bradfitz/gomemcache",
}

func load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	one, _, _ := strings.Cut(string(text), " ")
	return one
}

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
	m.Memory = fmt.Sprintf("%.0f GB", float64(place.Memory())/1e9)
	m.Load = load()
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.System += " " + strings.TrimSpace(string(text))
	}
	for _, server := range servers {
		if path, err := place.Program(server); err == nil {
			out, _ := exec.Command(path, "--version").Output()
			m.Versions[server] = strings.TrimSpace(string(out))
		}
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if slices.Contains(modules, dep.Path) {
				m.Versions[dep.Path] = dep.Version
			}
		}
	}
	return m
}
