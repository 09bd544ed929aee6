package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ringtree/ringtree/bench/compare/place"
)

type plan struct {
	kinds     []kind
	workloads []workload
	sizes     []int
	clients   []int
	rounds    int
	lasts     time.Duration
	rtt       time.Duration
	writes    int

	progress io.Writer
}

// able leaves out peers that support none of the workloads or, with an RTT, have no server.
func (p *plan) able() {
	p.kinds = slices.DeleteFunc(slices.Clone(p.kinds), func(k kind) bool {
		return p.rtt > 0 && k.server == "" || !slices.ContainsFunc(p.workloads, k.can)
	})
}

// In each round of a workload the peers take turns.
func (p plan) run(ctx context.Context, size int, report func(result) error) error {
	p.able()
	var at place.Place
	dir, err := os.MkdirTemp("", "compare-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	at.Dir = dir
	stop, proxies, err := p.startServers(&at)
	defer stop()
	if err != nil {
		return err
	}
	children, err := p.startPeers(ctx, at, size)
	defer func() {
		for _, c := range children {
			c.stop()
		}
	}()
	if err != nil {
		return err
	}
	for _, proxy := range proxies {
		proxy.delay.Store(int64(p.rtt))
	}
	fmt.Fprintf(p.progress, "measuring for about %s\n", p.longest().Round(time.Second))
	for _, w := range p.workloads {
		able := slices.DeleteFunc(slices.Clone(children), func(c *child) bool { return !c.kind.can(w) })
		files, err := p.readFiles(able, w, at)
		if err != nil {
			return err
		}
		for _, clients := range p.clients {
			t := task{w.name, clients, p.lasts * w.longer, p.writes}
			results, err := p.measure(ctx, able, t)
			if err != nil {
				return err
			}
			for _, r := range results {
				r.Size, r.RTT = size, float64(p.rtt)/1e3
				r.Files, r.Cached = files[r.Peer].size, files[r.Peer].percent()
				if w.on == onSite {
					r.Writes = p.writes
				}
				if err := report(r); err != nil {
					return err
				}
			}
		}
	}
	return ctx.Err()
}

type inCache struct{ cached, size int64 }

func (c inCache) percent() float64 { return 100 * float64(c.cached) / float64(max(c.size, 1)) }

// readFiles reads the files of each peer, since unmapped pages may have left the page cache.
func (p plan) readFiles(children []*child, w workload, at place.Place) (map[string]inCache, error) {
	files := map[string]inCache{}
	var told []string
	for _, c := range children {
		names := c.kind.loaders[w.on].files(at)
		if len(names) == 0 {
			continue
		}
		cached, size, err := place.Read(names)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.kind.name, err)
		}
		f := inCache{cached, size}
		files[c.kind.name] = f
		told = append(told, fmt.Sprintf("%s %.0f%% of %d MB", c.kind.name, f.percent(), size>>20))
	}
	fmt.Fprintf(p.progress, "%s, load %s; in the page cache: %s\n", w.name, load(), strings.Join(told, ", "))
	return files, nil
}

func (p plan) longest() (all time.Duration) {
	for _, w := range p.workloads {
		able := 0
		for _, k := range p.kinds {
			if k.can(w) {
				able++
			}
		}
		once := p.lasts * w.longer
		all += time.Duration(able*len(p.clients)*p.rounds) * (once + once/warmUp)
		if w.on != onPages {
			all += time.Duration(able*visited) * once
		}
	}
	return all
}

func (p plan) measure(ctx context.Context, children []*child, t task) ([]result, error) {
	samples := make([][]sample, len(children))
	for range p.rounds {
		for i, c := range children {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if n := len(samples[i]); n > 0 && samples[i][n-1].Error != "" {
				continue
			}
			s, err := c.measure(t)
			if err != nil {
				return nil, err
			}
			samples[i] = append(samples[i], s)
		}
	}
	var all []result
	for i, c := range children {
		all = append(all, summary(c.kind, t, samples[i]))
	}
	return all, nil
}

// startServers puts a proxy in front of each server if there is an RTT.
func (p plan) startServers(at *place.Place) (stop func(), proxies []*proxy, err error) {
	var stops []func()
	stop = func() {
		for _, s := range stops {
			s()
		}
	}
	for _, server := range p.servers() {
		s, err := place.Start(server, at)
		if err != nil {
			return stop, nil, err
		}
		stops = append(stops, s)
	}
	if p.rtt == 0 {
		return stop, nil, nil
	}
	for _, addr := range []*string{&at.Postgres, &at.Redis, &at.Memcached} {
		if *addr == "" {
			continue
		}
		proxy, err := newProxy(*addr)
		if err != nil {
			return stop, nil, err
		}
		stops = append(stops, proxy.close)
		proxies = append(proxies, proxy)
		*addr = proxy.addr()
	}
	return stop, proxies, nil
}

func (p plan) servers() []string {
	all := map[string]bool{}
	for _, k := range p.kinds {
		if k.server != "" {
			all[k.server] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// startPeers starts ringtree's peers beside the others.
func (p plan) startPeers(ctx context.Context, at place.Place, size int) ([]*child, error) {
	j := job{Place: at, Size: size}
	for _, w := range p.workloads {
		j.Load[w.on] = true
	}
	all := make([]*child, len(p.kinds))
	var telling sync.Mutex
	var running sync.WaitGroup
	var errs [2]error
	for ours := range errs {
		running.Go(func() {
			for i, k := range p.kinds {
				if k.ours() != ours || errs[ours] != nil {
					continue
				}
				start, j := time.Now(), j
				j.Peer = k.name
				if all[i], errs[ours] = startChild(ctx, k, j); errs[ours] == nil {
					telling.Lock()
					fmt.Fprintf(p.progress, "loaded %s in %.1f s\n", k.name, time.Since(start).Seconds())
					telling.Unlock()
				}
			}
		})
	}
	running.Wait()
	return slices.DeleteFunc(all, func(c *child) bool { return c == nil }), errors.Join(errs[:]...)
}

// away is the plan for pages with a network between.
func (p plan) away() plan {
	p.rtt = awayBy
	p.workloads = slices.DeleteFunc(slices.Clone(p.workloads), func(w workload) bool { return w.on != onSite })
	return p
}

func (p plan) growth() plan {
	p.clients, p.sizes = []int{1}, []int{p.sizes[0] / 10, p.sizes[0] * 10}
	p.workloads = slices.DeleteFunc(slices.Clone(p.workloads), func(w workload) bool { return !slices.Contains(growing, w.name) })
	p.kinds = slices.DeleteFunc(slices.Clone(p.kinds), func(k kind) bool { return !slices.Contains(growers, k.name) })
	return p
}

// record measures plans, and prints and writes a line for each result.
func record(ctx context.Context, plans []plan, file string) (err error) {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	out := json.NewEncoder(f)
	if err := out.Encode(line{Machine: thisMachine(plans[0].servers())}); err != nil {
		return err
	}
	for _, p := range plans {
		for _, size := range p.sizes {
			fmt.Fprintf(p.progress, "%d records, load %s\n", size, load())
			err := p.run(ctx, size, func(r result) error {
				fmt.Fprintln(p.progress, r)
				return out.Encode(line{Result: &r})
			})
			if ctx.Err() != nil {
				return fmt.Errorf("stopped; what was measured before is in %s", file)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (r result) String() string {
	text := fmt.Sprintf("%-6s %-22s %2d clients: %8.0f/s (%.0f to %.0f), p50 %.0f us, p99 %.0f, %.1f%% of the time above 5 ms, CPU %.0f us + %.0f, %.0f allocs",
		r.Workload, r.Peer, r.Clients, r.Ops.Median, r.Ops.Min, r.Ops.Max, r.P50.Median, r.P99.Median, r.Slow, r.CPU.Median, r.ServerCPU, r.Allocs)
	for _, kind := range slices.Sorted(maps.Keys(r.Kinds)) {
		text += fmt.Sprintf(", %s %.0f", kind, r.Kinds[kind].P50)
	}
	if r.Error != "" {
		text += fmt.Sprintf(", %d failed: %s", r.Failed, r.Error)
	}
	return text
}
