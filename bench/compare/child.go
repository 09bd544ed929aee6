package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/ringtree/ringtree/bench/compare/place"
)

// Each peer has its own process, so that none is affected by the heap of another. It reads tasks
// from its standard input and writes samples.

const childVariable = "RINGTREE_COMPARE_PEER"

type job struct {
	Peer  string
	Place place.Place
	Size  int
	Load  [dataSets]bool
}

type task struct {
	Workload string
	Clients  int
	Lasts    time.Duration
	Writes   int
}

type child struct {
	kind kind
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *json.Decoder
}

func startChild(ctx context.Context, k kind, j job) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &child{k, cmd, in, json.NewDecoder(out)}
	var loaded sample
	if err := c.out.Decode(&loaded); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", k.name, err), c.stop())
	}
	if loaded.Error != "" {
		return nil, errors.Join(fmt.Errorf("%s: %s", k.name, loaded.Error), c.stop())
	}
	return c, nil
}

func (c *child) measure(t task) (s sample, err error) {
	if err := json.NewEncoder(c.in).Encode(t); err != nil {
		return s, fmt.Errorf("%s: %w", c.kind.name, err)
	}
	if err := c.out.Decode(&s); err != nil {
		return s, fmt.Errorf("%s: %w", c.kind.name, err)
	}
	return s, nil
}

func (c *child) stop() error {
	c.in.Close()
	return c.cmd.Wait()
}

func beChild(ctx context.Context, text string) error {
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return err
	}
	// Requests have contexts that can end.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out := json.NewEncoder(os.Stdout)
	s, err := open(ctx, j)
	if err != nil {
		return out.Encode(sample{Error: err.Error()})
	}
	if err := out.Encode(sample{}); err != nil {
		return err
	}
	in := json.NewDecoder(os.Stdin)
	for {
		var t task
		if err := in.Decode(&t); err != nil {
			return s.close()
		}
		if err := out.Encode(s.carryOut(ctx, t)); err != nil {
			return err
		}
	}
}

func open(ctx context.Context, j job) (*subject, error) {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == j.Peer })
	if i < 0 {
		return nil, fmt.Errorf("there is no peer %q", j.Peer)
	}
	s := &subject{server: j.Place.Pids[kinds[i].server]}
	for on, loader := range kinds[i].loaders {
		if !j.Load[on] || loader == nil {
			continue
		}
		var err error
		if s.on[on], err = loader.load(ctx, j.Place, j.Size); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	return s, nil
}

func (s *subject) close() error { return s.each(loaded.Close) }

// flush returns when all writes are visible.
func (s *subject) flush(ctx context.Context) error {
	return s.each(func(p loaded) error { return p.Flush(ctx) })
}

func (s *subject) each(f func(loaded) error) (err error) {
	for _, p := range s.on {
		if p != nil {
			err = errors.Join(err, f(p))
		}
	}
	return err
}

const (
	warmUp = 4 // the warm-up takes 1/warmUp of the measurement's time

	// Before a site's first measurement, visitors clients fill its caches for visited times the
	// time of a measurement.
	visitors = 16
	visited  = 8
)

func (s *subject) carryOut(ctx context.Context, t task) sample {
	w := workloads[slices.IndexFunc(workloads, func(w workload) bool { return w.name == t.Workload })]
	if w.on != onPages && s.visited != w.name {
		s.visited = w.name
		read, err := w.prepare(ctx, s, 0)
		if err != nil {
			return sample{Error: err.Error()}
		}
		if visit := s.measure(ctx, read, visitors, t.Lasts*visited); visit.Failed > 0 {
			return visit
		}
	}
	do, err := w.prepare(ctx, s, t.Writes)
	if err != nil {
		return sample{Error: err.Error()}
	}
	if first := s.measure(ctx, do, t.Clients, t.Lasts/warmUp); first.Failed > 0 {
		return first
	}
	return s.measure(ctx, do, t.Clients, t.Lasts)
}
