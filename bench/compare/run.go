package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/ringtree/ringtree/bench/compare/peers"
)

// plan is what a run measures.
type plan struct {
	peers     []peers.Kind
	workloads []workload
	pages     int
	clients   []int
	rounds    int
	lasts     time.Duration // one measurement
	rtt       time.Duration

	progress io.Writer
}

// slow is a p50 above which a workload is measured once, and not with several clients: a scan
// of all records is slow at any number of clients.
const slow = 20 * time.Millisecond

// run measures the plan. In each round of a workload the peers take turns.
func (p plan) run(ctx context.Context, report func(result) error) error {
	var at peers.Place
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
	children, err := p.startPeers(ctx, at)
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
	begun := time.Now()
	for i, w := range p.workloads {
		var slowly []string // the peers that are, at this workload
		for _, clients := range p.clients {
			fmt.Fprintf(p.progress, "after %s: %s, workload %d of %d\n", time.Since(begun).Round(time.Second), w.name, i+1, len(p.workloads))
			t := task{w.name, clients, p.lasts}
			able := slices.DeleteFunc(slices.Clone(children), func(c *child) bool { return slices.Contains(slowly, c.kind.Name) })
			results, err := p.measure(ctx, able, t)
			if err != nil {
				return err
			}
			for _, r := range results {
				if r.P50.Median > float64(slow/time.Microsecond) || r.Error != "" {
					slowly = append(slowly, r.Peer)
				}
				if r.Error == errUnable.Error() {
					continue
				}
				if err := report(r); err != nil {
					return err
				}
			}
		}
	}
	return ctx.Err()
}

// longest returns how long the measurements take if all peers can do all of the work.
func (p plan) longest() time.Duration {
	return time.Duration(len(p.workloads)*len(p.clients)*len(p.peers)*p.rounds) * (p.lasts + p.lasts/warmUp)
}

// measure has the peers of children carry out a task in turns.
func (p plan) measure(ctx context.Context, children []*child, t task) ([]result, error) {
	samples := make([][]sample, len(children))
	for range p.rounds {
		for i, c := range children {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if n := len(samples[i]); n > 0 && (samples[i][n-1].Error != "" || samples[i][n-1].P50 > float64(slow/time.Microsecond)) {
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
		all = append(all, summary(c.kind, t, p.pages, p.rtt, samples[i]))
	}
	return all, nil
}

// startServers starts the servers that the peers need, and puts a proxy before each if
// there is an RTT.
func (p plan) startServers(at *peers.Place) (stop func(), proxies []*proxy, err error) {
	var stops []func()
	stop = func() {
		for _, s := range stops {
			s()
		}
	}
	for _, server := range p.servers() {
		s, err := peers.Start(server, at)
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

// servers returns the servers that the peers need.
func (p plan) servers() []string {
	var all []string
	for _, kind := range p.peers {
		if kind.Server != "" && !slices.Contains(all, kind.Server) {
			all = append(all, kind.Server)
		}
	}
	return all
}

func (p plan) startPeers(ctx context.Context, at peers.Place) (children []*child, err error) {
	for _, kind := range p.peers {
		start := time.Now()
		c, err := startChild(ctx, kind, job{kind.Name, at, p.pages, needsSample(p.workloads)})
		if err != nil {
			return children, err
		}
		children = append(children, c)
		fmt.Fprintf(p.progress, "loaded %d pages into %s in %.1f s\n", p.pages, kind.Name, time.Since(start).Seconds())
	}
	return children, nil
}

// record measures the plan, prints a line for each result, and adds it to a file.
func (p plan) record(ctx context.Context, file string) (err error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	out := json.NewEncoder(f)
	if err := out.Encode(line{Machine: thisMachine(p.servers())}); err != nil {
		return err
	}
	return p.run(ctx, func(r result) error {
		fmt.Fprintln(p.progress, r)
		return out.Encode(line{Result: &r})
	})
}

// String returns the line of a result for people who wait.
func (r result) String() string {
	text := fmt.Sprintf("%-8s %-22s %2d clients: p50 %9.1f us (%.1f to %.1f), %8.0f/s, %6.0f allocs, %7.0f B",
		r.Workload, r.Peer, r.Clients, r.P50.Median, r.P50.Min, r.P50.Max, r.Ops.Median, r.Allocs, r.Bytes)
	if r.Error != "" {
		text += fmt.Sprintf(", %d failed: %s", r.Failed, r.Error)
	}
	return text
}
