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
	"github.com/ringtree/ringtree/bench/compare/site"
)

// Each peer has its own process, so that none is affected by the heap of another. The process reads
// tasks from its standard input and writes samples.

// childVariable is the environment variable with the job of a peer's process.
const childVariable = "RINGTREE_COMPARE_PEER"

// job selects the peer, and its data.
type job struct {
	Peer              string
	Place             place.Place
	Size              int
	Work, Site, Forum bool // data sets to load
}

// task is one measurement.
type task struct {
	Workload string
	Clients  int
	Lasts    time.Duration
	Writes   int // percentage of writes among the pages of an app
}

// child is the process of a peer.
type child struct {
	kind kind
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *json.Decoder
}

// startChild starts the process of a peer, which loads its data.
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

// stop ends the process, which closes its peer.
func (c *child) stop() error {
	c.in.Close()
	return c.cmd.Wait()
}

// beChild is the main function of a peer's process.
func beChild(ctx context.Context, text string) error {
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return err
	}
	// Requests have contexts that can end.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out := json.NewEncoder(os.Stdout)
	s, err := loaded(ctx, j)
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
			return s.close() // The input has ended.
		}
		if err := out.Encode(s.carryOut(ctx, t)); err != nil {
			return err
		}
	}
}

// loaded returns the peer of a job with its data.
func loaded(ctx context.Context, j job) (*subject, error) {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == j.Peer })
	if i < 0 {
		return nil, fmt.Errorf("there is no peer %q", j.Peer)
	}
	k, s := kinds[i], &subject{pages: j.Size}
	if s.server = j.Place.Pids[k.server]; j.Work && k.work != nil {
		p, err := k.work.Open(ctx, j.Place)
		if err != nil {
			return nil, err
		}
		s.work = p
		if err := p.Load(ctx, j.Size); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	if j.Site && k.site != nil {
		p, err := k.site.Open(ctx, j.Place)
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		s.site, s.data = p, site.New(j.Size)
		if err := p.Load(ctx, s.data); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	if j.Forum && k.forum != nil {
		p, err := k.forum.Open(ctx, j.Place)
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		s.forum, s.threads = p, site.NewThreads(j.Size)
		if err := p.Load(ctx, s.threads); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	return s, nil
}

func (s *subject) close() (err error) {
	if s.work != nil {
		err = s.work.Close()
	}
	if s.site != nil {
		err = errors.Join(err, s.site.Close())
	}
	if s.forum != nil {
		err = errors.Join(err, s.forum.Close())
	}
	return err
}

// flush returns when all writes are visible in every answer.
func (s *subject) flush(ctx context.Context) (err error) {
	if s.work != nil {
		err = s.work.Flush(ctx)
	}
	if s.site != nil {
		err = errors.Join(err, s.site.Flush(ctx))
	}
	if s.forum != nil {
		err = errors.Join(err, s.forum.Flush(ctx))
	}
	return err
}

// warmUp: the warm-up takes 1/warmUp of the measurement's time.
const warmUp = 4

// Before its first measurement a site is in use for a while, so that its caches are filled: visitors
// clients read pages for visited times the time of a measurement.
const (
	visitors = 16
	visited  = 8
)

// carryOut measures a task after a warm-up.
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
